//! The view Results: the table's order and filter, and what is done with an experiment.

use crate::model::Model;
use crate::overlay::{About, LineOf, Overlay};
use crate::reply::RestoredKernel;
use crate::request::{Change, RepositoryRequest, ViewRequest};
use crate::state::ExpectedBytes;
use crate::table::{Column, Filter};
use crate::text::printable;
use crate::views::Pane;
use lab_git::short;
use lab_run::experiment::Experiment;
use lab_run::message::{self, NOTE, TAGS, Trailer};
use std::collections::HashMap;
use tui_input::Input;

impl Model {
    pub(super) fn sort_by_next(&mut self) {
        self.panes
            .experiments
            .table
            .sort_by_next(&self.repository.experiments, self.setup.goal);
        self.load_details();
    }

    pub(super) fn sort_by_head(&mut self, column: Column) {
        self.panes.experiments.table.sort_by_head(
            column,
            &self.repository.experiments,
            self.setup.goal,
        );
        self.load_details();
    }

    /// Shows the experiments of all problems, or of this one alone.
    pub(super) fn turn_problems(&mut self) {
        let table = &mut self.panes.experiments.table;
        // A filter that names a kernel shows all problems: without it this one alone.
        let only = !table.is_of_one_problem();
        if only && table.filter.names_kernel() {
            table.filter_by(Filter::default(), &self.repository.experiments);
        }
        table.show_one_problem(only, &self.repository.experiments);
        self.panes.experiments.all_problems = !only;
        self.deselect_hidden();
        self.load_details();
    }

    /// Shows the experiments of the next device in chart and table. After the last device the chart
    /// shows those of the present one and the table all.
    pub(super) fn next_device(&mut self) {
        let devices = self.repository.devices(&self.setup);
        let chosen = self.repository.chosen_device.take();
        let next = match chosen {
            None => devices.into_iter().next(),
            Some(chosen) => devices.into_iter().skip_while(|d| *d != chosen).nth(1),
        };
        let text = match &next {
            Some((name, _)) => {
                let name = name.as_deref().unwrap_or_default();
                format!("chart and table show {} alone", printable(name))
            }
            None => "the chart shows the present device, the table every device".to_owned(),
        };
        self.inform(text);
        self.repository.chosen_device.clone_from(&next);
        let table = &mut self.panes.experiments.table;
        table.show_device(next, &self.repository.experiments);
        self.deselect_hidden();
        self.load_details();
    }

    /// An experiment without a row cannot stay selected.
    fn deselect_hidden(&mut self) {
        if self.selection.key.is_some() && self.selected_row().is_none() {
            self.selection.key = None;
        }
    }

    /// Shows all problems if the experiment that another view selected is of another one.
    pub(super) fn show_selected_problem(&mut self) {
        let is_other = self
            .selected()
            .is_some_and(|e| !self.setup.is_about(e) && e.kernel.is_some());
        let table = &mut self.panes.experiments.table;
        if is_other && table.is_of_one_problem() {
            table.show_one_problem(false, &self.repository.experiments);
        }
    }

    pub(super) fn open_filter(&mut self) {
        self.panes.set_focus(Pane::Experiments);
        let before = self.panes.experiments.table.filter.text().to_owned();
        let input = Input::new(before.clone());
        self.overlays.push(Overlay::Filter {
            input,
            before,
            problem: None,
        });
    }

    pub(super) fn mark(&mut self) {
        if let Some(key) = self.shown_key() {
            self.panes.experiments.table.mark(key);
        }
    }

    pub(super) fn compare(&mut self) {
        let Ok(keys) = self.pair() else {
            return;
        };
        self.selection.comparing = Some(keys.clone());
        self.panes.text_mut(Pane::Experiment).reset();
        self.panes.set_focus(Pane::Experiment);
        self.panes.set_zoom(true);
        self.load(ViewRequest::Compare(keys, self.panes.around));
    }

    pub(super) fn ask_restore(&mut self) {
        let Ok(commit) = self.can_restore() else {
            return;
        };
        let kernel = &self.setup.kernel;
        let tried = self.shown().map_or("", |e| e.row.description.as_str());
        let text = format!(
            "Put the kernel of {commit} ({tried}) on disk, as {kernel}? What is there now is kept in git, and nothing \
             is committed."
        );
        let text = printable(&text);
        let about = About::Change(Change::Restore(commit));
        self.overlays.push(Overlay::Question { text, about });
    }

