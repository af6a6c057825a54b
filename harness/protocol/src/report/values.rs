//! What values of result lines mean: gates, measures, the comparison, the stage.

use super::AggregateOf;
use lab_stats::speed::Speed;

/// A line with a `limit=`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The line's key.
    pub name: String,
    /// NaN if the line's first word is not a number.
    pub value: f64,
    /// NaN if the limit is not a number.
    pub limit: f64,
}

impl Gate {
    /// Returns whether the value is less than or equal to the limit. NaN on either side fails.
    ///
    /// ```
    /// use lab_protocol::report::Gate;
    ///
    /// let gate = |value, limit| Gate { name: "y_error".into(), value, limit };
    /// assert!(gate(1.0, 1.0).passes());
    /// assert!(!gate(f64::NAN, 1.0).passes());
    /// ```
    pub fn passes(&self) -> bool {
        self.value <= self.limit
    }
}

/// Whether the values of a gate and its limits are shares of the cells, which people read in percent:
/// the value of `NAME_mismatched` would read as a count.
pub fn gate_is_share(name: &str, values: &[f64]) -> bool {
    let is_part = |it: &f64| it.is_nan() || *it <= 1.0;
    let is_share = name.ends_with("_mismatched") && values.iter().all(is_part);
    is_share && values.iter().any(|it| *it > 0.0)
}

/// A figure and its 95 % interval, if the harness gave one. The unit is that of the line.
///
/// ```
/// use lab_protocol::report::{Measure, Report};
///
/// let report = Report::read("kernel_us: 4.1 low=4.0 high=4.3\n");
/// assert_eq!(report.measure("kernel_us"), Some(Measure { value: 4.1, low: Some(4.0), high: Some(4.3) }));
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub struct Measure {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// The candidate's speed beside the incumbent's, from the lines `speed_ratio:` and `speed:`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Candidate's speed over incumbent's, with its 95 % interval. No unit; above 1 the candidate
    /// is faster.
    pub ratio: Measure,
    /// `None` if the harness gave no verdict.
    pub speed: Option<Speed>,
    /// How the ratio came from those of several workloads; `None` if the line `speed_ratio:` does
    /// not say so.
    pub aggregate: Option<AggregateOf>,
}

/// What a run does at present.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Stage {
    /// The kernel is being built.
    Build,
    /// The expected results are being computed or loaded.
    Reference,
    /// The gates are being checked.
    Verify,
    /// The kernel is being timed.
    Measure,
    /// The run has ended.
    Done,
}

impl Stage {
    /// The word in the line `stage:`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
