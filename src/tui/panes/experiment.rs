//! One experiment whole, or two beside each other: in sections, of which only what is seen is formatted.

mod compared;
mod document;
mod whole;

use super::super::app::App;
use super::super::diff::{Diff, Form, View};
use super::super::keymap::Action;
use super::super::text::printable;
use super::{Pane, titled};
use crate::session::whole::{Compared, Whole};
use document::{Document, Sheet};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct ExperimentState {
    pub scroll: usize,
    /// First column of the diff and of the log that is shown.
    pub left: usize,
    /// Where the sections began at the last frame.
    starts: Vec<usize>,
    /// What the one changed that was read whole last.
    change: View,
    /// From the first to the second of the two that were compared last.
    between: View,
}

impl ExperimentState {
    pub fn scroll(&mut self, by: isize) {
        self.scroll = self.scroll.saturating_add_signed(by);
    }

    /// To the beginning of the next section, or back to where this one or the one before it begins.
    pub fn step_section(&mut self, forward: bool) {
        let next = self.starts.iter().find(|start| **start > self.scroll);
        let before = self.starts.iter().rev().find(|start| **start < self.scroll);
        if let Some(start) = if forward { next } else { before.or(self.starts.first()) } {
            self.scroll = *start;
        }
    }

    /// Something else is shown.
    pub fn reset(&mut self) {
        (self.scroll, self.left) = (0, 0);
    }

    pub fn read(&mut self, whole: &Whole) {
        self.change = view(&whole.diff);
    }

    pub fn read_both(&mut self, both: &Compared) {
        self.between = view(&both.diff);
    }
}

fn view(diff: &Result<String, String>) -> View {
    let text = diff.as_deref().unwrap_or_default();
    View::new(Arc::new(Diff::parse(text)), Form::Unified)
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let room = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let (rows, columns) = (usize::from(room.height), usize::from(room.width.saturating_sub(2)));
    let (wanted, left) = (app.panes.experiment.scroll, app.panes.experiment.left);
    let (note, document) = document(app, columns);
    let length = document.len();
    let scroll = wanted.min(length.saturating_sub(rows));
    let below = length.saturating_sub(scroll + rows);
    let note = if below > 0 { format!("{note} · {below} more below") } else { note };
    let lines = document.lines(scroll..scroll + rows, Sheet { left, columns, theme: &app.theme });
    let inner = titled(frame, area, app, Pane::Experiment, note.trim_start_matches(" · "));
    for (row, line) in lines.into_iter().enumerate() {
        frame.render_widget(line, Rect { y: inner.y + row as u16, height: 1, ..inner });
    }
    let starts = document.starts();
    let state = &mut app.panes.experiment;
    state.scroll = scroll;
    state.starts = starts;
}

/// What is shown, and what the title says of it.
fn document(app: &App, columns: usize) -> (String, Document<'_>) {
    let theme = &app.theme;
    let says = |text: &str| Document::of(vec![Line::styled(text.to_owned(), theme.quiet())]);
    if let Some([a, b]) = &app.comparing {
        let note = format!("{} and {}", printable(&a.commit), printable(&b.commit));
        return match app.compared() {
            Some(both) => (note, compared::sections(both, app, columns)),
            None => (note, says("reading …")),
        };
    }
    match app.shown() {
        Some(experiment) => {
            let note = printable(&experiment.row.commit).into_owned();
            (note, whole::sections(experiment, app.whole(), app, columns))
        }
        None if app.loaded => {
            let (up, down) = (app.keymap.way(Action::Up), app.keymap.way(Action::Down));
            (String::new(), says(&format!("no experiment is chosen: {up} and {down} in the table")))
        }
        None => (String::new(), says("reading …")),
    }
}