    /// Asks whether the selected point of the sweep shall be written into the kernel.
    pub(super) fn ask_apply(&mut self) {
        let Ok((number, values)) = self.can_apply() else {
            return;
        };
        let kernel = &self.setup.kernel;
        let text = printable(&format!(
            "Write point {number} ({values}) into {kernel}? What is there now is kept in git, and nothing is committed."
        ));
        let about = About::Change(Change::ApplyPoint(number));
        self.overlays.push(Overlay::Question { text, about });
    }

    pub(super) fn on_restored(&mut self, put: RestoredKernel) {
        let RestoredKernel {
            restored,
            point,
            blob,
        } = put;
        let kernel = &self.setup.kernel;
        let what = match point {
            Some(point) => format!("the values of {point}"),
            None => format!("the bytes of {}", short(&restored.commit)),
        };
        let mut text = if restored.changed {
            format!("{kernel} now has {what}")
        } else {
            format!("{kernel} has {what} already")
        };
        if let Some(saved) = restored.saved.as_deref().map(short) {
            text.push_str(&format!(
                " · what was on disk is kept as {saved} (`lab restore {saved}`)"
            ));
        }
        self.inform(text);
        self.decision.expected_bytes = Some(ExpectedBytes::Blob(blob));
    }

    pub(super) fn ask_words(&mut self) {
        let Ok((commit, words)) = self.can_describe() else {
            return;
        };
        self.ask_line(LineOf::Description(commit), words);
    }

    /// Asks for a trailer of the shown experiment, at first for its note.
    pub(super) fn ask_trailer(&mut self) {
        let Ok((commit, _)) = self.can_describe() else {
            return;
        };
        let [note, beside] = [NOTE, TAGS].map(|key| self.trailer_line(key));
        self.ask_line(LineOf::Trailer { commit, beside }, note);
    }

    /// The line of a trailer of the shown experiment: its key and its present value.
    fn trailer_line(&self, key: &str) -> String {
        let trailers = self.shown().map(|experiment| &experiment.trailers);
        let mut trailers = trailers.into_iter().flatten();
        let known = trailers.find(|(known, _)| known.word().eq_ignore_ascii_case(key));
        let value = known.map_or("", |(_, value)| value.lines().next().unwrap_or(""));
        format!("{key}: {value}")
    }

    /// Asks for the tags in place of the note, or for the note again. Each keeps the text that was
    /// typed.
    pub(super) fn switch_trailer(&mut self) {
        if let Some(Overlay::Line {
            of: LineOf::Trailer { beside, .. },
            input,
            problem,
        }) = self.overlays.last_mut()
        {
            let shown = std::mem::replace(beside, input.value().to_owned());
            (*input, *problem) = (Input::new(shown), None);
        }
    }

    /// The trailers of the lines that differ from the present ones; if none does, that of the first.
    fn typed_trailers(&self, lines: [&str; 2]) -> Result<Vec<Trailer>, String> {
        let known = [NOTE, TAGS].map(|key| self.trailer_line(key));
        let is_new = |line: &&str| !known.iter().any(|known| known.trim() == line.trim());
        let mut new: Vec<&str> = lines.into_iter().filter(is_new).collect();
        if new.is_empty() {
            new.push(lines[0]);
        }
        new.into_iter().map(message::trailer).collect()
    }

    /// Asks for the decision that the shown record is to be evidence of.
    pub(super) fn ask_decision(&mut self) {
        let Ok(source) = self.can_cite() else { return };
        let decision = self.repository.decisions().get(self.panes.board.selected);
        let decision = decision.map(|it| it.id.clone()).unwrap_or_default();
        self.ask_line(LineOf::Decision(source), decision);
    }

    fn ask_line(&mut self, of: LineOf, text: String) {
        let (input, problem) = (Input::new(text), None);
        self.overlays.push(Overlay::Line { of, input, problem });
    }

