//! The rules of keep, discard and undo: one pure function over plain data.
//!
//! [`allowed`] reads no disk, no git and no clock. The status line, the keys, the commands and the commit itself build a
//! [`Snapshot`] and ask it, so they cannot disagree. [`super::snapshot()`] builds one from disk. The screen builds one
//! from its last status and from what it knows better: the watched bytes, its own run, its own decision.

use crate::inputs;
use crate::repo::{Obstacle, short};
use crate::run::experiment::Status;
use crate::run::record::{InputFile, Record};
use crate::run::verdict::Outcome;
use crate::run::{Fingerprint, RunId};
use std::fmt;

/// Everything that the rules look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Repository-relative path of the kernel that is worked on.
    pub kernel: String,
    /// What a command needs after its name to mean this kernel, with a blank before it; may be empty.
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
    /// A run of the screen that asks. Runs of other processes do not count: they may judge other bytes.
    pub running: Option<RunInProgress>,
    /// The screen that asks has a decision in progress.
    pub deciding: bool,
    /// The newest decision about this kernel.
    pub last_decision: Option<LastDecision>,
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

    /// Replaces the inputs by newer knowledge of them: a fingerprint, or why the kernel cannot be read. What else is known
    /// of the inputs stays if the fingerprint is the same.
    pub fn set_present(&mut self, present: Result<Fingerprint, String>) {
        match (&self.present, present) {
            (Ok(known), Ok(fingerprint)) if known.fingerprint == fingerprint => {}
            (_, present) => self.present = present.map(Present::from),
        }
    }
}

/// The inputs as they are on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Present {
    pub fingerprint: Fingerprint,
    /// Git blob id of the kernel's bytes; `None` if it is not known.
    pub blob: Option<String>,
    /// Every input with its hash, the kernel first; empty if only the fingerprint is known.
    pub files: Vec<InputFile>,
    /// Local includes whose bytes are not those in HEAD. A commit of the kernel alone would not hold them.
    pub uncommitted_includes: Vec<String>,
}

impl From<Fingerprint> for Present {
    /// Inputs of which only the fingerprint is known.
    fn from(fingerprint: Fingerprint) -> Self {
        Present { fingerprint, blob: None, files: Vec::new(), uncommitted_includes: Vec::new() }
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
    pub fingerprint: Fingerprint,
    /// Git blob id of the judged kernel.
    pub blob: String,
    /// Every input with its hash, the kernel first.
    pub inputs: Vec<InputFile>,
    /// `None` while the run is in progress.
    pub outcome: Option<Outcome>,
    /// The verdict's word, which also tells a failed build from a crash; empty while the run is in progress.
    pub word: &'static str,
    /// Why a passing run has no objective.
    pub unmeasured: Option<String>,
    /// The decision about this run, if a commit holds it.
    pub decided: Option<Status>,
    /// What the held-out check came to, and why it failed; `None` if the run was not checked.
    pub held_out: Option<(Outcome, String)>,
}

impl From<&Record> for Candidate {
    fn from(record: &Record) -> Self {
        let verdict = record.verdict.as_ref();
        Candidate {
            id: record.start.id,
            kernel: record.start.kernel.clone(),
            is_check: record.start.is_check(),
            fingerprint: record.start.fingerprint.clone(),
            blob: record.start.blob.clone(),
            inputs: record.inputs.clone(),
            outcome: verdict.map(|v| v.outcome),
            word: verdict.map_or("", |v| v.word()),
            unmeasured: verdict.and_then(|v| v.unmeasured()),
            decided: record.decision.as_ref().filter(|d| d.commit.is_some()).map(|d| d.status),
            held_out: record.held_out.as_ref().map(|h| (h.outcome, h.why.clone())),
        }
    }
}

impl Candidate {
    /// The run has a verdict about its bytes, and no decision.
    pub fn is_undecided(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome != Outcome::Void) && self.decided.is_none()
    }

    /// Why this run is none that could be decided, whatever its verdict.
    fn decidable(&self, snapshot: &Snapshot) -> Result<(), NotAllowed> {
        if self.is_check {
            return Err(NotAllowed::Check(self.id));
        }
        if self.kernel != snapshot.kernel {
            let (judged, kernel) = (self.kernel.clone(), snapshot.kernel.clone());
            return Err(NotAllowed::OtherKernel { run: self.id, judged, kernel });
        }
        Ok(())
    }

