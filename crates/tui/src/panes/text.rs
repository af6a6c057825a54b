//! The panes that show a text: its rows, the note in its title, and what stands in its place while
//! there is none.

use super::{Panes, build, commit, correctness, experiment, gauges, loops, profile};
use crate::state::ScreenData;
use crate::views::Pane;
use crate::widgets::{Canvas, Document, Lines, ScrolledText, draw_rows, joined};
use ratatui::prelude::*;

impl Panes {
    /// The text of a pane in so many columns.
    pub fn document<'a>(
        &'a self,
        pane: Pane,
        data: ScreenData<'a>,
        columns: usize,
    ) -> Document<'a> {
        let around = self.around;
        Document::of(match pane {
            Pane::Correctness => {
                return Document::of(correctness::lines(data, columns)).fitted(columns);
            }
            Pane::Gauges => gauges::rows(data),
            Pane::Build => build::rows(data, columns),
            Pane::Profile => profile::rows(data, columns),
            Pane::Loop => loops::status::rows(data, columns),
            Pane::Verdicts => loops::verdicts::rows(data, columns),
            Pane::Command => loops::command::rows(data, columns),
            Pane::Edit => return self.edit.document(),
            Pane::Commit => return commit::document(data, &self.commit, columns),
            Pane::Experiment => {
                let shown = self.shown(data);
                let state = &self.experiment;
                return experiment::document(data, shown, state, around, columns).fitted(columns);
            }
            _ => Vec::new(),
        })
    }

    fn note(&self, pane: Pane, data: ScreenData) -> String {
        match pane {
            Pane::Gauges => gauges::note(data),
            Pane::Build => build::note(data),
            Pane::Profile => profile::note(data),
            Pane::Loop => loops::status::note(data),
            Pane::Command => loops::command::note(self.text(pane)).to_owned(),
            Pane::Edit => self.edit.note(data, self.around),
            Pane::Commit => self.commit.note(self.around),
            Pane::Experiment => experiment::note(data, self.shown(data)),
            _ => String::new(),
        }
    }

    pub(super) fn draw_correctness(&self, canvas: &mut Canvas) -> ScrolledText {
        match correctness::draw_histograms(canvas, self.correctness, self.zoom()) {
            true => self.text(canvas.pane).clone(),
            false => self.draw_text(canvas),
        }
    }

    /// Draws a pane that shows a text. Returns the text as it fits.
    pub(super) fn draw_text(&self, canvas: &mut Canvas) -> ScrolledText {
        let (pane, data) = (canvas.pane, canvas.data);
        let columns = usize::from(canvas.body().width);
        let document = self.document(pane, data, columns);
        let mut text = self.text(pane).clone();
        if pane == Pane::Command && !text.is_held() {
            text.show(document.rows());
        }
        let mut area = canvas.body();
        let mut note = self.note(pane, data);
        if matches!(pane, Pane::Correctness | Pane::Experiment) {
            text = text.hold(&document, area);
            note = joined([&*note, &more_below(&text, &document, area)]);
        }
        canvas.draw_title(&note);
        if pane == Pane::Gauges {
            area = gauges::draw(canvas, area);
        }
        let text = text.hold(&document, area);
        match document.rows() {
            0 => draw_rows(canvas.frame, area, hint(pane, data, columns)),
            _ => canvas.draw_document(area, &document, &text),
        }
        text
    }
}

/// How many rows are below the visible ones.
fn more_below(text: &ScrolledText, document: &Document, area: Rect) -> String {
    let end = text.first() + usize::from(area.height);
    match document.rows().saturating_sub(end) {
        0 => String::new(),
        below => format!("{below} more below"),
    }
}

/// What stands in a pane without a text.
fn hint(pane: Pane, data: ScreenData, columns: usize) -> Lines {
    let text = match pane {
        Pane::Build => "the compiler's figures are shown here after a build",
        Pane::Commit => "select a commit",
        Pane::Verdicts => "the newest verdicts are shown here",
        Pane::Command => "the output of the loop's command is shown here",
        Pane::Edit => return loops::edit::nothing(data, columns),
        _ => return Vec::new(),
    };
    vec![Line::styled(text, data.theme().quiet())]
}
