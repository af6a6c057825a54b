//! Starts harnesses, one at a time, and tells how they fare. A newer start ends the older run.

use super::project::Project;
use super::record::Record;
use super::run::{Reason, RunId, RunStart};
use super::sanitise::LogLine;
use harness::report::Report;
use std::sync::Arc;

/// What a run tells while it goes on. Comes at most every few milliseconds, however much a
/// harness prints.
#[derive(Clone, Debug)]
pub struct Batch {
    pub lines: Vec<LogLine>,
    /// Lines left out before `lines`: they are in run.log, the screen could not have shown them.
    pub skipped: u64,
    /// Everything the result lines said so far, where this batch changed it.
    pub report: Option<Arc<Report>>,
}

#[derive(Clone, Debug)]
pub enum RunEvent {
    Started(Box<RunStart>),
    Progress(RunId, Batch),
    /// The verdict stands. Also of a run that a newer save ended (`Outcome::Void`).
    Ended(Box<Record>),
    /// No run could start: kernel.cu is missing, the disk is full, … in words.
    NotStarted {
        reason: Reason,
        why: String,
    },
    /// The harness command of lab.toml is not trusted yet.
    NeedsTrust {
        reason: Reason,
        command: String,
    },
}

/// Where events go; called from the runner's thread, may block for a while.
pub type Sink = Arc<dyn Fn(RunEvent) + Send + Sync>;

/// A thread that runs harnesses. Dropping it ends the run that goes on and waits for the thread.
pub struct Runner {
    _private: (),
}

impl Runner {
    pub fn new(project: Arc<Project>, sink: Sink) -> std::io::Result<Runner> {
        let _ = (project, sink);
        Ok(Runner { _private: () })
    }

    /// Judges the present bytes; a run that goes on is ended first. Returns at once.
    pub fn start(&self, reason: Reason) {
        let _ = reason;
    }

    /// Ends the run that goes on, if any. Returns at once; `Ended` follows.
    pub fn kill(&self) {}

    /// Further runs are of this project: lab.toml changed.
    pub fn set_project(&self, project: Arc<Project>) {
        let _ = project;
    }
}
