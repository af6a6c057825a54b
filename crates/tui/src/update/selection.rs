//! The selected experiment, and the details that are loaded for it.

use crate::model::Model;
use crate::panes::history::one_workload::WorkloadTimes;
use crate::panes::workloads::WorkloadTable;
use crate::request::ViewRequest;
use crate::views::{Pane, View};
use lab_history::details::{Compared, ExperimentDetails};
use lab_run::RunId;
use lab_run::experiment::{Experiment, ExperimentKey};
use lab_run::record::Record;
use std::collections::HashMap;
use std::sync::Arc;

impl Model {
    /// Selects an experiment, or none, and loads its details where a pane shows them.
    pub(super) fn select(&mut self, key: Option<ExperimentKey>) {
        self.selection.key = key;
        self.load_details();
    }

    /// Moves the selection by `by` comparable experiments, from oldest to newest. Without a
    /// selection it begins at the newest.
    pub(super) fn step_comparable(&mut self, by: isize) {
        let Some(newest) = self.repository.comparable().len().checked_sub(1) else {
            return;
        };
        let at = self
            .repository
            .position(self.selection.key.as_ref())
            .unwrap_or(newest);
        self.select_comparable(at.saturating_add_signed(by).min(newest));
    }

    /// Selects a comparable experiment, counted from the oldest.
    pub(super) fn select_comparable(&mut self, at: usize) {
        self.select(self.repository.nth_comparable(at).map(Experiment::key));
    }

    /// Loads what the present view shows of experiments.
    pub(super) fn load_shown(&mut self) {
        self.load_details();
        self.load_comparison();
    }

    pub(super) fn load_details(&mut self) {
        let around = self.panes.around;
        let details = self.selection.details.as_ref();
        if self.panes.shows(Pane::Experiment)
            && let Some(key) = self.shown_key()
            && details.is_none_or(|d| d.key != key || d.around != around.lines())
        {
            self.load(ViewRequest::Details(key, around));
        }
    }

    fn load_comparison(&mut self) {
        let around = self.panes.around;
        let is_loaded = self
            .selection
            .comparison()
            .is_some_and(|both| both.around == around.lines());
        match &self.selection.comparing {
            Some(keys) if !is_loaded && self.panes.shows(Pane::Experiment) => {
                self.load(ViewRequest::Compare(keys.clone(), around));
            }
            _ => {}
        }
    }

    /// Charts the selected workload over the experiments.
    pub(super) fn chart_workload(&mut self) {
        let table = self.panes.workload_table(self.data());
        let name = table.and_then(|table| Some(self.panes.workloads.selected(&table)?.to_owned()));
        let Some(name) = name else { return };
        self.panes.history.workload = Some(WorkloadTimes {
            name,
            of_runs: None,
        });
        self.show(View::Bench);
        self.panes.set_zoom(false);
        self.panes.set_focus(Pane::History);
        self.load_workload();
    }

    /// Reads the times of the workload that is charted.
    pub(super) fn load_workload(&mut self) {
        let Some(charted) = &self.panes.history.workload else {
            return;
        };
        let all = 0..self.repository.comparable().len();
        let runs = all.filter_map(|at| self.repository.nth_comparable(at)?.run);
        self.load(ViewRequest::Workload(charted.name.clone(), runs.collect()));
    }

    pub(super) fn on_workload(&mut self, name: &str, times: HashMap<RunId, f64>) {
        match &mut self.panes.history.workload {
            Some(charted) if charted.name == name => charted.of_runs = Some(times),
            _ => self.ignore(),
        }
    }

    pub(super) fn on_details(&mut self, details: ExperimentDetails) {
        let is_shown = |shown: &Experiment| shown.is(&details.key);
        if !self.shown().is_some_and(is_shown) {
            return self.ignore();
        }
        let known = self.selection.details.as_ref();
        let again = known.is_some_and(|known| known.key == details.key);
        let text = &mut self.panes.texts[Pane::Experiment as usize];
        let kept = again.then_some(text);
        self.panes.experiment.take_details(&details, kept);
        let report = details.record.as_ref().map(Record::report);
        let objective = self.setup.objective.name();
        let table = report.and_then(|report| WorkloadTable::of(&report, objective));
        let of = table.map(|table| (details.key.clone(), Arc::new(table)));
        self.panes.workloads.of_experiment = of;
        self.selection.details = Some(details);
    }

    pub(super) fn on_comparison(&mut self, comparison: Compared) {
        if self.selection.comparing.as_ref() != Some(&comparison.keys) {
            return self.ignore();
        }
        let again = self.selection.comparison().is_some();
        let text = &mut self.panes.texts[Pane::Experiment as usize];
        let kept = again.then_some(text);
        self.panes.experiment.take_comparison(&comparison, kept);
        self.selection.comparison = Some(comparison);
    }
}
