//! What lists and searches need of a run: its record without the measures.

use jiff::Timestamp;
use lab_project::Project;
use lab_protocol::report::{JudgedWorkloads, Measure};
use lab_run::chosen::Chosen;
use lab_run::experiment::{Measured, Status};
use lab_run::peers::PeerFigure;
use lab_run::record::{Decision, Origin, SealedFigures};
use lab_run::verdict::{Change, Outcome, Verdict};
use lab_run::{Ending, Fingerprint, KernelBlob, Reason, RunId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

/// A record without its measures. Its fields have the record's names, so that a record file reads
/// as a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: RunId,
    pub reason: Reason,
    /// Who wrote the record. Lists believe an index that says so; a decision reads the record
    /// itself.
    #[serde(default)]
    pub origin: Origin,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Git blob id of the judged bytes, hex.
    pub blob: String,
    pub fingerprint: Fingerprint,
    /// The fingerprint with the kernel's tokens in place of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_fingerprint: Option<Fingerprint>,
    pub ending: Option<Ending>,
    /// `None` while the run is in progress.
    pub verdict: Option<VerdictSummary>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    /// The device that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    pub decision: Option<Decision>,
    /// The result of the held-out check; `None` if the run was not checked.
    pub held_out: Option<Box<HeldOutSummary>>,
    /// What was timed beside the problem's peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerFigure>,
}

/// What the rules and lists need of a held-out check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutSummary {
    pub checked: Timestamp,
    pub outcome: Outcome,
    pub sealed_runs: u32,
    pub measured: Option<SealedFigures>,
    pub tokens: Option<String>,
}

/// What a list shows of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    pub outcome: Outcome,
    /// The build did not succeed: the outcome is a crash, and nothing ran.
    #[serde(default)]
    pub build_failed: bool,
    pub emulated: bool,
    pub objective: Option<Measure>,
    /// The figure that problem.toml chose instead.
    pub chosen: Option<Chosen>,
    pub change: Option<Change>,
    /// Whether the verdict has caveats.
    #[serde(rename = "caveats", deserialize_with = "any")]
    pub caveated: bool,
    /// How many of the problem's workloads were judged.
    pub judged: Option<JudgedWorkloads>,
}

/// Reads a verdict's list of caveats, or what an index says of it: whether there are any.
fn any<'de, D: Deserializer<'de>>(caveats: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Caveats {
        Any(bool),
        All(Vec<IgnoredAny>),
    }
    Ok(match Caveats::deserialize(caveats)? {
        Caveats::Any(any) => any,
        Caveats::All(all) => !all.is_empty(),
    })
}

impl VerdictSummary {
    pub fn measured(&self) -> Measured {
        Measured {
            objective: self.objective,
            change: self.change,
            caveated: self.caveated,
            part: self.judged.and_then(JudgedWorkloads::part),
            chosen: self.chosen,
            blob: None,
        }
    }
}

impl From<&Verdict> for VerdictSummary {
    fn from(verdict: &Verdict) -> Self {
        let Measured {
            objective,
            change,
            caveated,
            chosen,
            part: _,
            blob: _,
        } = verdict.into();
        VerdictSummary {
            outcome: verdict.outcome,
            build_failed: verdict.build_failed,
            emulated: verdict.emulated,
            objective,
            chosen,
            change,
            caveated,
            judged: verdict.judged,
        }
    }
}

impl RunSummary {
    /// Whether neither this user's lab nor that of a listed key wrote the record.
    pub fn is_foreign(&self) -> bool {
        self.origin == Origin::Foreign
    }

    pub fn is_check(&self) -> bool {
        self.reason == Reason::Check
    }

    /// `None` while the run is in progress.
    pub fn outcome(&self) -> Option<Outcome> {
        self.verdict.map(|v| v.outcome)
    }

    /// Whether the run was on an emulated device.
    pub fn emulated(&self) -> bool {
        self.verdict.is_some_and(|v| v.emulated)
    }

    /// The figures that stand for the run: of a kept one those on sealed inputs.
    pub fn measured(&self) -> Measured {
        let own = self
            .verdict
            .map(|verdict| verdict.measured())
            .unwrap_or_default();
        let own = Measured {
            blob: KernelBlob::of(&self.blob),
            ..own
        };
        let is_kept = self
            .decision
            .as_ref()
            .is_some_and(|decision| decision.status == Status::Keep);
        match self
            .held_out
            .as_ref()
            .filter(|_| is_kept)
            .and_then(|held_out| held_out.measured)
        {
            Some(sealed) => Measured {
                objective: Some(sealed.objective),
                chosen: sealed.chosen.or(own.chosen),
                change: sealed.change.or(own.change),
                ..own
            },
            None => own,
        }
    }

    /// Whether the run judged this project's kernel. A check judges nothing.
    pub fn judges(&self, project: &Project) -> bool {
        self.kernel == project.kernel_name && !self.is_check()
    }
}