    /// What is newer than the verdict, if anything is.
    fn newer(&self, present: &Result<Present, String>) -> Option<Newer> {
        match present {
            Err(why) => Some(Newer::Unreadable(why.clone())),
            Ok(present) if present.fingerprint == self.fingerprint => None,
            Ok(present) if present.files.is_empty() => Some(Newer::Changed(vec![self.kernel.clone()])),
            Ok(present) => Some(Newer::Changed(inputs::differences(&self.inputs, &present.files))),
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
    /// Whether a keep made that commit; `None` of a discard, and of a keep by an older lab.
    pub made: Option<bool>,
    pub later_work: LaterWork,
}

impl LastDecision {
    /// `run 7 (a1b2c3d, 'two rows a warp')`.
    pub fn subject(&self) -> String {
        format!("run {} ({}, '{}')", self.run, short(&self.commit), self.description)
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

/// What may be done now; each error says why not, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowed {
    pub keep: Result<Keep, NotAllowed>,
    pub discard: Result<Discard, NotAllowed>,
    pub undo: Result<(), NotAllowed>,
}

/// How a keep goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The run must pass the held-out check first.
    CheckHeldOut,
    /// The run passed the held-out check, or its harness has none: commit.
    Commit,
}

/// What a discard would do.
#[derive(Clone, Debug, PartialEq)]
pub enum Discard {
    /// Discards this run: its bytes are the present ones. Needs no question.
    Run(RunId),
    /// Discards this run and also removes newer bytes, after saving them. Ask first.
    AlsoNewer(RunId, Newer),
    /// Removes bytes without a verdict, after saving them, and writes no row. Ask first.
    Unjudged {
        /// A run of these bytes that has no verdict yet.
        running: Option<RunId>,
        /// The kernel on disk cannot be read.
        unreadable: bool,
    },
}

impl Discard {
    /// Whether the user must confirm the discard.
    pub fn asks(&self) -> bool {
        !matches!(self, Discard::Run(_))
    }

    /// What to tell the user of a command before the discard; `None` if no question is needed.
    pub fn question(&self, kernel: &str, argument: &str) -> Option<String> {
        match self {
            Discard::Run(_) => None,
            Discard::AlsoNewer(run, newer) => Some(format!(
                "{}: `lab discard{argument} -m TEXT --unjudged` discards run {run} all the same, and saves the \
                 present bytes",
                newer.since(*run)
            )),
            Discard::Unjudged { running, .. } => {
                let running = running.map(|id| format!(" (run {id} is in progress)")).unwrap_or_default();
                Some(format!(
                    "no verdict belongs to the present bytes of {kernel}{running}: `lab discard{argument} -m TEXT \
                     --unjudged` saves them and puts the incumbent back all the same, without a row"
                ))
            }
        }
    }
}

/// How the files on disk differ from the judged ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Newer {
    /// These files changed after the verdict.
    Changed(Vec<String>),
    /// The kernel cannot be read; the text says why, and what to do.
    Unreadable(String),
}

impl Newer {
    fn since(&self, run: RunId) -> String {
        match self {
            Newer::Changed(files) => format!("{} changed after the verdict of run {run}", files.join(", ")),
            Newer::Unreadable(why) => why.clone(),
        }
    }
}

/// Why an action is not allowed now. `Display` says what to do; [`NotAllowed::hint`] is a few words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotAllowed {
    #[error("a decision is in progress: wait until it is done")]
    DecisionInProgress,
    #[error("a run is starting: wait for its verdict")]
    RunStarting,
    #[error("run {0} is in progress: wait for its verdict")]
    RunInProgress(RunId),
    #[error("no run yet: `lab run{argument}` first")]
    NoRun { argument: String },
    #[error("run {0} was a check: a check gives no verdict that could be decided")]
    Check(RunId),
    #[error("run {run} judged {judged}, not {kernel}: name that kernel")]
    OtherKernel { run: RunId, judged: String, kernel: String },
    #[error("needs a passing verdict: run {run} came to {word}")]
    NoPass { run: RunId, word: &'static str },
    /// The text names the kernel, and says what to do.
    #[error("{why}")]
    Unreadable { kernel: String, why: String },
    #[error("{} changed after the verdict of run {run}: judge them first (`lab run{argument}`)", files.join(", "))]
    Changed { run: RunId, files: Vec<String>, argument: String },
    #[error("run {run} was decided already ({}): save a change first", status.word())]
    Decided { run: RunId, status: Status },
    #[error("keep refused: {why}: save a change first")]
    HeldOut { why: String },
    #[error("{why}: let the harness print it, then `lab run{argument}`")]
    Unmeasured { why: String, argument: String },
    #[error(
        "{include} is not as in HEAD, and an experiment changes {kernel} alone: commit it yourself first, or put its \
         text into the kernel"
    )]
    UncommittedInclude { include: String, kernel: String },
    #[error("{0}")]
    Git(Obstacle),
    #[error(
        "HEAD does not hold {kernel}, so there is nothing to put back: keep it first, or delete it yourself"
    )]
    NoIncumbent { kernel: String },
    #[error("{kernel} is the incumbent's: there is nothing to discard")]
    IncumbentOnDisk { kernel: String },
    #[error("run {run} judged the incumbent's own bytes: there is nothing to discard")]
    IncumbentJudged { run: RunId },
    #[error("nothing was decided about {kernel} yet")]
    NothingDecided { kernel: String },
    #[error("{subject} cannot be undone: {work}")]
    LaterWork { subject: String, work: String },
    #[error(
        "an older lab kept {subject}, and did not note whether it made the commit: `git reset --soft HEAD^` takes a \
         commit back by hand"
    )]
    OlderLab { subject: String },
}

