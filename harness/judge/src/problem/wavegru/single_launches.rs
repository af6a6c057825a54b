//! Launches whose results nobody compares: under a tool of `lab check`, beside a run for races, and
//! under the profiler.

use super::launcher::{self, ModelLauncher};
use super::reference::ReferenceOutput;
use super::run_inputs::RunInputs;
use super::weights::Weights;
use super::{WaveGruProblem, judged_runs::ReferenceRun};
use crate::outcome::Stop;
use crate::probe::bounds::Demand;
use crate::problem::api::ProblemContext;
use crate::profile::workload::ProfileCase;
use crate::worker::{ModuleId, Worker};
use lab_device::{DeviceInfo, ExecutionOrder};

/// Hidden units of the smallest model.
const SMALLEST: usize = 256;

impl WaveGruProblem {
    /// Makes launches so many steps long, and returns a description of what is left. On the
    /// emulated device the model is made as small as possible. On a GPU it keeps its size, because
    /// a kernel may be written for it.
    pub(super) fn shrink_to(&mut self, steps: usize, device: &DeviceInfo) -> String {
        if device.emulated {
            self.config.hidden = SMALLEST;
        }
        (self.config.steps, self.config.steps_cpu) = (steps, steps);
        format!("hidden={} steps={steps}", self.config.hidden)
    }

    /// One launch that samples and one that is taught.
    pub(super) fn launch_each_kind(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        let steps = self.config.steps(cx.device);
        // Any tokens will do, because nothing is compared.
        let tokens = (0..steps).map(|step| (step * 37 % 256) as i32).collect();
        let run = self.uncompared_run(
            cx,
            ReferenceOutput {
                tokens,
                ..ReferenceOutput::default()
            },
        );
        let weights = self.drawn_weights();
        let uploaded = launcher::upload(&weights, worker)?;
        for teacher in [false, true] {
            let launcher = ModelLauncher::new(worker, module, &uploaded, weights.hidden, steps)?;
            launcher.launch_for_check(worker, &run, teacher, ExecutionOrder::Shuffled(cx.seed))?;
            launcher.close(worker)?;
        }
        Ok(())
    }

    /// The only workload, as a profile sees it.
    pub(super) fn profile_case(&self, device: &DeviceInfo) -> ProfileCase {
        let (hidden, steps) = (self.config.hidden, self.config.steps(device));
        let (multiplied, weight_bytes) = Weights::work_of(hidden);
        ProfileCase {
            label: format!("hidden={hidden} steps={steps}"),
            entry: launcher::ENTRY.to_owned(),
            cells: hidden * steps,
            demand: Demand::of_steps(multiplied, weight_bytes, steps, self.config.exchanges),
            runs_as_graph: false,
        }
    }

    /// One launch that samples, as the timed ones do.
    pub(super) fn launch_profiled(
        &self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop> {
        let steps = self.config.steps(cx.device);
        let run = self.uncompared_run(cx, ReferenceOutput::default());
        let weights = self.drawn_weights();
        let uploaded = launcher::upload(&weights, worker)?;
        let launcher = ModelLauncher::new(worker, module, &uploaded, weights.hidden, steps)?;
        launcher.launch_for_check(worker, &run, false, ExecutionOrder::Forward)?;
        launcher.close(worker)
    }

    fn drawn_weights(&self) -> Weights {
        Weights::draw(self.config.hidden, self.config.weight_seed)
    }

    fn uncompared_run(&self, cx: &ProblemContext, expected: ReferenceOutput) -> ReferenceRun {
        let steps = self.config.steps(cx.device);
        let inputs = RunInputs::draw(self.config.hidden, steps, &self.config.ranges(), cx.seed);
        ReferenceRun { inputs, expected }
    }
}
