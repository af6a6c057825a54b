//! What the rules look at, as plain data.

use super::{Newer, NotAllowed};
use crate::rules::Rules;
use lab_git::{Obstacle, short};
use lab_run::experiment::Status;
use lab_run::inputs::{self, OutsideInclude};
use lab_run::record::{InputFile, Origin, Record};
use lab_run::verdict::Outcome;
use lab_run::{Fingerprint, RunId};

/// Everything that the rules look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Repository-relative path of the kernel that is worked on.
    pub kernel: String,
    /// What a command needs after its name to mean this kernel, with a blank before it; may be
    /// empty.
    pub argument: String,
    /// The harness is a command of the user's: it has no held-out case.
    pub external: bool,
    /// Git blob id of the kernel in HEAD; `None` if HEAD does not hold the kernel.
    pub incumbent: Option<String>,
    /// The inputs on disk; the error says why the kernel cannot be read.
    pub present: Result<Present, String>,
    /// Why git cannot make a commit now, whatever the bytes are.
    pub obstacle: Option<Obstacle>,
    /// The run that a decision would be about; `None` if no run of this kernel exists.
    pub candidate: Option<Candidate>,
    /// A run of the screen that asks. Runs of other processes do not count: they may judge other
    /// bytes.
    pub running: Option<RunInProgress>,
    /// The screen that asks has a decision in progress.
    pub deciding: bool,
    /// The newest decision about this kernel.
    pub last_decision: Option<LastDecision>,
    /// The keeps of the bytes that HEAD holds, the newest first.
    pub kept: Vec<Kept>,
    /// The run of the last decision, if its record is damaged or gone.
    pub damaged: Option<RunId>,
}

impl Snapshot {
    /// Whether the screen that asks neither judges nor decides. Until then nothing is decided.
    pub fn idle(&self) -> Result<(), NotAllowed> {
        if self.deciding {
            return Err(NotAllowed::DecisionInProgress);
        }
        match self.running {
            Some(RunInProgress::Starting) => Err(NotAllowed::RunStarting),
            Some(RunInProgress::Started(run)) => Err(NotAllowed::RunInProgress(run)),
            None => Ok(()),
        }
    }

    /// Replaces the inputs by newer knowledge of them: a fingerprint, or why the kernel cannot be
    /// read. What else is known of the inputs stays if the fingerprint is the same.
    pub fn set_present(&mut self, present: Result<Fingerprint, String>) {
        match (&self.present, present) {
            (Ok(known), Ok(fingerprint)) if known.fingerprint == fingerprint => {}
            (_, present) => self.present = present.map(Present::from),
        }
    }
}

/// A keep of the bytes that HEAD holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub run: RunId,
    /// Full id.
    pub commit: String,
    pub fingerprint: Fingerprint,
    /// Device name as the harness gave it.
    pub device: Option<String>,
}

/// The inputs as they are on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Present {
    pub fingerprint: Fingerprint,
    /// Git blob id of the kernel's bytes; `None` if it is not known.
    pub blob: Option<String>,
    /// Every input with its hash, the kernel first; empty if only the fingerprint is known.
    pub files: Vec<InputFile>,
    /// Local includes whose bytes are not those in HEAD. A commit of the kernel alone would not
    /// hold them.
    pub uncommitted_includes: Vec<String>,
    /// Includes that no commit can hold.
    pub outside: Vec<OutsideInclude>,
    /// How the rules compare with those in HEAD.
    pub rules: Rules,
    /// Sealed runs that a keep of these inputs has to pass: more than one after a failed check.
    pub sealed_runs: u32,
    /// The rule keeps the kernel if it is as fast as the incumbent
    /// ([`keeps_at_same`](crate::keeps_at_same)).
    pub keeps_at_same: bool,
}

impl From<Fingerprint> for Present {
    /// Inputs of which only the fingerprint is known.
    fn from(fingerprint: Fingerprint) -> Self {
        Present {
            fingerprint,
            blob: None,
            files: Vec::new(),
            uncommitted_includes: Vec::new(),
            outside: Vec::new(),
            rules: Rules::default(),
            sealed_runs: 1,
            keeps_at_same: false,
        }
    }
}