impl NotAllowed {
    /// A few words, for a line of key hints.
    pub fn hint(&self) -> Hint<'_> {
        Hint(self)
    }
}

/// A refusal in a few words.
pub struct Hint<'a>(&'a NotAllowed);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        match self.0 {
            NotAllowed::DecisionInProgress => f.write_str("a decision is in progress"),
            NotAllowed::RunStarting => f.write_str("a run is starting"),
            NotAllowed::RunInProgress(run) => write!(f, "run {run} in progress"),
            NotAllowed::NoRun { .. } => f.write_str("needs a verdict"),
            NotAllowed::Check(run) => write!(f, "run {run} was a check"),
            NotAllowed::OtherKernel { run, .. } => write!(f, "run {run} judged another kernel"),
            NotAllowed::NoPass { .. } => f.write_str("needs a passing verdict"),
            NotAllowed::Unreadable { kernel, .. } => write!(f, "{} cannot be read", file(kernel)),
            NotAllowed::Changed { files, .. } => match files.as_slice() {
                [only] => write!(f, "{} is newer than the verdict", file(only)),
                several => write!(f, "{} files are newer than the verdict", several.len()),
            },
            NotAllowed::Decided { status: Status::Keep, .. } => f.write_str("kept already"),
            NotAllowed::Decided { .. } => f.write_str("discarded already"),
            NotAllowed::HeldOut { .. } => f.write_str("failed the held-out check"),
            NotAllowed::Unmeasured { .. } => f.write_str("the run measured nothing"),
            NotAllowed::UncommittedInclude { include, .. } => {
                write!(f, "{} is not committed", file(include))
            }
            NotAllowed::Git(obstacle) => obstacle.hint().fmt(f),
            NotAllowed::NoIncumbent { kernel } => write!(f, "HEAD does not hold {}", file(kernel)),
            NotAllowed::IncumbentOnDisk { .. } | NotAllowed::IncumbentJudged { .. } => {
                f.write_str("the incumbent's own bytes")
            }
            NotAllowed::NothingDecided { .. } => f.write_str("nothing was decided yet"),
            NotAllowed::LaterWork { work, .. } => f.write_str(work),
            NotAllowed::OlderLab { .. } => f.write_str("an older lab made the keep"),
        }
    }
}

/// Says which of keep, discard and undo may be done now.
///
/// ```
/// use lab_core::decide::policy::{NotAllowed, Snapshot, allowed};
///
/// let nothing_judged = Snapshot {
///     kernel: "kernel.cu".into(),
///     argument: String::new(),
///     external: false,
///     incumbent: None,
///     present: Err("kernel.cu is empty: nothing to judge".into()),
///     obstacle: None,
///     candidate: None,
///     running: None,
///     deciding: false,
///     last_decision: None,
/// };
/// let keep = allowed(&nothing_judged).keep.unwrap_err();
/// assert_eq!(keep, NotAllowed::NoRun { argument: String::new() });
/// assert_eq!(keep.to_string(), "no run yet: `lab run` first");
/// ```
pub fn allowed(snapshot: &Snapshot) -> Allowed {
    Allowed { keep: keep(snapshot), discard: discard(snapshot), undo: undo(snapshot) }
}

