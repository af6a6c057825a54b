//! The pane run.log: followed, scrolled, frozen, searched. Only the visible lines are formatted.

use crate::keymap::Keymap;
use crate::log::LogView;
use crate::prelude::*;
use crate::widgets::log_line::paint;

/// Returns how many lines the pane has room for.
pub fn draw(canvas: &mut Canvas, view: &LogView) -> usize {
    let height = usize::from(canvas.body().height);
    let first = view.first_of(height);
    let note = note(view, first, height, &canvas.data.appearance.keymap);
    let inner = canvas.draw_title(&note);
    let (columns, needle) = (usize::from(inner.width), canvas.needle);
    let line = |at| {
        let line = Line::from(paint(view.log().line(at)?, view.left, columns, needle));
        let is_marked = view.marked() == Some(at);
        Some(if is_marked {
            line.style(SELECTED)
        } else {
            line
        })
    };
    draw_rows(canvas.frame, inner, (first..).map_while(line));
    height
}

fn note(view: &LogView, first: usize, height: usize, keymap: &Keymap) -> String {
    let log = view.log();
    let mut parts: Vec<String> = log
        .run
        .map(|run| format!("run {run}"))
        .into_iter()
        .collect();
    if !log.is_empty() {
        let last = (first + height).min(log.len());
        parts.push(format!("{last}/{}", log.len()));
    }
    if view.is_frozen() {
        parts.push(format!("frozen: {} unfreezes", keymap.way(Action::Freeze)));
    } else if !view.follow {
        parts.push(format!("{} follows", keymap.way(Action::Bottom)));
    }
    parts.join(" · ")
}
