//! The times of a fixed discipline: so many trials of so many launches, and what follows for each
//! workload.

use super::of_workload;

/// The times of all trials so far.
///
/// ```
/// use lab_judge::measure::discipline::TrialTimes;
///
/// // Two trials of two workloads. The first window of the second workload was held up, and in the
/// // second trial one window had all launches of the first workload.
/// let mut times = TrialTimes::default();
/// for trial in [[[1.0, 90.0], [2.0, 5.0], [3.0, 4.0]], [[4.0, 6.0], [f64::NAN, 6.0], [f64::NAN, 6.0]]] {
///     times.begin_trial();
///     trial.into_iter().for_each(|turn| times.push(turn.to_vec()));
/// }
/// let [first, second] = &times.workloads()[..] else { panic!("two workloads") };
/// assert_eq!((first.seconds, &first.trials[..]), (3.0, &[2.0, 4.0][..]));
/// assert_eq!((second.seconds, &second.trials[..]), (5.5, &[5.0, 6.0][..]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TrialTimes {
    /// For each trial its turns, and for each turn the seconds of a launch of each workload; NaN
    /// where the turn had no launch of it.
    trials: Vec<Vec<Vec<f64>>>,
}

/// The time of one workload in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadTime {
    /// Seconds of a launch: the mean of `trials`.
    pub seconds: f64,
    /// The median of each trial.
    pub trials: Vec<f64>,
}

impl TrialTimes {
    pub fn begin_trial(&mut self) {
        self.trials.push(Vec::new());
    }

    /// The number of trials, with the present one.
    pub fn trials(&self) -> usize {
        self.trials.len()
    }

    /// Adds a turn to the present trial.
    pub fn push(&mut self, turn: Vec<f64>) {
        if let Some(trial) = self.trials.last_mut() {
            trial.push(turn);
        }
    }

    /// The turns of all trials, in order.
    pub fn all_turns(&self) -> Vec<Vec<f64>> {
        self.trials.concat()
    }

    /// The time of each workload. Empty without a turn.
    pub fn workloads(&self) -> Vec<WorkloadTime> {
        let turns = self.trials.iter().flatten();
        let count = turns.map(Vec::len).min().unwrap_or(0);
        (0..count).map(|at| self.workload(at)).collect()
    }

    fn workload(&self, at: usize) -> WorkloadTime {
        let median = |trial: &Vec<Vec<f64>>| {
            of_workload(trial, at).map_or(f64::NAN, |summary| summary.median)
        };
        let trials: Vec<f64> = self.trials.iter().map(median).collect();
        WorkloadTime {
            seconds: mean(&trials),
            trials,
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
    fn without_a_turn_there_is_no_workload() {
        assert!(TrialTimes::default().workloads().is_empty());
        assert!(mean(&[]).is_nan());
    }
}
