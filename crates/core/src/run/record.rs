//! What is remembered of a run: `.lab/runs/N/record.json`.

use crate::message::Trailer;
use crate::run::experiment::{Row, Status};
use crate::run::verdict::{Outcome, Verdict};
use crate::run::{Ending, RunStart};
use jiff::Timestamp;
use lab_protocol::report::Report;
use serde::{Deserialize, Serialize};

/// One file that a verdict depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Repository-relative, with `/`.
    pub path: String,
    /// BLAKE3 of its bytes, hex; `None` where it could not be read.
    pub hash: Option<String>,
}

/// How far a decision got. Written ahead of each step, so that a restart can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub status: Status,
    /// The subject of the commit's message …
    pub description: String,
    /// … and the trailers under it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Trailer>,
    pub decided: Timestamp,
    /// The commit that holds the judged bytes, hex; `None` until it is made.
    pub commit: Option<String>,
    /// Whether a keep made that commit: on bytes that HEAD held already it did not. `None` of a discard, and in the
    /// records of an older lab.
    #[serde(default)]
    pub made: Option<bool>,
    /// The row for the ledger; `None` until the commit is made.
    pub row: Option<Row>,
    /// The row is in the ledger.
    pub row_written: bool,
}

/// What the check before a keep came to. See [`crate::runner::held_out`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    pub checked: Timestamp,
    pub outcome: Outcome,
    /// Which gate, and on what. Empty on a pass.
    pub why: String,
    /// Its result lines, the last of each key.
    pub results: Vec<(String, String)>,
}

/// Of the format that this lab writes.
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of this format.
    pub version: u32,
    /// Of the lab that wrote it.
    pub lab: String,
    #[serde(flatten)]
    pub start: RunStart,
    /// The kernel first.
    pub inputs: Vec<InputFile>,
    /// The command that ran.
    pub command: String,
    pub ended: Option<Timestamp>,
    pub seconds: Option<f64>,
    pub ending: Option<Ending>,
    /// `None` while the run goes on.
    pub verdict: Option<Verdict>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    /// Every result line, the last of each key.
    pub results: Vec<(String, String)>,
    pub workloads: Vec<String>,
    /// Compiler diagnostics and the like are read from run.log; this counts its bytes.
    pub log_bytes: u64,
    /// `None` where no keep was asked for, and of an external harness.
    #[serde(default)]
    pub held_out: Option<HeldOut>,
    pub decision: Option<Decision>,
    /// Decisions that were taken back, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<Decision>,
}

impl Record {
    /// Of a run that has just begun: nothing came of it yet.
    pub fn begun(start: RunStart, inputs: Vec<InputFile>, command: String) -> Self {
        Record {
            version: VERSION,
            lab: env!("CARGO_PKG_VERSION").to_owned(),
            start,
            inputs,
            command,
            ended: None,
            seconds: None,
            ending: None,
            verdict: None,
            device: None,
            results: Vec::new(),
            workloads: Vec::new(),
            log_bytes: 0,
            held_out: None,
            decision: None,
            undone: Vec::new(),
        }
    }

    /// The report, from the lines that were recorded (diagnostics are in run.log only).
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        for (key, value) in &self.results {
            report.push_line(&format!("{key}: {value}"));
        }
        for row in &self.workloads {
            report.push_line(&format!("workload: {row}"));
        }
        for text in self.verdict.iter().flat_map(|v| &v.caveats) {
            report.push_line(&format!("caveat: {text}"));
        }
        report
    }

    /// Measured on an emulated device.
    pub fn emulated(&self) -> bool {
        self.verdict.as_ref().is_some_and(|v| v.emulated)
    }
}
