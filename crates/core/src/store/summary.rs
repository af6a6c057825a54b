//! What lists and searches need of a run: its record without the measures.

use crate::project::Project;
use crate::run::experiment::Measured;
use crate::run::record::Decision;
use crate::run::verdict::{Change, Outcome, Verdict};
use crate::run::{Ending, Fingerprint, Reason, RunId};
use lab_protocol::report::Measure;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

/// A record without its measures. Its fields have the record's names, so that a record file reads as a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: RunId,
    pub reason: Reason,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Git blob id of the judged bytes, hex.
    pub blob: String,
    pub fingerprint: Fingerprint,
    pub ending: Option<Ending>,
    /// `None` while the run is in progress.
    pub verdict: Option<VerdictSummary>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    pub decision: Option<Decision>,
}

/// What a list shows of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictSummary {
    pub outcome: Outcome,
    pub emulated: bool,
    #[serde(default)]
    pub objective: Option<Measure>,
    #[serde(default)]
    pub change: Option<Change>,
    /// Whether the verdict has caveats.
    #[serde(default, rename = "caveats", deserialize_with = "any")]
    pub caveated: bool,
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
        Measured { objective: self.objective, change: self.change, caveated: self.caveated }
    }
}

impl From<&Verdict> for VerdictSummary {
    fn from(verdict: &Verdict) -> Self {
        let Measured { objective, change, caveated } = verdict.into();
        VerdictSummary { outcome: verdict.outcome, emulated: verdict.emulated, objective, change, caveated }
    }
}

impl RunSummary {
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

    /// Whether the run judged this project's kernel. A check judges nothing.
    pub fn judges(&self, project: &Project) -> bool {
        self.kernel == project.kernel_name && !self.is_check()
    }
}
