//! Inputs that the process of a Python kernel has not launched before, at addresses where it had others: a kernel that
//! remembers results instead of computing them is wrong there, or slower.
//!
//! What a CUDA kernel keeps is in its module, which each turn loads anew. What a Python kernel keeps may be anywhere in its process.

use super::input_values::InputValues;
use super::launcher::{self, Inputs};
use super::spec::{Case, CaseTensor, ProblemSpec};
use super::timing::TensorTiming;
use super::turn_order::shuffle;
use crate::outcome::Stop;
use crate::worker::Worker;
use lab_device::ExecutionOrder;
use lab_protocol::When;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Makes the values of renewed sets others than those of any other set.
const FIRST_RENEWED: usize = 1 << 33;

/// Cells that get new values in one save, in all its cases together. To draw, copy and compare more would delay the verdict.
const MOST_CELLS: usize = 4 << 20;

/// The cases that get new inputs: before a keep all; else chance selects as many as fit, and at least one, so that no case is safe for
/// a kernel that remembers results.
pub fn cases_to_renew(spec: &ProblemSpec, mut timed: Vec<usize>, when: When, seed: u64) -> Vec<usize> {
    if when == When::Keep {
        return timed;
    }
    shuffle(&mut ChaCha8Rng::seed_from_u64(seed ^ SALT), &mut timed);
    let mut cells = 0;
    timed.retain(|index| {
        let of_case = spec.cases[*index].cells();
        let is_first = cells == 0;
        let fits = is_first || cells + of_case <= MOST_CELLS;
        cells += if fits { of_case.max(1) } else { 0 };
        fits
    });
    timed
}

/// Makes the selection another one than the other uses of the seed.
const SALT: u64 = 0x7265_6e65_7765_6421;

/// Which cells of a set a renewed one keeps. A kernel may know inputs by some of their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    FirstHalf,
    LastHalf,
    /// All values are new. The number selects them.
    Nothing(usize),
}

/// A set with other values in the cells that it does not keep.
pub fn renew(spec: &ProblemSpec, case: &Case, seed: u64, set: &Inputs, kept: Kept) -> Inputs {
    let number = match kept {
        Kept::FirstHalf => 0,
        Kept::LastHalf => 1,
        Kept::Nothing(number) => 2 + number,
    };
    let fresh = launcher::draw(spec, case, seed, FIRST_RENEWED + number);
    let tensors = case.tensors.iter().zip(set).zip(fresh);
    tensors.map(|((tensor, old), fresh)| Some(mixed(tensor, old.as_deref()?, fresh?, kept))).collect()
}

fn mixed(tensor: &CaseTensor, old: &[u8], mut fresh: Vec<u8>, kept: Kept) -> Vec<u8> {
    let row = match tensor.values {
        // Only whole rows are ascending, or hold each number once.
        Some(InputValues::Ascending { .. } | InputValues::Permutation) => {
            tensor.shape.last().copied().unwrap_or(1)
        }
        _ => 1,
    };
    let half = tensor.cells() / row.max(1) / 2 * row * tensor.dtype.size();
    let kept = match kept {
        Kept::FirstHalf => 0..half,
        Kept::LastHalf => old.len() - half..old.len(),
        Kept::Nothing(_) => 0..0,
    };
    if let (Some(target), Some(source)) = (fresh.get_mut(kept.clone()), old.get(kept)) {
        target.copy_from_slice(source);
    }
    fresh
}

/// A window on new inputs may take so much longer than one on inputs that were there before.
const MOST_SLOWER: f64 = 1.5;

/// What a window may take longer in any case, in seconds. The clock of the cpu device runs also while other processes do.
const MARGIN: f64 = 20e-6;
const MARGIN_EMULATED: f64 = 50e-3;

/// Comparisons that must all find a kernel slower on new inputs: anything else in the machine can slow down one window.
const COMPARISONS: usize = 3;

impl TensorTiming {
    /// Returns [`Stop::Crash`] if launches take longer on inputs that the process has not had than on those that it has had: the
    /// kernel then remembers results.
    pub fn expect_same_time_on_new_inputs(&self, worker: &mut Worker) -> Result<(), Stop> {
        let is_renewed = |at: &usize| self.renewed.contains(&self.drawn[*at].0);
        let mut suspects: Vec<usize> = (0..self.drawn.len()).filter(is_renewed).collect();
        if suspects.is_empty() {
            return Ok(());
        }
        for number in 1..=COMPARISONS {
            let on_new = self.seconds_on(worker, &suspects, Some(number))?;
            let on_known = self.seconds_on(worker, &suspects, None)?;
            let each = suspects.into_iter().zip(on_new.into_iter().zip(on_known));
            let margin = if self.emulated { MARGIN_EMULATED } else { MARGIN };
            let slower: Vec<_> =
                each.filter(|(_, (new, known))| *new > MOST_SLOWER * known + margin).collect();
            let Some((first, (new, known))) = slower.first() else { return Ok(()) };
            if number == COMPARISONS {
                return Err(Stop::Crash(slower_text(&self.spec.cases[self.drawn[*first].0], *new, *known)));
            }
            suspects = slower.into_iter().map(|(at, _)| at).collect();
        }
        Ok(())
    }

    /// Seconds of a launch of each of these cases on its first set, after the module was loaded anew; with a number, on new values.
    /// The results are not compared: verification does that.
    fn seconds_on(
        &self,
        worker: &mut Worker,
        cases: &[usize],
        number: Option<usize>,
    ) -> Result<Vec<f64>, Stop> {
        worker.reload(self.module)?;
        let mut each = Vec::with_capacity(cases.len());
        for at in cases.iter().copied() {
            let (index, drawn) = &self.drawn[at];
            let (case, launcher) = (&self.spec.cases[*index], &self.resident.launchers[at]);
            if let Some(number) = number {
                let inputs = renew(&self.spec, case, self.seed, &drawn.sets[0], Kept::Nothing(number));
                launcher.write_inputs(worker, 0, &inputs)?;
            }
            self.prepare(worker, at, &[0])?;
            let launch = launcher.launch_of(self.module, 0, ExecutionOrder::Forward);
            each.push(worker.replay(vec![launch], self.flush(), self.spec.graph)?.seconds);
            if number.is_some() {
                launcher.write_inputs(worker, 0, &drawn.sets[0])?;
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

#[cfg(test)]
#[path = "renewed_tests.rs"]
mod tests;
