//! What the state is made of: the project, the runs that the screen saw, the decision that goes on.

use super::super::text::printable;
use super::Now;
use lab_core::config::Goal;
use lab_core::objective::Objective;
use lab_core::project::Project;
use lab_core::run::experiment::Status as Decision;
use lab_core::run::record::{self, Record};
use lab_core::run::verdict::Verdict;
use lab_core::run::{Reason, RunStart};
use lab_protocol::report::Report;
use std::sync::Arc;

/// What the screen knows of its project.
#[derive(Clone, Debug)]
pub struct Setup {
    pub name: String,
    pub kernel: String,
    pub objective: Objective,
    pub goal: Goal,
    /// The user's own harness command.
    pub external: Option<String>,
    /// It asks for decisions by rule.
    pub auto: bool,
}

impl Setup {
    pub fn of(project: &Project) -> Self {
        Setup {
            name: printable(&project.name()).into_owned(),
            kernel: project.kernel_name.clone(),
            objective: project.config.objective.clone(),
            goal: project.config.goal,
            external: project.config.harness.clone(),
            auto: project.config.auto.decide,
        }
    }

    /// The kernel's file without its folder, as sentences name it.
    pub fn file(&self) -> String {
        printable(self.kernel.rsplit('/').next().unwrap_or(&self.kernel)).into_owned()
    }
}

/// A run that has ended, with what its lines said.
#[derive(Clone, Debug)]
pub struct Judged {
    pub start: RunStart,
    pub verdict: Verdict,
    pub report: Arc<Report>,
    pub seconds: Option<f64>,
    /// What is remembered of it.
    pub(super) record: Arc<Record>,
    /// Its name as the history has it.
    pub(super) device: Option<String>,
    pub decided: Option<Decision>,
}

impl Judged {
    /// `None` while the run goes on.
    pub(super) fn of(record: Record, report: Arc<Report>) -> Option<Self> {
        let verdict = record.verdict.clone()?;
        let kept = Arc::new(record.clone());
        Some(Judged {
            verdict,
            record: kept,
            report,
            seconds: record.seconds,
            device: record.device,
            decided: decision(record.decision.as_ref()),
            start: record.start,
        })
    }
}

/// A decision counts once its commit is made.
pub(super) fn decision(decision: Option<&record::Decision>) -> Option<Decision> {
    decision.filter(|d| d.commit.is_some()).map(|d| d.status)
}

/// The run that goes on.
#[derive(Clone, Debug)]
pub struct Live {
    pub start: Box<RunStart>,
    pub began: Now,
    pub report: Arc<Report>,
}

#[derive(Clone, Debug, Default)]
pub enum Running {
    #[default]
    No,
    /// Asked for; its number is not known yet.
    Asked(Reason, Now),
    Live(Live),
}

/// A decision that is being carried out: no other is taken meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deciding {
    Keep,
    Discard,
    /// The last decision is taken back.
    Undo,
    /// No decision, but bytes are put on disk as well.
    Restore,
    /// No decision either, but its record and its row are written.
    Describe,
}

/// Bytes that the lab put on disk itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PutBack {
    /// By a discard.
    Incumbent,
    /// By a restore: their git blob id.
    Blob(String),
}

/// The check on what was held out, before a keep.
#[derive(Clone, Debug)]
pub struct Checking {
    pub began: Now,
    pub report: Arc<Report>,
}
