//! The record of a run: `.lab/runs/N/record.json`, which is also the git note of a decided run's
//! commit.

use crate::chosen::Chosen;
use crate::experiment::{Row, Status};
use crate::message::Trailer;
use crate::peers::MeasuredPeer;
use crate::sweep::AttachedSweep;
use crate::verdict::{Change, Outcome, Verdict};
use crate::{Ending, Fingerprint, RunStart};
use jiff::Timestamp;
use lab_protocol::report::{JudgedWorkloads, Measure, Report};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

/// One file that a verdict depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Repository-relative, with `/`.
    pub path: String,
    /// BLAKE3 of its bytes, hex; `None` where it could not be read.
    pub hash: Option<String>,
}

/// A decision and how far it got. The record is written before each step, so that the next lab can
/// go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub status: Status,
    /// The subject of the commit's message.
    pub description: String,
    /// The trailers under it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Trailer>,
    /// The time of day. The clock may be set back: see [`Decision::order`].
    pub decided: Timestamp,
    /// Counts the decisions of this clone, from 1: a later decision has a greater number.
    pub order: u64,
    /// The commit that holds the judged bytes, hex; `None` until it is made.
    pub commit: Option<String>,
    /// Whether a keep made that commit; it did not if HEAD held the bytes already. `None` of a
    /// discard.
    pub made: Option<bool>,
    /// The row for the ledger; `None` until the commit is made.
    pub row: Option<Row>,
    /// The row is in the ledger.
    pub row_written: bool,
    /// The sweep whose point the kernel is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Box<AttachedSweep>>,
}

/// What the author of an undecided run said of it: the message that a decision by rule would have
/// had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<Trailer>,
}

/// The outcome of the held-out check. See `lab_runner::held_out`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    pub checked: Timestamp,
    pub outcome: Outcome,
    /// Which gate, and on what. Empty on a pass.
    pub why: String,
    /// The result lines of the check, the last of each key.
    pub results: Vec<(String, String)>,
    /// Sealed runs that the kernel passed.
    pub sealed_runs: u32,
    /// The figures on sealed inputs; `None` if the check timed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<SealedFigures>,
    /// Which workloads are slower than the incumbent on sealed inputs, in words; `None` unless the
    /// check came out *mixed*.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<String>,
    /// What qualifies the check: few sealed runs in stock, moving clocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// Hash of the kernel's tokens: the same for kernels that differ in comments and blanks. Hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
}

/// What the held-out check measured on sealed inputs. It is what the row of a kept run shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SealedFigures {
    /// The objective with its interval.
    pub objective: Measure,
    /// Microseconds of one launch.
    pub kernel_us: Option<f64>,
    /// The figure that problem.toml chose instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
    /// The change against the incumbent, if the two were timed in turns.
    pub change: Option<Change>,
}

impl SealedFigures {
    /// The figure that is shown: the one that the problem chose, else the objective.
    pub fn shown(&self) -> Measure {
        self.chosen.map_or(self.objective, |chosen| chosen.measure)
    }
}

impl HeldOut {
    /// How many of the problem's workloads the check judged; `None` of a problem that does not say
    /// so.
    pub fn judged_workloads(&self) -> Option<JudgedWorkloads> {
        let (_, value) = self.results.iter().find(|(key, _)| key == "workloads")?;
        JudgedWorkloads::of_value(value)
    }

    /// Whether the check passed this many sealed runs.
    pub fn passed(&self, runs: u32) -> bool {
        self.outcome == Outcome::Pass && self.sealed_runs >= runs
    }
}

/// What held the kernel's process and the compiler back during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// As in `landlock 7 + seccomp`; `none` without a sandbox.
    pub state: String,
    /// Files and folders outside the repository that the compiler could read, because a trusted
    /// lab.toml names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<String>,
}

impl Sandbox {
    /// Reads the lines `sandbox:` and `sandbox_readable:`. `None` where the harness wrote none.
    pub fn of(report: &Report) -> Option<Sandbox> {
        let state = report.value("sandbox")?.to_owned();
        let readable = report
            .value("sandbox_readable")
            .and_then(|list| serde_json::from_str(list).ok());
        Some(Sandbox {
            state,
            readable: readable.unwrap_or_default(),
        })
    }
}

