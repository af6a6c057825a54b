//! A problem without some of its workloads, for a peer that does not compute these.

use super::TensorProblem;
use super::case_data;
use super::launcher::CaseLauncher;
use super::parameters::parameters;
use super::spec::{Case, ProblemSpec};
use crate::outcome::Stop;
use crate::problem::api::{LeftOut, ProblemCase, ProblemContext};
use crate::worker::{ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::rc::Rc;

impl TensorProblem {
    /// The cases that are judged; before that is known, all of problem.toml.
    pub(super) fn judged_cases(&self) -> Vec<ProblemCase> {
        let case = |case: &Case| ProblemCase {
            label: case.label.clone(),
            is_held_out: case.held_out,
        };
        match self.chosen.is_empty() {
            true => self.spec.cases.iter().map(case).collect(),
            false => self
                .chosen
                .iter()
                .map(|index| case(&self.spec.cases[*index]))
                .collect(),
        }
    }

    /// Removes the cases with these labels. The inputs of the others stay what they are: they are
    /// drawn by the label.
    pub(super) fn without_cases(&mut self, labels: &[String]) {
        let is_left = |case: &&Case| !labels.contains(&case.label);
        let cases = self.spec.cases.iter().filter(is_left).cloned().collect();
        self.spec = Rc::new(ProblemSpec {
            cases,
            ..(*self.spec).clone()
        });
    }

    /// Launches each case once, and returns those whose launch failed.
    pub(super) fn launch_each_case(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Vec<LeftOut>, Stop> {
        let mut failed = Vec::new();
        for index in &self.chosen {
            let case = &self.spec.cases[*index];
            let sets = [case_data::first_set(&self.spec, case, cx.device, cx.seed)];
            let launcher = CaseLauncher::set_up(&self.spec, *index, worker, &sets)?;
            let launched = worker.require_entry(module, &case.entry, parameters(&self.spec, case));
            let launched = launched
                .and_then(|()| launcher.launch(worker, module, 0, &sets, ExecutionOrder::Forward));
            if let Err(stop) = launched {
                failed.push(LeftOut {
                    label: case.label.clone(),
                    why: stop.to_string(),
                });
                // A kernel in CUDA C++ that crashed leaves nothing that could be used.
                if !(worker.is_python() && worker.is_alive()) {
                    return Ok(failed);
                }
            }
            launcher.take_down(worker)?;
        }
        Ok(failed)
    }
}
