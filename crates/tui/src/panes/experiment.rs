//! One experiment whole, or two beside each other: in sections, of which only what is seen is formatted.

mod compared;
mod document;
mod whole;

use super::super::app::App;
use super::super::app::Rows;
use super::super::diff::{Diff, Form, Stop, View};
use super::super::keymap::Action;
use super::super::text::printable;
use super::{Pane, Reading, titled};
use document::{Document, Sheet};
use lab_core::history::details::{Compared, ExperimentDetails};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct ExperimentState {
    pub text: Reading,
    /// First column of the diff and of the log that is shown.
    pub left: usize,
    /// Where the sections and the changes of the diff began at the last frame.
    starts: Vec<Stop>,
    /// The first row of the diff at the last frame.
    diff_at: Option<usize>,
    /// What the one changed that was read whole last.
    change: View,
    /// From the first to the second of the two that were compared last.
    between: View,
}

impl ExperimentState {
    pub fn scroll(&mut self, by: isize) {
        self.text.scroll(by);
    }

    /// To where the next section or change of the diff begins, or back to where this one or the one before it does.
    pub fn step_section(&mut self, forward: bool) {
        self.text.step(&self.starts, forward);
    }

    /// Something else is shown.
    pub fn reset(&mut self) {
        self.text.show(0);
        self.left = 0;
    }

    /// `again`: the same as before, with more or less around its changes.
    pub fn read(&mut self, whole: &ExperimentDetails, again: bool) {
        let old = std::mem::replace(&mut self.change, view(&whole.diff));
        let row = again.then(|| self.kept(&old, &self.change)).flatten();
        row.into_iter().for_each(|row| self.text.show(row));
    }

    pub fn read_both(&mut self, both: &Compared, again: bool) {
        let old = std::mem::replace(&mut self.between, view(&both.diff));
        let row = again.then(|| self.kept(&old, &self.between)).flatten();
        row.into_iter().for_each(|row| self.text.show(row));
    }

    /// Where the topmost row is once another view of the same changes stands in the place of the old one; `None` where it
    /// stays where it is, above them.
    fn kept(&self, old: &View, new: &View) -> Option<usize> {
        let begin = self.diff_at?;
        let row = self.text.first().checked_sub(begin)?;
        Some(match row.checked_sub(old.rows().len()) {
            Some(behind) => begin + new.rows().len() + behind,
            None => begin + old.follow(row, new),
        })
    }
}

fn view(diff: &Result<String, String>) -> View {
    let text = diff.as_deref().unwrap_or_default();
    View::new(Arc::new(Diff::parse(text)), Form::Unified)
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let room = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let (rows, columns) = (usize::from(room.height), usize::from(room.width.saturating_sub(2)));
    let (mut text, left) = (app.panes.experiment.text.clone(), app.panes.experiment.left);
    let (note, document) = document(app, columns);
    let length = document.len();
    let first = text.fit(columns, rows, length);
    let below = length.saturating_sub(first + rows);
    let note = if below > 0 { format!("{note} · {below} more below") } else { note };
    let sheet = Sheet { left, columns, needle: app.needle(Pane::Experiment), theme: &app.theme };
    let lines = document.lines(first..first + rows, sheet);
    let inner = titled(frame, area, app, Pane::Experiment, note.trim_start_matches(" · "));
    for (row, line) in lines.into_iter().enumerate() {
        let line = if text.marked() == Some(first + row) { app.theme.select(line) } else { line };
        frame.render_widget(line, Rect { y: inner.y + row as u16, height: 1, ..inner });
    }
    let (starts, diff_at) = (document.starts(), document.diff_at());
    let state = &mut app.panes.experiment;
    state.diff_at = diff_at;
    state.text = text;
    state.starts = starts;
}

/// As they were wrapped at the last frame.
pub fn rows(app: &App) -> Rows<'_> {
    let columns = app.panes.experiment.text.columns();
    let (_, document) = document(app, columns);
    Rows::new(document.len(), move |at| document.text(at, columns))
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
