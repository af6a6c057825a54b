//! The runs that one judgement launches, in the order of their launches.

use super::reference::ReferenceOutput;
use super::run_inputs::RunInputs;
use crate::problem::philox;
use std::ops::Range;

/// The inputs of a run, and what must come of them.
pub struct ReferenceRun {
    pub inputs: RunInputs,
    pub expected: ReferenceOutput,
}

/// The runs of a judgement: those that are sampled, then those that are taught, then those that are
/// timed. No worker of a candidate launches a run twice, so that a kernel gains nothing from
/// remembering earlier launches.
pub struct JudgedRuns {
    pub runs: Vec<ReferenceRun>,
    /// Runs that are sampled, and runs that are taught, in the check.
    pub checked: usize,
}

impl JudgedRuns {
    /// The runs that the check samples.
    pub fn sampled(&self) -> &[ReferenceRun] {
        &self.runs[..self.checked.min(self.runs.len())]
    }

    /// The runs that the check teaches.
    pub fn taught(&self) -> &[ReferenceRun] {
        &self.runs[self.checked.min(self.runs.len())..(2 * self.checked).min(self.runs.len())]
    }

    /// The indices of the runs that are timed in the worker that was checked.
    pub fn timed(&self) -> Range<usize> {
        (2 * self.checked).min(self.runs.len())..self.runs.len()
    }

    /// The run with the smallest margin.
    pub fn narrowest(&self) -> Option<&ReferenceRun> {
        self.runs
            .iter()
            .min_by(|a, b| a.expected.margin.total_cmp(&b.expected.margin))
    }
}

/// The order of runs with these run seeds, as their indices, shuffled by `seed`. Even and odd seeds
/// alternate, because their min-p are from different halves of the range.
pub fn launch_order(run_seeds: &[u64], seed: u64) -> Vec<usize> {
    let half = |parity: u64| -> Vec<usize> {
        let mut half: Vec<usize> = (0..run_seeds.len())
            .filter(|i| run_seeds[*i] % 2 == parity)
            .collect();
        for last in (1..half.len()).rev() {
            let word = random_word(seed, last as u32, parity as u32);
            half.swap(last, word as usize % (last + 1));
        }
        half
    };
    let mut halves = [half(0), half(1)];
    // The longer half begins, so that its last run has no neighbour of its own half.
    let odd_begins = match halves[0].len().cmp(&halves[1].len()) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => random_word(seed, 0, 2) % 2 == 1,
        std::cmp::Ordering::Greater => false,
    };
    if odd_begins {
        halves.reverse();
    }
    let most = halves[0].len().max(halves[1].len());
    (0..most)
        .flat_map(|i| [halves[0].get(i).copied(), halves[1].get(i).copied()])
        .flatten()
        .collect()
}

/// Whether the check begins with the teacher-forced launches.
pub fn teaches_first(seed: u64) -> bool {
    random_word(seed, 0, 3) % 2 == 1
}

fn random_word(seed: u64, number: u32, what: u32) -> u32 {
    philox::philox([number, what, 0, 0], philox::key(seed))[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_run_once_and_halves_that_alternate() {
        let run_seeds = [10, 12, 14, 16, 3, 5, 7, 9];
        let mut orders = Vec::new();
        for seed in 0..50 {
            let order = launch_order(&run_seeds, seed);
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, (0..8).collect::<Vec<_>>());
            assert!(
                order.windows(2).all(|pair| (pair[0] < 4) != (pair[1] < 4)),
                "{order:?}"
            );
            orders.push(order);
        }
        let first_is_odd = orders.iter().filter(|order| order[0] >= 4).count();
        assert!((10..40).contains(&first_is_odd), "{first_is_odd} of 50");
        orders.sort_unstable();
        orders.dedup();
        assert!(orders.len() > 45);
        assert_eq!(
            launch_order(&[1, 3, 2], 7)[1],
            2,
            "the longer half surrounds the shorter one"
        );
        let first = (0..100).filter(|seed| teaches_first(*seed)).count();
        assert!((30..70).contains(&first), "{first} of 100");
    }
}
