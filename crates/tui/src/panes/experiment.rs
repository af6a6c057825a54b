//! The pane Experiment: the details of one experiment, or two side by side; in sections, of which
//! only the visible rows are formatted.

mod comparison;
mod details;
mod document;
mod pair_table;
mod peers;
mod workloads;

use crate::diff::{ContextLines, Diff, DiffLayout, DiffView, JumpTarget};
use crate::keymap::Action;
use crate::state::ScreenSettings;
use crate::text::printable;
use crate::widgets::{PaneSlot, ScrolledText};
pub use document::Document;
use document::Sheet;
use lab_core::history::details::{Compared, ExperimentDetails};
use lab_core::objective::Objective;
use lab_core::run::experiment::{Experiment, ExperimentKey};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct ExperimentState {
    pub text: ScrolledText,
    /// First visible column of the diff and of the log.
    pub left: usize,
    /// Where the sections and the changes of the diff began, at the last frame.
    starts: Vec<JumpTarget>,
    /// The first row of the diff, at the last frame.
    diff_at: Option<usize>,
    /// The changes of the experiment whose details were loaded last.
    changes: DiffView,
    /// The diff from the first to the second of the two that were compared last.
    between: DiffView,
}

impl ExperimentState {
    /// Takes the fit of the frame that was drawn.
    pub fn take_fit(&mut self, fit: ExperimentFit) {
        (self.text, self.starts, self.diff_at) = (fit.text, fit.starts, fit.diff_at);
    }

    pub fn scroll(&mut self, by: isize) {
        self.text.scroll(by);
    }

    /// Goes to the next section or change of the diff, or back.
    pub fn step_section(&mut self, forward: bool) {
        self.text.step(&self.starts, forward);
    }

    /// Another experiment or comparison is shown: begins with its first row.
    pub fn reset(&mut self) {
        self.text.show(0);
        self.left = 0;
    }

    /// Takes details. `again`: of the same experiment, with more or fewer lines around its changes.
    pub fn take_details(&mut self, whole: &ExperimentDetails, again: bool) {
        let old = std::mem::replace(&mut self.changes, view(&whole.diff));
        let row = again.then(|| self.kept(&old, &self.changes)).flatten();
        row.into_iter().for_each(|row| self.text.show(row));
    }

    /// Takes a comparison.
    pub fn take_comparison(&mut self, both: &Compared, again: bool) {
        let old = std::mem::replace(&mut self.between, view(&both.diff));
        let row = again.then(|| self.kept(&old, &self.between)).flatten();
        row.into_iter().for_each(|row| self.text.show(row));
    }

    /// The new number of the topmost row once another view of the same changes replaces the old
    /// one; `None` where the topmost row is above the changes and keeps its number.
    fn kept(&self, old: &DiffView, new: &DiffView) -> Option<usize> {
        let begin = self.diff_at?;
        let row = self.text.first().checked_sub(begin)?;
        Some(match row.checked_sub(old.rows().len()) {
            Some(behind) => begin + new.rows().len() + behind,
            None => begin + old.follow(row, new),
        })
    }
}

fn view(diff: &Result<String, String>) -> DiffView {
    let text = diff.as_deref().unwrap_or_default();
    DiffView::new(Arc::new(Diff::parse(text)), DiffLayout::Unified)
}

/// What the pane shows.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub content: Content<'a>,
    /// How many lines diffs show around a change.
    pub around: ContextLines,
    /// The result line that is optimised.
    pub objective: &'a Objective,
}

#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// The history is not loaded yet.
    Loading,
    /// No experiment is selected.
    Nothing,
    /// One experiment; its details once they are loaded.
    One(&'a Experiment, Option<&'a ExperimentDetails>),
    /// Two experiments side by side, the older first; the comparison once it is loaded.
    Two(&'a [ExperimentKey; 2], Option<ExperimentPair<'a>>),
}

/// Two experiments as the history has them, and what was loaded of them.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentPair<'a> {
    pub experiments: [Option<&'a Experiment>; 2],
    pub both: &'a Compared,
}

/// How the text fits into the pane.
#[derive(Clone, Debug)]
pub struct ExperimentFit {
    text: ScrolledText,
    starts: Vec<JumpTarget>,
    diff_at: Option<usize>,
}

/// Returns how the text fits into the pane.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    shown: Shown,
    state: &ExperimentState,
    appearance: &ScreenSettings,
) -> ExperimentFit {
    let theme = &appearance.theme;
    let body = slot.body();
    let (rows, columns) = (usize::from(body.height), usize::from(body.width));
    let document = document(shown, state, columns, appearance);
    let length = document.rows();
    let text = state.text.fit(columns, rows, length);
    let first = text.first();
    let below = length.saturating_sub(first + rows);
    let note = title(shown.content);
    let note = if below > 0 {
        format!("{note} · {below} more below")
    } else {
        note
    };
    let sheet = Sheet {
        left: state.left,
        columns,
        needle: slot.needle,
        theme,
    };
    let lines = document.lines(first..first + rows, sheet);
    let inner = slot.draw_title(frame, note.trim_start_matches(" · "), theme);
    for (row, line) in lines.into_iter().enumerate() {
        let line = if text.marked() == Some(first + row) {
            theme.select(line)
        } else {
            line
        };
        frame.render_widget(
            line,
            Rect {
                y: inner.y + row as u16,
                height: 1,
                ..inner
            },
        );
    }
    ExperimentFit {
        text,
        starts: document.starts(),
        diff_at: document.diff_at(),
    }
}

/// What the title says of the content.
fn title(content: Content) -> String {
    match content {
        Content::Two([a, b], _) => format!("{} and {}", printable(&a.commit), printable(&b.commit)),
        Content::One(experiment, _) => printable(&experiment.row.commit).into_owned(),
        Content::Loading | Content::Nothing => String::new(),
    }
}

/// The text of the pane in so many columns.
pub fn document<'a>(
    shown: Shown<'a>,
    state: &'a ExperimentState,
    columns: usize,
    appearance: &ScreenSettings,
) -> Document<'a> {
    let sentence = |text: &str| {
        Document::of(vec![Line::styled(
            text.to_owned(),
            appearance.theme.quiet(),
        )])
    };
    match shown.content {
        Content::Two(_, Some(comparison)) => {
            comparison::sections(comparison, &state.between, shown, columns, appearance)
        }
        Content::One(experiment, details) => details::sections(
            experiment,
            details,
            &state.changes,
            shown,
            columns,
            appearance,
        ),
        Content::Nothing => {
            let way = |action| appearance.keymap.way(action);
            let (up, down) = (way(Action::Up), way(Action::Down));
            sentence(&format!(
                "no experiment is selected: {up} and {down} in the table"
            ))
        }
        Content::Loading | Content::Two(_, None) => sentence("reading …"),
    }
}
