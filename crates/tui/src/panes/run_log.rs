//! The pane run.log: followed, scrolled, frozen, searched. Only the visible lines are formatted.

use crate::keymap::{Action, Keymap};
use crate::log::LogView;
use crate::state::ScreenSettings;
use crate::widgets::PaneSlot;
use crate::widgets::log_line::paint;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

/// Returns how many lines the pane has room for.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    view: &LogView,
    appearance: &ScreenSettings,
) -> usize {
    let theme = &appearance.theme;
    let height = usize::from(slot.body().height);
    let first = view.first_of(height);
    let inner = slot.draw_title(frame, &note(view, first, height, &appearance.keymap), theme);
    for row in 0..inner.height {
        let at = first + usize::from(row);
        let Some(line) = view.log().line(at) else {
            break;
        };
        let place = Rect {
            y: inner.y + row,
            height: 1,
            ..inner
        };
        let spans = paint(
            line,
            view.left,
            usize::from(inner.width),
            slot.needle,
            theme,
        );
        let style = if view.marked() == Some(at) {
            theme.selected()
        } else {
            Style::new()
        };
        frame.render_widget(Line::from(spans).style(style), place);
    }
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