/// Who wrote a record. Only this user's lab signs one so that this user's lab believes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// This user's lab: the signature is right, or this process made the record.
    Own,
    /// Somebody else's lab, or a file that was changed since: there is no signature, or a wrong one.
    #[default]
    Foreign,
    /// Somebody whose key the repository lists signed it. It permits no decision.
    Listed,
}

/// Version of the formats of all signed files: records, benches and intents. It counts up when a key
/// goes or means something else.
pub const VERSION: u32 = 1;

/// Everything that is remembered of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format.
    pub version: u32,
    /// Version of the lab that wrote the record.
    pub lab: String,
    /// Found out when the record is read; stands in no file.
    #[serde(skip)]
    pub origin: Origin,
    #[serde(flatten)]
    pub start: RunStart,
    /// See [`Inputs::token_fingerprint`](crate::inputs::Inputs::token_fingerprint).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_fingerprint: Option<Fingerprint>,
    /// Every file that the verdict depends on, the kernel first.
    pub inputs: Vec<InputFile>,
    /// Whether all tracked files were as in HEAD, but for the ledgers, decisions.toml and evidence/.
    /// `None` of a run that a save started, and where git cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_tree: Option<bool>,
    /// The harness command that ran; `built-in` for the built-in harness.
    pub command: String,
    /// The device that was asked for: `auto`, `cpu`, `cuda:1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    pub ended: Option<Timestamp>,
    /// Seconds from the start of the run to its end.
    pub seconds: Option<f64>,
    pub ending: Option<Ending>,
    /// `None` while the run is in progress.
    pub verdict: Option<Verdict>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    /// `None` of an external harness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// The result lines, the last of each key.
    pub results: Vec<(String, String)>,
    /// The lines about workloads: `key=value` pairs, separated by blanks.
    pub workloads: Vec<String>,
    /// What was timed beside the problem's peers. Empty unless the run was asked for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<MeasuredPeer>,
    /// Bytes of run.log, which also holds what is not recorded: compiler diagnostics and other
    /// output.
    pub log_bytes: u64,
    /// `None` if no keep was asked for, and of an external harness.
    pub held_out: Option<HeldOut>,
    /// What a command of `lab auto` said of a run that was left to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    pub decision: Option<Decision>,
    /// Decisions that were undone, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<Decision>,
}

/// Whether a path of a record lies below the root of the work tree.
pub fn is_inside(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
}

impl Record {
    /// The record of a run that has just begun.
    pub fn begun(start: RunStart, inputs: Vec<InputFile>, command: String) -> Self {
        Record {
            version: VERSION,
            lab: env!("CARGO_PKG_VERSION").to_owned(),
            origin: Origin::Own,
            start,
            token_fingerprint: None,
            inputs,
            clean_tree: None,
            command,
            target: None,
            ended: None,
            seconds: None,
            ending: None,
            verdict: None,
            device: None,
            sandbox: None,
            results: Vec::new(),
            workloads: Vec::new(),
            peers: Vec::new(),
            log_bytes: 0,
            held_out: None,
            draft: None,
            decision: None,
            undone: Vec::new(),
        }
    }

    /// The report, from the recorded lines. Diagnostics are in run.log only.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        for (key, value) in &self.results {
            report.push(key, value);
        }
        for row in &self.workloads {
            report.push("workload", row);
        }
        for text in self.verdict.iter().flat_map(|v| &v.caveats) {
            report.push("caveat", text);
        }
        report
    }

    /// What was measured on sealed inputs before the run was kept; `None` of any other run.
    pub fn sealed(&self) -> Option<&SealedFigures> {
        let is_kept = self
            .decision
            .as_ref()
            .is_some_and(|decision| decision.status == Status::Keep);
        self.held_out
            .as_ref()
            .filter(|_| is_kept)?
            .measured
            .as_ref()
    }

    /// The objective that stands for this run: of a kept one the sealed figure, else the run's own.
    pub fn objective(&self) -> Option<Measure> {
        let own = || self.verdict.as_ref().and_then(|verdict| verdict.objective);
        self.sealed().map(|sealed| sealed.objective).or_else(own)
    }

    /// Whether this user's lab did not write the record.
    pub fn is_foreign(&self) -> bool {
        self.origin != Origin::Own
    }

    /// Measured on an emulated device.
    pub fn emulated(&self) -> bool {
        self.verdict.as_ref().is_some_and(|v| v.emulated)
    }
}
