//! Launches outside of a judgement: under a tool of `lab check`, under the profiler, and for the
//! files of `--dump`.

use super::TensorProblem;
use super::case_data::{self, CaseData};
use super::dump;
use super::launcher::CaseLauncher;
use super::reference::ReferenceKernel;
use crate::outcome::Stop;
use crate::problem::api::{Problem, ProblemContext};
use crate::profile::workload::ProfileCase;
use crate::worker::{ModuleId, Worker};
use lab_device::{DeviceInfo, ExecutionOrder};
use std::path::Path;

/// Cells that make a workload large enough for a check: a single cell races with nothing.
const ENOUGH: usize = 4096;

impl TensorProblem {
    /// For each entry, chooses the smallest workload with at least [`ENOUGH`] cells, or else the
    /// largest. Returns their labels.
    pub(super) fn choose_for_check(&mut self) -> String {
        for entry in self.spec.entries() {
            let of_entry = |index: &usize| self.spec.cases[*index].entry == entry;
            let cases = (0..self.spec.cases.len()).filter(of_entry);
            let size = |index: &usize| {
                let cells = self.spec.cases[*index].cells();
                (cells < ENOUGH, cells.abs_diff(ENOUGH))
            };
            self.chosen.extend(cases.min_by_key(size));
        }
        let labels = self
            .chosen
            .iter()
            .map(|index| self.spec.cases[*index].label.as_str());
        labels.collect::<Vec<_>>().join("; ")
    }

    /// Launches each chosen case once.
    pub(super) fn launch_chosen_once(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        self.require_entries(worker, module)?;
        for index in &self.chosen {
            self.launch_once(
                cx,
                worker,
                module,
                *index,
                ExecutionOrder::Shuffled(cx.seed),
            )?;
        }
        Ok(())
    }

    /// A case as a profile sees it.
    pub(super) fn profile_case(&self, index: usize, device: &DeviceInfo) -> ProfileCase {
        let case = &self.spec.cases[index];
        ProfileCase {
            label: case.label.clone(),
            entry: case.entry.clone(),
            cells: case.cells(),
            demand: self.spec.demand(case),
            // The cpu device has no graphs.
            runs_as_graph: self.spec.graph && !device.emulated,
        }
    }

    /// Launches the case with this place among those to profile.
    pub(super) fn launch_profiled(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        case: usize,
    ) -> Result<(), Stop> {
        let cases = self.cases_to_profile(cx.device);
        let index = *cases
            .get(case)
            .ok_or_else(|| Stop::Lab(format!("there is no workload {case} to profile")))?;
        self.require_entries(worker, module)?;
        self.launch_once(cx, worker, module, index, ExecutionOrder::Forward)
    }

    /// Launches a case on the first set of its inputs.
    fn launch_once(
        &self,
        cx: &ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        index: usize,
        order: ExecutionOrder,
    ) -> Result<(), Stop> {
        let sets = [case_data::first_set(
            &self.spec,
            &self.spec.cases[index],
            cx.device,
            cx.seed,
        )];
        let launcher = CaseLauncher::set_up(&self.spec, index, worker, &sets)?;
        launcher.launch(worker, module, 0, &sets, order)?;
        launcher.take_down(worker)
    }

    /// Writes the tensors of one launch of each chosen case.
    pub(super) fn dump_chosen(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop> {
        if self.is_from_stock() == Some(true) && self.reference.is_none() {
            self.reference = Some(ReferenceKernel::start(&self.spec, &self.folder, cx)?);
        }
        for index in &self.chosen {
            let case = &self.spec.cases[*index];
            let sets = vec![case_data::first_set(&self.spec, case, cx.device, cx.seed)];
            let expected = match &mut self.reference {
                Some(reference) => reference
                    .expect(&self.spec, *index, &sets)?
                    .into_iter()
                    .map(|of| of.outputs)
                    .collect(),
                None => Vec::new(),
            };
            let drawn = CaseData {
                sets,
                expected,
                after_steps: Vec::new(),
                planted: vec![Vec::new()],
                reference_seconds: None,
            };
            let launcher = CaseLauncher::set_up(&self.spec, *index, worker, &drawn.sets)?;
            launcher.launch(worker, module, 0, &drawn.sets, ExecutionOrder::Forward)?;
            let got = launcher.outputs(worker, 0)?;
            launcher.take_down(worker)?;
            dump::write(folder, &self.spec, case, &drawn, &got)?;
        }
        Ok(())
    }
}
