//! Whether a Python kernel takes as long on inputs that its process has not had as on those that it
//! has had: one that remembers results does not.

use super::renewed::fresh;
use super::spec::Case;
use super::timing::TensorTiming;
use crate::outcome::{Result, Stop};
use crate::worker::Worker;
use itertools::Itertools as _;
use lab_device::ExecutionOrder;

/// A window on new inputs may take so much longer than one on inputs that were there before.
const MOST_SLOWER: f64 = 1.5;

/// A window may always take this much longer, in seconds. The clock of the cpu device runs also
/// while other processes do.
const MARGIN: f64 = 20e-6;
const MARGIN_EMULATED: f64 = 50e-3;

/// Comparisons that must all find a kernel slower on new inputs: anything else in the machine can
/// slow down one window.
const COMPARISONS: usize = 3;

impl TensorTiming {
    /// Returns [`Stop::Crash`] if launches take longer on inputs that the process has not had than
    /// on those that it has had: the kernel then remembers results.
    pub fn expect_same_time_on_new_inputs(&self, worker: &mut Worker) -> Result {
        let timed = &*self.resident.timed;
        let is_renewed = |at: &usize| self.renewed.contains(&timed[*at].case.index);
        let mut suspects = (0..timed.len()).filter(is_renewed).collect_vec();
        if suspects.is_empty() {
            return Ok(());
        }
        for number in 1..=COMPARISONS {
            let on_new = self.seconds_on(worker, &suspects, Some(number))?;
            let on_known = self.seconds_on(worker, &suspects, None)?;
            let each = suspects.into_iter().zip(on_new.into_iter().zip(on_known));
            let margin = if self.resident.emulated {
                MARGIN_EMULATED
            } else {
                MARGIN
            };
            let slower = each
                .filter(|(_, (new, known))| *new > MOST_SLOWER * known + margin)
                .collect_vec();
            let Some((first, (new, known))) = slower.first() else {
                return Ok(());
            };
            if number == COMPARISONS {
                let case = &timed[*first].case;
                return Err(Stop::Crash(slower_text(case, *new, *known)));
            }
            suspects = slower.into_iter().map(|(at, _)| at).collect();
        }
        Ok(())
    }

    /// Seconds of a launch of each of these cases on its first set, after the module was loaded
    /// anew; with a number, on new values. The results are not compared: verification does that.
    fn seconds_on(
        &self,
        worker: &mut Worker,
        cases: &[usize],
        number: Option<usize>,
    ) -> Result<Vec<f64>> {
        worker.reload(self.module)?;
        let mut each = Vec::with_capacity(cases.len());
        for at in cases.iter().copied() {
            let resident = &*self.resident;
            let (case, launcher) = (&resident.timed[at].case, &resident.launchers[at]);
            let known = &resident.timed[at].sets[0].inputs;
            if let Some(number) = number {
                let inputs = fresh(case, self.seed, known, number)?;
                launcher.write_inputs(worker, 0, &inputs)?;
            }
            self.prepare(worker, at, &[0])?;
            let data = &resident.timed[at];
            let launch = launcher.launch_of(self.module, data, 0, ExecutionOrder::Forward);
            let replayed = worker.replay(launch, self.flush(), resident.spec.graph)?;
            each.push(replayed.seconds);
            if number.is_some() {
                launcher.write_inputs(worker, 0, known)?;
            }
        }
        Ok(each)
    }
}

fn slower_text(case: &Case, on_new: f64, on_known: f64) -> String {
    format!(
        "{} ({}) takes {:.1} µs on inputs that its process has not had before, and {:.1} µs on inputs that it has had: the kernel \
         remembers results. Each launch must compute them",
        case.entry,
        case.label,
        on_new * 1e6,
        on_known * 1e6
    )
}
