//! An *experiment*: a run that was decided, kept or discarded.

use crate::message::Trailer;
use crate::run::RunId;
use crate::run::verdict::{Change, Verdict};
use jiff::Timestamp;
use lab_protocol::report::Measure;
use serde::{Deserialize, Serialize};

/// The word in results.tsv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Keep,
    Discard,
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

/// One row of results.tsv: the six columns, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Short id of the commit that holds the bytes.
    pub commit: String,
    /// Samples per second, or the objective that lab.toml names; 0.0 of a crash.
    pub throughput_sps: f64,
    pub kernel_us: f64,
    /// `pass` or `fail`.
    pub correctness: String,
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
        let counts = self.row.status != Status::Crash && self.row.correctness == "pass";
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
