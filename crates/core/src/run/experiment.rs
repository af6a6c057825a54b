//! An *experiment*: a run that was decided, kept or discarded.

use crate::message::Trailer;
use crate::run::RunId;
use crate::run::verdict::{Change, Verdict};
use jiff::Timestamp;
use lab_protocol::report::Measure;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a run was decided; its word stands in results.tsv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Keep,
    Discard,
    /// Discarded, and the run had crashed.
    Crash,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Keep => "keep",
            Status::Discard => "discard",
            Status::Crash => "crash",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let all = [Status::Keep, Status::Discard, Status::Crash];
        all.into_iter()
            .find(|status| status.word() == text)
            .ok_or(UnknownWord("none of keep, discard, crash"))
    }
}

/// Whether a result was correct; its word stands in results.tsv.
///
/// ```
/// use lab_core::run::experiment::Correctness;
///
/// assert_eq!("pass".parse(), Ok(Correctness::Pass));
/// assert_eq!(Correctness::Fail.to_string(), "fail");
/// assert!("ok".parse::<Correctness>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Correctness {
    Pass,
    Fail,
}

impl Correctness {
    pub fn word(self) -> &'static str {
        match self {
            Correctness::Pass => "pass",
            Correctness::Fail => "fail",
        }
    }

    pub fn passed(self) -> bool {
        self == Correctness::Pass
    }
}

impl From<bool> for Correctness {
    fn from(passed: bool) -> Self {
        if passed { Correctness::Pass } else { Correctness::Fail }
    }
}

impl fmt::Display for Correctness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Correctness {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let all = [Correctness::Pass, Correctness::Fail];
        all.into_iter().find(|c| c.word() == text).ok_or(UnknownWord("neither pass nor fail"))
    }
}

/// A word of a row that is not one of those it may be. Reads `none of keep, discard, crash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownWord(&'static str);

/// One row of results.tsv: the six columns, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Short id of the commit that holds the bytes.
    pub commit: String,
    /// Samples per second, or the objective that lab.toml names; 0.0 of a crash.
    pub throughput_sps: f64,
    pub kernel_us: f64,
    pub correctness: Correctness,
    pub status: Status,
    pub description: String,
}

/// Names one experiment: a commit that was kept twice has two rows, and an old row has no run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// As the row has it.
    pub commit: String,
    pub run: Option<RunId>,
    pub decided: Option<Timestamp>,
}

/// What the history shows of an experiment: its row and, where its record is still here, more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub row: Row,
    pub run: Option<RunId>,
    /// Repository-relative path of the kernel, where known: history is per problem.
    pub kernel: Option<String>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    pub emulated: bool,
    pub decided: Option<Timestamp>,
    /// What the commit's message says under its subject, as the record remembers it.
    #[serde(default)]
    pub trailers: Vec<Trailer>,
    #[serde(default)]
    pub measured: Measured,
}

/// What a record says of an experiment's figures, beyond the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The objective with its interval.
    pub objective: Option<Measure>,
    /// Against the incumbent of its time.
    pub change: Option<Change>,
    /// Measured on a device in a bad state, or not wholly.
    pub caveated: bool,
}

impl From<&Verdict> for Measured {
    fn from(verdict: &Verdict) -> Self {
        Measured {
            objective: verdict.objective,
            change: verdict.change,
            caveated: !verdict.caveats.is_empty(),
        }
    }
}

impl Experiment {
    /// The figure, where it counts: of a correct result that was no crash.
    pub fn figure(&self) -> Option<f64> {
        let counts = self.row.status != Status::Crash && self.row.correctness.passed();
        Some(self.row.throughput_sps).filter(|_| counts)
    }

    pub fn is_kept(&self) -> bool {
        self.row.status == Status::Keep
    }

    pub fn key(&self) -> Key {
        Key { commit: self.row.commit.clone(), run: self.run, decided: self.decided }
    }

    pub fn is(&self, key: &Key) -> bool {
        self.row.commit == key.commit && self.run == key.run && self.decided == key.decided
    }
}