/// What the rules need of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub id: RunId,
    /// Repository-relative path of the kernel that the run judged.
    pub kernel: String,
    /// The run was a `lab check`, which gives no verdict.
    pub is_check: bool,
    /// This user's lab did not write the record.
    pub is_foreign: bool,
    pub fingerprint: Fingerprint,
    /// Git blob id of the judged kernel.
    pub blob: String,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    /// Every input with its hash, the kernel first.
    pub inputs: Vec<InputFile>,
    /// `None` while the run is in progress.
    pub outcome: Option<Outcome>,
    /// The verdict's word, which also tells a failed build from a crash; empty while the run is in
    /// progress.
    pub word: &'static str,
    /// Why a passing run has no objective.
    pub unmeasured: Option<String>,
    /// The decision about this run, if a commit holds it.
    pub decided: Option<Status>,
    /// The outcome of the held-out check, and why it failed; `None` if the run was not checked.
    pub held_out: Option<(Outcome, String)>,
    /// Sealed runs that the held-out check passed.
    pub sealed_runs: u32,
}

impl From<&Record> for Candidate {
    fn from(record: &Record) -> Self {
        let verdict = record.verdict.as_ref();
        Candidate {
            id: record.start.id,
            kernel: record.start.kernel.clone(),
            is_check: record.start.is_check(),
            is_foreign: record.origin != Origin::Own,
            fingerprint: record.start.fingerprint.clone(),
            blob: record.start.blob.clone(),
            device: record.device.clone(),
            inputs: record.inputs.clone(),
            outcome: verdict.map(|v| v.outcome),
            word: verdict.map_or("", |v| v.word()),
            unmeasured: verdict.and_then(lab_run::verdict::Verdict::unmeasured),
            decided: record
                .decision
                .as_ref()
                .filter(|d| d.commit.is_some())
                .map(|d| d.status),
            held_out: record.held_out.as_ref().map(|h| (h.outcome, h.why.clone())),
            sealed_runs: record.held_out.as_ref().map_or(0, |h| h.sealed_runs),
        }
    }
}

impl Candidate {
    /// The run has a verdict about its bytes, and no decision.
    pub fn is_undecided(&self) -> bool {
        self.outcome.is_some_and(Outcome::is_verdict) && self.decided.is_none()
    }

    /// Why this run cannot be decided, whatever its verdict.
    pub(super) fn decidable(&self, snapshot: &Snapshot) -> Result<(), NotAllowed> {
        if self.is_check {
            return Err(NotAllowed::Check(self.id));
        }
        if self.kernel != snapshot.kernel {
            let (judged, kernel) = (self.kernel.clone(), snapshot.kernel.clone());
            return Err(NotAllowed::OtherKernel {
                run: self.id,
                judged,
                kernel,
            });
        }
        // If the run was decided, the reason names the decision and who made it.
        if self.is_foreign && self.decided.is_none() {
            return Err(NotAllowed::Foreign {
                run: self.id,
                argument: snapshot.argument.clone(),
            });
        }
        Ok(())
    }

    /// Whether a keep of this run would repeat one: the same inputs on the same device, and HEAD
    /// holds the bytes. A keep on another device, or by other rules, brings a figure of its own.
    pub(super) fn repeats(&self, kept: &Kept, snapshot: &Snapshot) -> bool {
        kept.run != self.id
            && snapshot.incumbent.as_ref() == Some(&self.blob)
            && kept.fingerprint == self.fingerprint
            && kept.device == self.device
    }

    /// What is newer than the verdict, if anything is.
    pub(super) fn newer(&self, present: &Result<Present, String>) -> Option<Newer> {
        match present {
            Err(why) => Some(Newer::Unreadable(why.clone())),
            Ok(present) if present.fingerprint == self.fingerprint => None,
            Ok(present) if present.files.is_empty() => {
                Some(Newer::Changed(vec![self.kernel.clone()]))
            }
            Ok(present) => Some(Newer::Changed(inputs::differences(
                &self.inputs,
                &present.files,
            ))),
        }
    }
}

/// A run that the asking screen started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunInProgress {
    /// It was asked for, and has no number yet.
    Starting,
    Started(RunId),
}

/// The newest decision about the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LastDecision {
    pub run: RunId,
    pub status: Status,
    pub description: String,
    /// Full id of the commit that holds the judged bytes.
    pub commit: String,
    /// Whether a keep made that commit; `None` of a discard.
    pub made: Option<bool>,
    /// This user's lab did not write the record.
    pub is_foreign: bool,
    pub later_work: LaterWork,
}

impl LastDecision {
    /// `run 7 (a1b2c3d, 'two rows a warp')`.
    pub fn subject(&self) -> String {
        format!(
            "run {} ({}, '{}')",
            self.run,
            short(&self.commit),
            self.description
        )
    }
}

/// What was built on a kept commit, so that it cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaterWork {
    /// Nobody looked. The undo itself looks, before it changes anything.
    Unknown,
    None,
    /// In words: which commit or branch.
    Found(String),
}
