//! The times of a fixed discipline: so many trials of so many turns, and what follows for each
//! workload.

use super::summarise;

/// The times of all trials so far.
///
/// ```
/// use lab_judge::measure::discipline::TrialTimes;
///
/// // Two trials of three turns, two workloads. The first launch of the second workload was held up.
/// let mut times = TrialTimes::new(2, 3);
/// for turn in [[1.0, 90.0], [2.0, 5.0], [3.0, 4.0], [4.0, 6.0], [4.0, 6.0], [4.0, 6.0]] {
///     times.push(turn.to_vec());
/// }
/// assert!(times.is_complete());
/// let [first, second] = &times.workloads()[..] else { panic!("two workloads") };
/// assert_eq!((first.seconds, &first.trials[..]), (3.0, &[2.0, 4.0][..]));
/// assert_eq!((second.seconds, &second.trials[..]), (5.5, &[5.0, 6.0][..]));
/// ```
#[derive(Clone, Debug)]
pub struct TrialTimes {
    trials: usize,
    iterations: usize,
    /// For each trial its turns, and for each turn the seconds of each workload's launch.
    times: Vec<Vec<Vec<f64>>>,
}

/// The time of one workload in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadTime {
    /// Seconds of a launch: the mean of `trials`.
    pub seconds: f64,
    /// The median of each trial's launches.
    pub trials: Vec<f64>,
    /// Timed launches of all trials.
    pub launches: usize,
}

impl TrialTimes {
    /// No time yet, of this many trials with this many turns each. Both are at least 1.
    pub fn new(trials: usize, iterations: usize) -> Self {
        TrialTimes {
            trials: trials.max(1),
            iterations: iterations.max(1),
            times: Vec::new(),
        }
    }

    /// Adds a turn. Returns whether its trial is complete with it: the next turn begins another
    /// trial.
    pub fn push(&mut self, turn: Vec<f64>) -> bool {
        let iterations = self.iterations;
        match self
            .times
            .last_mut()
            .filter(|trial| trial.len() < iterations)
        {
            Some(trial) => trial.push(turn),
            None => self.times.push(vec![turn]),
        }
        self.times
            .last()
            .is_some_and(|trial| trial.len() == iterations)
    }

    /// Whether every trial has all its turns.
    pub fn is_complete(&self) -> bool {
        self.times.len() == self.trials
            && self
                .times
                .last()
                .is_some_and(|trial| trial.len() == self.iterations)
    }

    /// The turns of all trials, in order.
    pub fn all_turns(&self) -> Vec<Vec<f64>> {
        self.times.iter().flatten().cloned().collect()
    }

    /// The time of each workload. Empty without a turn.
    pub fn workloads(&self) -> Vec<WorkloadTime> {
        let count = self.times.iter().flatten().map(Vec::len).min().unwrap_or(0);
        (0..count).map(|at| self.workload(at)).collect()
    }

    fn workload(&self, at: usize) -> WorkloadTime {
        let median = |trial: &Vec<Vec<f64>>| {
            let seconds: Vec<f64> = trial.iter().map(|turn| turn[at]).collect();
            summarise(&seconds).map_or(f64::NAN, |summary| summary.median)
        };
        let trials: Vec<f64> = self.times.iter().map(median).collect();
        WorkloadTime {
            seconds: mean(&trials),
            trials,
            launches: self.times.iter().map(Vec::len).sum(),
        }
    }
}

/// The arithmetic mean; NaN without a number.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_ends_with_its_last_turn_and_the_run_with_its_last_trial() {
        let mut times = TrialTimes::new(2, 2);
        let ends: Vec<(bool, bool)> = (0..4)
            .map(|turn| (times.push(vec![f64::from(turn)]), times.is_complete()))
            .collect();
        assert_eq!(
            ends,
            [(false, false), (true, false), (false, false), (true, true)]
        );
        assert_eq!(times.all_turns().concat(), [0.0, 1.0, 2.0, 3.0]);
        let workload = &times.workloads()[0];
        assert_eq!(
            (
                workload.trials.as_slice(),
                workload.seconds,
                workload.launches
            ),
            (&[0.5, 2.5][..], 1.5, 4)
        );
    }

    #[test]
    fn without_a_turn_there_is_no_workload() {
        assert!(TrialTimes::new(5, 100).workloads().is_empty());
        assert!(!TrialTimes::new(0, 0).is_complete());
        assert!(mean(&[]).is_nan());
    }
}
