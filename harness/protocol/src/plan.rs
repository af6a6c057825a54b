//! How long to measure: a budget of time on save, a number of trials and launches for
//! `lab bench --verdict`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

pub use lab_stats::speed::LEAST_BLOCKS;

/// How many budgets may be spent until there are [`LEAST_BLOCKS`].
const PATIENCE: u32 = 8;

/// How many budgets may be spent while the verdict is *undecided*, and how many while it is decided
/// and the interval of one of several workloads is wide.
const EXTENSION: u32 = 3;
const EXTENSION_FOR_WORKLOADS: u32 = 2;

/// With fewer blocks in the first budget, a second one would decide few workloads.
const BLOCKS_FOR_WORKLOADS: usize = 6;

/// How much wider than the interval of the whole that of a workload may be: ±1 % unless lab.toml
/// says otherwise, so that a kernel beside itself is *same* and one that is 2 % slower *slower*.
const WORKLOADS_WIDER: f64 = 4.0;

/// How long to measure, from the settings.
///
/// ```
/// use lab_protocol::plan::{Plan, SoFar};
/// use std::time::Duration;
///
/// let plan = Plan::default();
/// assert_eq!(plan.budget, Duration::from_millis(250));
/// // After three blocks with a narrow interval a save is measured long enough.
/// let so_far = SoFar { blocks: 3, half_width: 0.002, undecided: false, widest_workload: 0.0 };
/// assert!(!plan.goes_on(&so_far, Duration::from_millis(10)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Time that the timed launches may take.
    pub budget: Duration,
    /// The difference of two speeds that does not matter, as a fraction. See the rule in
    /// [`lab_stats::speed`].
    pub same_within: f64,
    /// Half the width of the interval of the ratio's logarithm that is narrow enough.
    pub half_width: f64,
    /// `None` on save: the budget and the width decide. Otherwise as many launches as this says,
    /// and the budget is a limit.
    pub trials: Option<Discipline>,
    /// Whether the interval of a workload may need a further budget.
    pub each_workload: bool,
}

/// What a measurement shows so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoFar {
    /// Complete ABBA blocks, or pairs of the candidate's turns without an incumbent.
    pub blocks: usize,
    /// Half the width of the interval, in units of the logarithm.
    pub half_width: f64,
    /// Whether the verdict on speed is *undecided*. `false` without an incumbent.
    pub undecided: bool,
    /// Half the width of the widest interval of several workloads; 0 of one.
    pub widest_workload: f64,
}

/// How many launches of each workload are timed.
///
/// ```
/// use lab_protocol::plan::Discipline;
/// assert_eq!(Discipline::default().to_string(), "3/100/5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Discipline {
    /// Untimed launches at the beginning of each process of the candidate.
    pub warm_up: usize,
    /// Timed launches of the candidate in a trial, at least 1.
    pub iterations: usize,
    /// Trials, at least 1. Each begins with a new process of the candidate.
    pub trials: usize,
}

impl Default for Discipline {
    fn default() -> Self {
        Discipline {
            warm_up: 3,
            iterations: 100,
            trials: 5,
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.warm_up, self.iterations, self.trials)
    }
}

/// One launch, in which a new process loads what it loads lazily.
const WARM_UP_ON_SAVE: usize = 1;

impl Default for Plan {
    fn default() -> Self {
        Plan {
            budget: Duration::from_millis(250),
            same_within: 0.005,
            half_width: 0.0025,
            trials: None,
            each_workload: true,
        }
    }
}

impl Plan {
    /// Untimed launches at the beginning of each process.
    pub fn warm_up(&self) -> usize {
        self.trials.map_or(WARM_UP_ON_SAVE, |t| t.warm_up)
    }

    /// ABBA blocks in a trial, and trials.
    pub fn shape(&self) -> (usize, usize) {
        // A block has two launches of the candidate.
        self.trials.map_or((usize::MAX, 1), |t| {
            (t.iterations.div_ceil(2).max(1), t.trials.max(1))
        })
    }

    /// Returns whether a trial goes on after this much was measured and this time was spent.
    ///
    /// On save this is the rule of Y. S. Chow and H. Robbins (On the Asymptotic Theory of
    /// Fixed-Width Sequential Confidence Intervals for the Mean, Annals of Mathematical Statistics
    /// 36, 1965): go on until the interval is narrow enough or the budget is spent. If the verdict
    /// is then still *undecided*, the measurement goes on for up to two further budgets. If only
    /// the interval of one of several workloads is wide, it goes on for one, unless the first had
    /// too few blocks. No rule favours a direction: the tests of `coverage` show that the intervals
    /// hold the truth as often as without the second and the third. To go on until each workload is
    /// decided would favour those at a threshold: of 10 such, a word was wrong in 5.5 of 100
    /// simulated measurements.
    pub fn goes_on(&self, so_far: &SoFar, spent: Duration) -> bool {
        match self.trials {
            Some(_) => so_far.blocks < self.shape().0 && spent < self.budget,
            None if so_far.blocks < LEAST_BLOCKS => spent < self.patience(),
            None => {
                let is_narrow = so_far.half_width <= self.half_width;
                let is_enough = is_narrow && self.are_workloads_narrow(so_far);
                !is_enough && spent < self.budget_for(so_far)
            }
        }
    }

