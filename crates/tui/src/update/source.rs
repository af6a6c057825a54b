//! The view Source: when the kernel is read for it, whose messages stand in it, and its keys.

use crate::effect::Effect;
use crate::model::Model;
use crate::request::{HighlightRequest, Spot, ViewRequest};
use crate::source::{Baseline, SourceMessages, SourceRequest, SourceView};
use crate::state::runs::Reporter;
use crate::views::Pane;
use lab_protocol::Language;
use lab_run::experiment::Experiment;

impl Model {
    /// Loads the kernel where the shown text, or what it is compared with, is out of date.
    pub(super) fn load_source(&mut self) {
        if !self.panes.shows(Pane::Source) {
            self.panes.source.hide();
            return;
        }
        self.place_messages();
        let request = self.wanted_source();
        if self.panes.source.request.as_ref() == Some(&request) {
            self.panes.source.seek();
            return;
        }
        self.panes.source.request = Some(request.clone());
        self.load(ViewRequest::Source(request));
    }

    fn wanted_source(&self) -> SourceRequest {
        let selected = self
            .selection
            .key
            .clone()
            .filter(|_| self.panes.source.against_selected);
        let present = self.data().present();
        let is_older = |reporter: &&Reporter| Some(reporter.1) != present;
        let reporters = self.runs.reporters();
        let older = reporters.iter().filter(is_older);
        let status = self.repository.status.as_ref();
        SourceRequest {
            baseline: selected.map_or(Baseline::Incumbent, Baseline::Experiment),
            runs: older.map(|(run, ..)| *run).collect(),
            present: present.cloned(),
            head: status.and_then(|status| status.head.commit.clone()),
            around: self.panes.around,
        }
    }

    /// Puts new messages of compilers and tools at their lines.
    fn place_messages(&mut self) {
        let reporters = self.runs.reporters();
        let runs: Vec<_> = reporters
            .iter()
            .map(|(run, _, report)| (*run, report.diagnostics().len()))
            .collect();
        if self.panes.source.placed.as_ref() == Some(&runs) {
            return;
        }
        let Some(source) = &self.panes.source.source else {
            return;
        };
        let messages = SourceMessages::of(source, reporters, &self.setup.kernel);
        self.panes.source.place(runs, messages);
    }

    pub(super) fn on_source(&mut self, source: SourceView) {
        if self.panes.source.request.as_ref() != Some(&source.request) {
            return self.ignore();
        }
        self.panes.source.take(source);
        self.place_hot_lines();
        let texts = self.panes.source.texts();
        let language = Language::of(&self.setup.kernel);
        for (which, text) in texts.collect::<Vec<_>>() {
            self.emit(Effect::Highlight(HighlightRequest {
                which,
                language,
                text,
            }));
        }
    }

    /// Compares with the selected experiment, or with the incumbent again.
    pub(super) fn switch_base(&mut self) {
        if self.selected().is_none() {
            // The table shows its topmost experiment as the selected one until another is selected.
            self.selection.key = self.panes.topmost(self.data()).map(Experiment::key);
            self.panes.source.against_selected = false;
        }
        if self.selection.key.is_none() {
            self.warn("no experiment to compare with yet");
            return;
        }
        self.panes.source.against_selected = !self.panes.source.against_selected;
    }

    pub(super) fn step_mark(&mut self, forward: bool) {
        if !self.panes.source.step_mark(forward) {
            self.inform("no compiler message, no hot line and no change");
        }
    }

    pub(super) fn step_edit(&mut self, forward: bool) {
        if !self.panes.source.step_change(forward) {
            self.inform("nothing changed");
        }
    }

    /// Where the editor opens: at the cursor in Source, else at the first error.
    pub(super) fn editor_spot(&self) -> Option<Spot> {
        let at_cursor = self
            .panes
            .source
            .line()
            .filter(|_| self.panes.focus() == Pane::Source);
        let Some(line) = at_cursor else {
            return self.runs.first_error(&self.setup.kernel);
        };
        // The cursor has no column, but a message at its line has one.
        let message = self.panes.source.messages_at(line as usize - 1).first();
        Some(Spot {
            line,
            column: message.and_then(|message| message.column),
        })
    }
}