    pub(super) fn accept_line(&mut self, of: LineOf, input: Input) {
        let text = input.value().trim().to_owned();
        let trailers = match &of {
            LineOf::Trailer { beside, .. } => self.typed_trailers([&text, beside]),
            LineOf::Description(_) | LineOf::Decision(_) => Ok(Vec::new()),
        };
        let problem = match (&of, text.is_empty()) {
            (LineOf::Description(_), true) => {
                Some("describe in a few words what was tried".to_owned())
            }
            (LineOf::Description(_), false) => self.is_calm().err(),
            (LineOf::Trailer { .. }, _) => {
                trailers.as_ref().err().cloned().or(self.is_calm().err())
            }
            (LineOf::Decision(_), true) => Some("name a decision, or a new one".to_owned()),
            (LineOf::Decision(_), false) => None,
        };
        if problem.is_some() {
            return self.overlays.push(Overlay::Line { of, input, problem });
        }
        match of {
            LineOf::Description(commit) => self.change(Change::Describe {
                commit,
                description: Some(text),
                trailers: Vec::new(),
            }),
            LineOf::Trailer { commit, .. } => self.change(Change::Describe {
                commit,
                description: None,
                trailers: trailers.unwrap_or_default(),
            }),
            LineOf::Decision(source) => self.ask(RepositoryRequest::Cite(source, text)),
        }
    }

    /// Evidence was written and listed, or why it was not.
    pub(super) fn on_cited(&mut self, cited: Result<String, String>) {
        match cited {
            Ok(said) => self.inform(said),
            Err(why) => self.fail(why),
        }
        self.load_board();
    }

    /// The line that is typed into has changed.
    pub(super) fn typed(&mut self) {
        if let Some(Overlay::Filter { input, .. }) = self.overlays.last() {
            let text = input.value().to_owned();
            self.filter_by(&text);
        }
    }

    /// Filters the table. Of a filter with an error the right words count.
    pub(super) fn filter_by(&mut self, text: &str) {
        let read = Filter::parse(text);
        if let Some(Overlay::Filter { problem, .. }) = self.overlays.last_mut() {
            *problem = read.as_ref().err().cloned();
        }
        let filter = read.unwrap_or_else(|_| Filter::of_right_words(text));
        self.panes
            .experiments
            .table
            .filter_by(filter, &self.repository.experiments);
        self.load_changed_lines();
        self.deselect_hidden();
        self.load_details();
    }

    /// Reads what the filter looks for in diffs, as far as it is not known yet.
    pub(super) fn load_changed_lines(&mut self) {
        let table = &self.panes.experiments.table;
        let unread = table.unread(&self.repository.experiments);
        if !unread.is_empty() {
            self.load(ViewRequest::ChangedLines(unread));
        }
    }

    pub(super) fn on_changed_lines(&mut self, lines: HashMap<String, String>) {
        let history = &self.repository.experiments;
        self.panes.experiments.table.take_changed(lines, history);
        self.load_changed_lines();
        self.deselect_hidden();
        self.load_details();
    }

    /// Moves the selection by `by` rows. Without a selection it begins at the topmost row.
    pub(super) fn step_row(&mut self, by: isize) {
        let Some(last) = self.panes.experiments.table.len().checked_sub(1) else {
            return;
        };
        let row = self
            .selected_row()
            .unwrap_or(0)
            .saturating_add_signed(by)
            .min(last);
        let key = self
            .panes
            .experiments
            .table
            .order
            .get(row)
            .and_then(|place| self.repository.experiments.get(*place))
            .map(Experiment::key);
        self.selection.comparing = None;
        self.panes.text_mut(Pane::Experiment).reset();
        self.select(key);
    }

    /// Shows the details alone.
    pub(super) fn open_details(&mut self) {
        if self.shown().is_none() {
            return;
        }
        self.panes.set_focus(Pane::Experiment);
        self.panes.set_zoom(true);
        self.load_details();
    }

    /// Goes back from the details to the table, then from the filter to all rows; false where there
    /// is neither.
    pub(super) fn close_in_results(&mut self) -> bool {
        if self.panes.focus() == Pane::Experiment {
            if self.selection.comparing.take().is_some() {
                self.panes.text_mut(Pane::Experiment).reset();
            }
            self.panes.set_focus(Pane::Experiments);
            self.panes.set_zoom(false);
            return true;
        }
        let filtered = !self.panes.experiments.table.filter.is_empty() && !self.panes.zoom();
        if filtered {
            self.panes
                .experiments
                .table
                .filter_by(Filter::default(), &self.repository.experiments);
        }
        filtered
    }
}