    fn are_workloads_narrow(&self, so_far: &SoFar) -> bool {
        !self.each_workload || so_far.widest_workload <= WORKLOADS_WIDER * self.half_width
    }

    /// The time that the timed launches may take if this is what was measured so far.
    pub fn budget_for(&self, so_far: &SoFar) -> Duration {
        let budgets = match so_far {
            _ if self.trials.is_some() => 1,
            so_far if so_far.undecided => EXTENSION,
            so_far if so_far.blocks < BLOCKS_FOR_WORKLOADS => 1,
            so_far if !self.are_workloads_narrow(so_far) => EXTENSION_FOR_WORKLOADS,
            _ => 1,
        };
        self.budget * budgets
    }

    /// The longest time for a measurement that has no verdict yet. If a single launch takes longer,
    /// it is the only one.
    pub fn patience(&self) -> Duration {
        match self.trials {
            Some(_) => self.budget,
            None => self.budget * PATIENCE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn so_far(blocks: usize, half_width: f64) -> SoFar {
        SoFar {
            blocks,
            half_width,
            undecided: false,
            widest_workload: 0.0,
        }
    }

    #[test]
    fn on_save_it_ends_when_the_interval_is_narrow_or_the_budget_spent() {
        let plan = Plan::default();
        assert!(
            plan.goes_on(&so_far(2, 0.0), 900 * MS),
            "three blocks decide, not two"
        );
        assert!(
            !plan.goes_on(&so_far(2, 1.0), 2000 * MS),
            "unless they would take for ever"
        );
        assert!(!plan.goes_on(&so_far(3, 0.0025), 10 * MS));
        assert!(plan.goes_on(&so_far(3, 0.0026), 249 * MS));
        assert!(!plan.goes_on(&so_far(3, 0.0026), 250 * MS));
        assert_eq!(plan.shape(), (usize::MAX, 1));
    }

    #[test]
    fn while_the_verdict_is_undecided_a_save_gets_two_more_budgets() {
        let plan = Plan::default();
        let undecided = SoFar {
            undecided: true,
            ..so_far(3, 0.0076)
        };
        assert!(plan.goes_on(&undecided, 749 * MS));
        assert!(!plan.goes_on(&undecided, 750 * MS));
        assert!(
            !plan.goes_on(&so_far(3, 0.0500), 250 * MS),
            "a wide interval that decides is enough"
        );
    }

    #[test]
    fn while_the_interval_of_one_workload_is_wide_a_save_gets_one_more_budget() {
        let plan = Plan::default();
        let wide = |widest_workload| SoFar {
            widest_workload,
            ..so_far(6, 0.0020)
        };
        assert!(
            plan.goes_on(&wide(0.0101), 499 * MS),
            "though the whole is narrow"
        );
        assert!(!plan.goes_on(&wide(0.0101), 500 * MS));
        let of_keep = Plan {
            each_workload: false,
            ..plan.clone()
        };
        assert!(!of_keep.goes_on(&wide(0.0101), 10 * MS));
        assert!(!plan.goes_on(&wide(0.0100), 10 * MS));
        let few = SoFar {
            blocks: 5,
            ..wide(0.0101)
        };
        assert!(plan.goes_on(&few, 249 * MS));
        assert!(!plan.goes_on(&few, 250 * MS), "too slow for another");
    }

    #[test]
    fn the_full_discipline_takes_all_its_launches_however_narrow_the_interval() {
        let trials = Some(Discipline {
            warm_up: 3,
            iterations: 99,
            trials: 5,
        });
        let plan = Plan {
            budget: 300_000 * MS,
            trials,
            ..Plan::default()
        };
        assert_eq!((plan.shape(), plan.warm_up()), ((50, 5), 3));
        assert!(plan.goes_on(&so_far(49, 0.0), 200_000 * MS));
        assert!(!plan.goes_on(
            &SoFar {
                undecided: true,
                ..so_far(50, 1.0)
            },
            200_000 * MS
        ));
        assert!(!plan.goes_on(&so_far(10, 1.0), 300_000 * MS));
    }
}
