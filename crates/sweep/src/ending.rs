//! When a sweep ends, how it ended, and what it tells until then.

use crate::record::{SweepJobs, SweepPoint};
use std::time::Duration;

/// When a sweep ends, if points are left then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Budget {
    /// Once all points are measured.
    #[default]
    All,
    /// Once so many points are recorded, those of earlier processes included.
    Points(usize),
    /// Once it has gone on for so long, earlier processes included.
    Time(Duration),
}

/// What happens during a sweep.
#[derive(Debug)]
pub enum SweepEvent<'a> {
    /// A point is being judged: its values.
    Judging(String),
    /// A point was recorded.
    Recorded(&'a SweepPoint),
    /// How far the tasks on a cluster are.
    Jobs(&'a SweepJobs),
}

/// How a sweep, or a lane of it, ended; the worst is last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// All points were measured.
    Complete,
    /// Points are left, and the budget is spent.
    BudgetSpent,
    /// The caller ended it.
    Interrupted,
    /// The machine or the problem failed, and no point. The text says why.
    NotJudged(String),
}
