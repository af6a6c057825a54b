//! The panes that show a text: its rows, the note in its title, and what stands in its place while
//! there is none.

use super::{
    Panes, board, build, commit, correctness, experiment, gauges, loops, profile, run_log, sweep,
};
use crate::prelude::*;
use crate::views::Pane;

impl Panes {
    /// The text of a pane in so many columns.
    pub fn document<'a>(
        &'a self,
        pane: Pane,
        data: ScreenData<'a>,
        columns: usize,
    ) -> Document<'a> {
        self.content(pane, data, columns).0
    }

    /// The text of a pane, the note in its title, and what stands in place of an empty text.
    fn content<'a>(
        &'a self,
        pane: Pane,
        data: ScreenData<'a>,
        columns: usize,
    ) -> (Document<'a>, String, Lines) {
        let around = self.around;
        let of = |document, note: String, hint: &'static str| {
            (document, note, vec![Line::styled(hint, QUIET)])
        };
        let text = |lines, note, hint| of(Document::of(lines), note, hint);
        match pane {
            Pane::Correctness => {
                let document = Document::of(correctness::lines(data, columns));
                of(document, String::new(), "")
            }
            Pane::Log => {
                let log = Body::Log(&self.log.log().lines);
                of(Document::of(log), String::new(), "")
            }
            Pane::Gauges => text(gauges::rows(data), gauges::note(data), ""),
            Pane::Build => text(
                build::rows(data, columns),
                build::note(data),
                "the compiler's figures are shown here after a build",
            ),
            Pane::Profile => text(profile::rows(data, columns), profile::note(data), ""),
            Pane::Decision => {
                let rows = board::whole(data, self.board.selected, columns);
                let is_record = data.repository.record.is_some();
                let note = if is_record { "its record" } else { "" };
                text(rows, note.to_owned(), "select a decision")
            }
            Pane::Loop => {
                let rows = loops::status::rows(data, columns);
                text(rows, loops::status::note(data), "")
            }
            Pane::Verdicts => text(
                loops::verdicts::rows(data, columns),
                String::new(),
                "the newest verdicts are shown here",
            ),
            Pane::Command => text(
                loops::command::rows(data, columns),
                loops::command::note(self.text(pane)).to_owned(),
                "the output of the loop's command is shown here",
            ),
            Pane::Sweep => (
                Document::of(sweep::rows(data, self.sweep_pair, columns)),
                sweep::note(data),
                paragraph(&sweep::nothing(data), columns, QUIET),
            ),
            Pane::Edit => (
                self.edit.document(),
                self.edit.note(data, around),
                loops::edit::nothing(data, columns),
            ),
            Pane::Commit => {
                let document = commit::document(data, &self.commit, columns);
                of(document, self.commit.note(around), "select a commit")
            }
            Pane::Experiment => {
                let (shown, state) = (self.shown(data), &self.experiment);
                let document = experiment::document(data, shown, state, around, columns);
                of(document, experiment::note(data, shown), "")
            }
            _ => text(Vec::new(), String::new(), ""),
        }
    }

    pub(super) fn draw_correctness(&self, canvas: &mut Canvas) -> ScrolledText {
        if correctness::draw_histograms(canvas, self.correctness, self.zoom()) {
            self.text(canvas.pane).clone()
        } else {
            self.draw_text(canvas)
        }
    }

    /// Draws a pane that shows a text. Returns the text as it fits.
    pub(super) fn draw_text(&self, canvas: &mut Canvas) -> ScrolledText {
        let pane = canvas.pane;
        let mut area = canvas.body();
        let columns = usize::from(area.width);
        let (document, mut note, hint) = self.content(pane, canvas.data, columns);
        let mut text = self.text(pane).clone();
        if pane == Pane::Log {
            // Its rows are not wrapped: a mark holds at any width. It is on top.
            text.columns = columns;
            text.first = text.at();
        }
        if matches!(pane, Pane::Command | Pane::Log) && !text.is_held {
            text.show(document.rows());
        }
        if matches!(pane, Pane::Correctness | Pane::Experiment | Pane::Log) {
            text = text.hold(&document, area);
            let place = match pane {
                Pane::Log => run_log::note(&self.log, &text, canvas.data),
                _ => more_below(&text, &document),
            };
            note = joined([note, place]);
        }
        canvas.draw_title(&note);
        if pane == Pane::Gauges {
            area = gauges::draw(canvas, area);
        }
        let text = text.hold(&document, area);
        match document.rows() {
            0 => draw_rows(canvas.frame, area, hint),
            _ => canvas.draw_document(area, &document, &text),
        }
        text
    }
}

/// How many rows are below the visible ones.
fn more_below(text: &ScrolledText, document: &Document) -> String {
    match document.rows().saturating_sub(text.visible().end) {
        0 => String::new(),
        below => format!("{below} more below"),
    }
}
