//! The sweep that an experiment's kernel was found by: how its points ended, and what goes with the
//! commit.

use lab_project::objective::Objective;
use lab_protocol::report::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a point, from the best to the worst.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PointOutcome {
    /// It is correct, and was measured to the end.
    Pass,
    /// It is correct, and its measurement ended early: its interval lies beyond that of the best.
    Slower,
    /// A result is wrong.
    Fail,
    BuildError,
    Crash,
}

impl PointOutcome {
    pub fn word(self) -> &'static str {
        match self {
            PointOutcome::Pass => "pass",
            PointOutcome::Slower => "slower, ended early",
            PointOutcome::Fail => "wrong",
            PointOutcome::BuildError => "does not build",
            PointOutcome::Crash => "crash",
        }
    }

    /// Whether the kernel of this point computes what it is to compute.
    pub fn is_correct(self) -> bool {
        matches!(self, PointOutcome::Pass | PointOutcome::Slower)
    }
}

/// A sweep as it goes with the commit of an experiment: a clone has no `.lab/sweep`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AttachedSweep {
    /// Its number where it was made.
    pub sweep: u64,
    /// The number of the point that the kernel is.
    pub point: u32,
    /// How many points the tune lines allow.
    pub allowed: usize,
    /// How many of them were recorded.
    pub recorded: usize,
    /// The names of the constants.
    pub constants: Vec<String>,
    /// The key of the result line that the figures are from; none if no point has one.
    #[schemars(with = "Option<String>")]
    pub objective: Option<Objective>,
    /// The recorded points, the best first: at most [`AttachedSweep::MOST`].
    pub points: Vec<AttachedPoint>,
}

/// A point of an attached sweep.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AttachedPoint {
    pub number: u32,
    /// The value of each constant, in their order.
    pub values: Vec<String>,
    pub outcome: PointOutcome,
    /// The figure; only of a correct point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Measure>,
    /// The ratio of its speed to the incumbent's: 1.02 is 2 % faster. Only where the two were timed
    /// in turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Measure>,
}

impl AttachedSweep {
    /// How many points go with a commit.
    pub const MOST: usize = 1000;

    /// `2, point 7 of 24: BLOCK=256 ROWS=2`
    pub fn in_words(&self) -> String {
        let point = self.points.iter().find(|it| it.number == self.point);
        let values = point.map(|point| self.values_of(point)).unwrap_or_default();
        let AttachedSweep {
            sweep,
            point,
            allowed,
            ..
        } = self;
        format!("{sweep}, point {point} of {allowed}: {values}")
    }

    /// The values of a point, as in `BLOCK=256 ROWS=2`.
    pub fn values_of(&self, point: &AttachedPoint) -> String {
        let words = self.constants.iter().zip(&point.values);
        let words: Vec<String> = words
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        words.join(" ")
    }
}
