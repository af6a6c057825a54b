//! Which experiment and which workloads the panes show.

use super::Panes;
use super::workloads::{self, WorkloadTable};
use crate::prelude::*;
use crate::views::{Pane, View};
use lab_protocol::report::Report;
use lab_run::RunId;
use lab_run::experiment::Experiment;
use std::sync::Arc;

impl Panes {
    /// The experiment whose details are shown: the selected one; in Results, which always shows
    /// one, else the topmost of the table.
    pub fn shown<'a>(&self, data: ScreenData<'a>) -> Option<&'a Experiment> {
        let topmost = || self.topmost(data).filter(|_| self.view == View::Results);
        data.selected().or_else(topmost)
    }

    /// The topmost experiment of the table.
    pub fn topmost<'a>(&self, data: ScreenData<'a>) -> Option<&'a Experiment> {
        let place = self.experiments.table.order.first()?;
        data.repository.experiments.get(*place)
    }

    /// The selected experiment's row in the table.
    pub fn selected_row(&self, data: ScreenData) -> Option<usize> {
        let place = data.repository.place_of(data.selection.key.as_ref()?)?;
        self.experiments.table.row_of(place)
    }

    /// The workloads of the experiment that Results shows, else those of the run in progress or of
    /// the last one.
    pub fn workload_table(&self, data: ScreenData) -> Option<Arc<WorkloadTable>> {
        if self.view == View::Results {
            let key = self.shown(data)?.key();
            return self.workloads.of_experiment(&key).cloned();
        }
        let (_, report) = run_with_workloads(data)?;
        WorkloadTable::of(report, data.setup.objective.name()).map(Arc::new)
    }

    /// Whose workloads are shown.
    pub fn workloads_of(&self, data: ScreenData) -> String {
        let of_experiment = || Some(self.shown(data)?.key().commit);
        let of_run = || Some(format!("run {}", run_with_workloads(data)?.0));
        let name = match self.view {
            View::Results => of_experiment(),
            _ => of_run(),
        };
        name.unwrap_or_default()
    }

    /// Whether the present view has several workloads to show.
    pub fn has_workloads(&self, data: ScreenData) -> bool {
        match self.view {
            View::Bench => run_with_workloads(data).is_some(),
            View::Results => self.workload_table(data).is_some(),
            View::Source
            | View::Git
            | View::Device
            | View::Decisions
            | View::Loop
            | View::Sweep => false,
        }
    }

    /// The pane is shown, and how many rows its table of workloads has.
    pub fn workload_rows(&self, data: ScreenData) -> Option<usize> {
        let table = self.workload_table(data);
        self.shows(Pane::Workloads)
            .then(|| table.map_or(0, |table| table.workloads.len()))
    }
}

/// The run in progress or the last one, if it has several workloads.
fn run_with_workloads(data: ScreenData<'_>) -> Option<(RunId, &Report)> {
    let has_several = |report: &Report| report.workload_count() >= workloads::LEAST;
    let run = data.runs.report_if(has_several);
    run.filter(|(_, report)| has_several(report))
}
