//! The runner's events.

use crate::follow::Batch;
use lab_project::trust::TrustRequest;
use lab_run::record::Record;
use lab_run::{Reason, RunId, RunStart};
use std::sync::Arc;

/// What happened to a run or to the standby judge. Events of one run come in this order: `Started`,
/// any number of `Progress`, `Ended`. A run that cannot start is one event: `NotStarted` or
/// `NeedsTrust`.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// The run has a number, a folder and a first record. `Ended` follows, whatever fails.
    Started(Box<RunStart>),
    /// Another process judges the same inputs, or has just judged them: that run is followed.
    /// `Ended` comes, or `Left`, or `Started` where that run ended without a verdict.
    Joined(Box<RunStart>),
    /// The run that was joined goes on, and is followed no more.
    Left(RunId),
    /// The run was not needed: a loop of `lab auto` judges its bytes. No other event of it was or
    /// will be sent.
    Withdrawn,
    /// Lines that the harness printed since the last batch.
    Progress(RunId, Batch),
    /// The run has its verdict. A run that a newer save ended has one too: [`Outcome::Void`].
    ///
    /// [`Outcome::Void`]: lab_run::verdict::Outcome::Void
    Ended(Box<Record>),
    /// No run could start (the kernel is missing, the disk is full, …): `why` is a message for the
    /// user.
    NotStarted { reason: Reason, why: String },
    /// No judge could be started ahead, or the one on standby failed: `why` is a message for the
    /// user. Runs go on without one, but each takes longer. Sent once for each reason, between runs
    /// or after `Started`.
    NoStandby { why: String },
    /// The user has not trusted the harness command of lab.toml yet, or kernels that Linux cannot
    /// confine.
    NeedsTrust {
        reason: Reason,
        request: Box<TrustRequest>,
    },
}

/// Receives the runner's events, on the runner's thread. It may block for a while: the harness then
/// waits at its pipe.
pub type Sink = Arc<dyn Fn(RunEvent) + Send + Sync>;