fn keep(snapshot: &Snapshot) -> Result<Keep, NotAllowed> {
    snapshot.idle()?;
    let argument = || snapshot.argument.clone();
    let Some(run) = &snapshot.candidate else { return Err(NotAllowed::NoRun { argument: argument() }) };
    run.decidable(snapshot)?;
    let no_pass = NotAllowed::NoPass { run: run.id, word: run.word };
    match run.outcome {
        None => return Err(NotAllowed::RunInProgress(run.id)),
        Some(Outcome::Void) => return Err(no_pass),
        Some(Outcome::Pass | Outcome::Fail | Outcome::Crash) => {}
    }
    // The rules below are about the judged bytes. Newer bytes come first: nothing below is about them.
    match run.newer(&snapshot.present) {
        None => {}
        Some(Newer::Changed(files)) => {
            return Err(NotAllowed::Changed { run: run.id, files, argument: argument() });
        }
        Some(Newer::Unreadable(why)) => {
            return Err(NotAllowed::Unreadable { kernel: snapshot.kernel.clone(), why });
        }
    }
    if let Some(status) = run.decided {
        return Err(NotAllowed::Decided { run: run.id, status });
    }
    if run.outcome != Some(Outcome::Pass) {
        return Err(no_pass);
    }
    // A kernel that failed or crashed there gets no second seed.
    let held_out = run.held_out.as_ref();
    if let Some((_, why)) = held_out.filter(|(outcome, _)| *outcome != Outcome::Pass) {
        return Err(NotAllowed::HeldOut { why: why.clone() });
    }
    if let Some(why) = &run.unmeasured {
        return Err(NotAllowed::Unmeasured { why: why.clone(), argument: argument() });
    }
    let includes = snapshot.present.as_ref().map(|p| p.uncommitted_includes.as_slice()).unwrap_or_default();
    if let Some(include) = includes.first() {
        let (include, kernel) = (include.clone(), snapshot.kernel.clone());
        return Err(NotAllowed::UncommittedInclude { include, kernel });
    }
    if let Some(obstacle) = &snapshot.obstacle {
        return Err(NotAllowed::Git(obstacle.clone()));
    }
    Ok(if snapshot.external || held_out.is_some() { Keep::Commit } else { Keep::CheckHeldOut })
}

fn discard(snapshot: &Snapshot) -> Result<Discard, NotAllowed> {
    snapshot.idle()?;
    let kernel = || snapshot.kernel.clone();
    let candidate = snapshot.candidate.as_ref();
    candidate.map_or(Ok(()), |run| run.decidable(snapshot))?;
    let Some(incumbent) = &snapshot.incumbent else {
        return Err(NotAllowed::NoIncumbent { kernel: kernel() });
    };
    let Some(run) = candidate.filter(|run| run.is_undecided()) else {
        let blob = snapshot.present.as_ref().ok().and_then(|present| present.blob.as_ref());
        if blob == Some(incumbent) {
            return Err(NotAllowed::IncumbentOnDisk { kernel: kernel() });
        }
        let running = candidate.filter(|run| run.outcome.is_none()).map(|run| run.id);
        return Ok(Discard::Unjudged { running, unreadable: snapshot.present.is_err() });
    };
    if run.blob == *incumbent {
        return Err(NotAllowed::IncumbentJudged { run: run.id });
    }
    Ok(match run.newer(&snapshot.present) {
        None => Discard::Run(run.id),
        Some(newer) => Discard::AlsoNewer(run.id, newer),
    })
}

fn undo(snapshot: &Snapshot) -> Result<(), NotAllowed> {
    snapshot.idle()?;
    let Some(last) = &snapshot.last_decision else {
        return Err(NotAllowed::NothingDecided { kernel: snapshot.kernel.clone() });
    };
    if let Some(obstacle) = &snapshot.obstacle {
        return Err(NotAllowed::Git(obstacle.clone()));
    }
    match (last.status, last.made) {
        (Status::Keep, None) => Err(NotAllowed::OlderLab { subject: last.subject() }),
        (Status::Keep, Some(true)) => match &last.later_work {
            LaterWork::Found(work) => {
                Err(NotAllowed::LaterWork { subject: last.subject(), work: work.clone() })
            }
            LaterWork::Unknown | LaterWork::None => Ok(()),
        },
        (Status::Keep, Some(false)) | (Status::Discard | Status::Crash, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
