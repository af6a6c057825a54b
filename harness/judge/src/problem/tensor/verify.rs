//! Verifying one case: launching it and comparing what it wrote.

use super::case_data::CaseData;
use super::launcher::CaseLauncher;
use super::resident::{AcceptedOutputs, Resident};
use super::spec::ProblemSpec;
use super::tally::{GateTally, LaunchOf};
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
use crate::worker::{Breach, ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::rc::Rc;

/// Launches of a case after each of which all memory is looked at.
const LOOKS: usize = 3;

/// What checks of all cases share.
pub struct CaseCheck<'a> {
    pub spec: &'a Rc<ProblemSpec>,
    /// The timed cases, which are set up all the time.
    pub resident: &'a Resident,
    pub module: ModuleId,
    pub tally: &'a mut GateTally,
}

/// A launch of a case on one of its sets.
#[derive(Clone, Copy)]
struct CheckedLaunch<'a> {
    launcher: &'a CaseLauncher,
    drawn: &'a CaseData,
    set: usize,
    order: ExecutionOrder,
    /// Names the launch in messages.
    how: &'a str,
}

impl CaseCheck<'_> {
    /// Launches a case on each set of inputs, at least `least` times, and on the emulated device in several orders of blocks and
    /// threads, and compares the outputs. Notes the right ones in `accepted`, under the number of the timed case. Stops after a store
    /// out of bounds.
    pub fn run(
        &mut self,
        launcher: &CaseLauncher,
        drawn: &CaseData,
        accepted: Option<(usize, &AcceptedOutputs)>,
        least: usize,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        let sets = drawn.sets.len();
        // A GPU has an order of its own.
        let is_ordered = worker.orders_threads();
        let launches = if cx.device.emulated { sets.max(least) } else { sets };
        let shuffled = ExecutionOrder::Shuffled(cx.seed);
        let orders = match is_ordered {
            true => vec![ExecutionOrder::Forward, ExecutionOrder::Reverse, shuffled],
            false => vec![ExecutionOrder::Forward],
        };
        for i in 0..launches {
            let (set, order) = (i % sets, orders[i % orders.len()]);
            let how = match (is_ordered, order) {
                (false, _) => format!("launch {}", i + 1),
                (true, ExecutionOrder::Forward) => "threads in order".into(),
                (true, ExecutionOrder::Reverse) => "threads in reverse order".into(),
                (true, ExecutionOrder::Shuffled(seed)) => format!("threads in shuffled order {seed}"),
            };
            let launch = CheckedLaunch { launcher, drawn, set, order, how: &how };
            // Each set is launched twice where only two launches show an unwritten cell.
            let is_first = i < sets && self.spec.needs_two_launches(launcher.case());
            self.compare(&launch, is_first, accepted, cx, worker)?;
            if self.spec.steps > 1 {
                self.compare_steps(&launch, cx, worker)?;
            }
            // To look at all memory takes a while. A stray store of later launches is found after the last one. Shared
            // buffers are looked at before the inputs of the next set lie over a change of these.
            if i < LOOKS {
                self.report(launcher, worker.breaches()?, &how, cx)?;
            } else if i + 1 == launches {
                let how = format!("launches {} to {launches}", LOOKS + 1);
                self.report(launcher, worker.breaches()?, &how, cx)?;
            } else if launcher.shares_buffers() {
                self.report(launcher, worker.breaches_of_given()?, &how, cx)?;
            }
            if self.tally.breached() {
                break;
            }
        }
        Ok(())
    }

    /// Launches a set once, or twice to find unwritten cells, and compares the outputs.
    fn compare(
        &mut self,
        launch: &CheckedLaunch,
        twice: bool,
        accepted: Option<(usize, &AcceptedOutputs)>,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        let CheckedLaunch { launcher, drawn, set, order, how } = *launch;
        let (inputs, want) = (&drawn.sets[set], &drawn.expected[set]);
        let mut other = None;
        if twice {
            launcher.launch(worker, self.module, set, &drawn.sets, order)?;
            other = Some(launcher.written(worker, set, inputs)?);
        }
        launcher.launch(worker, self.module, set, &drawn.sets, order)?;
        let digests = match accepted {
            Some((at, _)) => self.resident.output_digests(worker, at, &[set])?.concat(),
            None => Vec::new(),
        };
        let launched = LaunchOf { case: launcher.case(), how, planted: &drawn.planted[set] };
        let right = match &other {
            None => {
                let got = launcher.outputs(worker, set)?;
                self.tally.compare(self.spec, launched, &got, want, cx.out)?
            }
            Some(other) => {
                let written = launcher.written(worker, set, inputs)?;
                let again = format!("{how}, again");
                let pair = [other, &written];
                let first = self.tally.compare_beside(self.spec, launched, pair, want, cx.out)?;
                let pair = [&written, other];
                let launched = LaunchOf { how: &again, ..launched };
                self.tally.compare_beside(self.spec, launched, pair, want, cx.out)? && first
            }
        };
        if let Some((at, accepted)) = accepted.filter(|_| right) {
            accepted.insert(at, set, digests);
        }
        Ok(())
    }

    /// Makes the further launches in a row on what the last one left, and compares what is there after them.
    fn compare_steps(
        &mut self,
        launch: &CheckedLaunch,
        cx: &mut ProblemContext,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        let CheckedLaunch { launcher, drawn, set, order, how } = *launch;
        for _ in 1..self.spec.steps {
            launcher.launch_again(worker, self.module, set, &drawn.sets, order)?;
        }
        let got = launcher.outputs(worker, set)?;
        let how = format!("{how}, after {} launches in a row", self.spec.steps);
        let launched = LaunchOf { case: launcher.case(), how: &how, planted: &drawn.planted[set] };
        self.tally.compare(self.spec, launched, &got, &drawn.after_steps[set], cx.out)?;
        Ok(())
    }

    fn report(
        &mut self,
        launcher: &CaseLauncher,
        breaches: Vec<Breach>,
        how: &str,
        cx: &mut ProblemContext,
    ) -> Result<(), Stop> {
        for breach in breaches {
            let input = matches!(breach, Breach::InputChanged { .. });
            let found = if launcher.owns(&breach) { None } else { self.resident.describe(&breach) };
            let what = match found {
                Some((case, what)) => format!("{what}, which belongs to the workload {}", case.label),
                None => launcher.describe(&breach),
            };
            self.tally.breach(launcher.case(), how, &what, input, cx.out)?;
        }
        Ok(())
    }
}
