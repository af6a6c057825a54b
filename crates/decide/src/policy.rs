//! The rules of keep, discard and undo: one pure function over plain data.
//!
//! [`allowed`] reads no disk, no git and no clock. The status line, the keys, the commands and the
//! commit itself build a [`Snapshot`] and ask it, so they cannot disagree. [`super::snapshot()`]
//! builds one from disk. The screen builds one from its last status and from what it knows better:
//! the watched bytes, its own run, its own decision.

mod not_allowed;
mod snapshot;

pub use not_allowed::NotAllowed;
pub use snapshot::{Candidate, Kept, LastDecision, LaterWork, Present, RunInProgress, Snapshot};

use lab_git::short;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::verdict::Outcome;

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
    /// The run must pass the held-out check first, on [`Present::sealed_runs`] sealed runs.
    CheckHeldOut,
    /// The run passed that check, or its harness has none: commit.
    Commit,
}

/// What a discard would do.
#[derive(Clone, Debug, PartialEq)]
pub enum Discard {
    /// Discards this run: its bytes are the present ones. Needs no question.
    Run(RunId),
    /// Discards this run and also removes newer bytes, after saving them. Ask first.
    AlsoNewer(RunId, Newer),
    /// Removes the bytes of a run that was decided already: a restore put them on disk. A commit
    /// holds them, so nothing is saved and no row is written. Needs no question.
    Decided(RunId, Status),
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
        !matches!(self, Discard::Run(_) | Discard::Decided(..))
    }

    /// What to tell the user of a command before the discard; `None` if no question is needed.
    pub fn question(&self, kernel: &str, argument: &str) -> Option<String> {
        match self {
            Discard::Run(_) | Discard::Decided(..) => None,
            Discard::AlsoNewer(run, newer) => Some(format!(
                "{}: `lab discard{argument} -m TEXT --unjudged` discards run {run} all the same, and saves the \
                 present bytes",
                newer.since(*run)
            )),
            Discard::Unjudged { running, .. } => {
                let running = running
                    .map(|id| format!(" (run {id} is in progress)"))
                    .unwrap_or_default();
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
            Newer::Changed(files) => format!(
                "{} changed after the verdict of run {run}",
                files.join(", ")
            ),
            Newer::Unreadable(why) => why.clone(),
        }
    }
}

/// Says which of keep, discard and undo may be done now.
///
/// ```
/// use lab_decide::policy::{NotAllowed, Snapshot, allowed};
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
///     kept: Vec::new(),
///     damaged: None,
/// };
/// let keep = allowed(&nothing_judged).keep.unwrap_err();
/// assert_eq!(keep, NotAllowed::NoRun { argument: String::new() });
/// assert_eq!(keep.to_string(), "no run yet: `lab run` first");
/// ```
pub fn allowed(snapshot: &Snapshot) -> Allowed {
    Allowed {
        keep: keep(snapshot),
        discard: discard(snapshot),
        undo: undo(snapshot),
    }
}

fn keep(snapshot: &Snapshot) -> Result<Keep, NotAllowed> {
    snapshot.idle()?;
    let argument = || snapshot.argument.clone();
    let Some(run) = &snapshot.candidate else {
        return Err(NotAllowed::NoRun {
            argument: argument(),
        });
    };
    run.decidable(snapshot)?;
    let no_pass = NotAllowed::NoPass {
        run: run.id,
        word: run.word,
    };
    match run.outcome {
        None => return Err(NotAllowed::RunInProgress(run.id)),
        Some(Outcome::Void) => return Err(no_pass),
        Some(Outcome::NotJudged) => {
            return Err(NotAllowed::NotJudged {
                kernel: snapshot.kernel.clone(),
                argument: argument(),
            });
        }
        Some(Outcome::Pass | Outcome::Fail | Outcome::Crash) => {}
    }
    // The rules below are about the judged bytes. Newer bytes come first: nothing below is about
    // them.
    match run.newer(&snapshot.present) {
        None => {}
        Some(Newer::Changed(files)) => {
            return Err(NotAllowed::Changed {
                run: run.id,
                files,
                argument: argument(),
            });
        }
        Some(Newer::Unreadable(why)) => {
            return Err(NotAllowed::Unreadable {
                kernel: snapshot.kernel.clone(),
                why,
            });
        }
    }
    if let Some(status) = run.decided {
        return Err(NotAllowed::Decided {
            run: run.id,
            status,
            argument: argument(),
        });
    }
    if run.outcome != Some(Outcome::Pass) {
        return Err(no_pass);
    }
    // A kernel that failed or crashed there gets no second seed.
    let held_out = run.held_out.as_ref();
    if let Some((_, why)) = held_out.filter(|(outcome, _)| *outcome != Outcome::Pass) {
        return Err(NotAllowed::HeldOut { why: why.clone() });
    }
    if let Some(kept) = snapshot
        .kept
        .iter()
        .find(|kept| run.repeats(kept, snapshot))
    {
        return Err(NotAllowed::KeptAlready {
            run: kept.run,
            commit: short(&kept.commit).to_owned(),
        });
    }
    if let Some(why) = &run.unmeasured {
        return Err(NotAllowed::Unmeasured {
            why: why.clone(),
            argument: argument(),
        });
    }
    let present = snapshot.present.as_ref().ok();
    if let Some(changed) = present
        .map(|p| &p.rules.changed)
        .filter(|changed| !changed.is_empty())
    {
        return Err(NotAllowed::Rules {
            changed: changed.clone(),
            argument: argument(),
        });
    }
    if let Some(outside) = present.and_then(|p| p.outside.first()) {
        return Err(NotAllowed::OutsideInclude(outside.clone()));
    }
    if let Some(include) = present.and_then(|p| p.uncommitted_includes.first()) {
        let (include, kernel) = (include.clone(), snapshot.kernel.clone());
        return Err(NotAllowed::UncommittedInclude { include, kernel });
    }
    if let Some(obstacle) = &snapshot.obstacle {
        return Err(NotAllowed::Git(obstacle.clone()));
    }
    let wanted = present.map_or(1, |p| p.sealed_runs);
    let is_checked = held_out.is_some() && run.sealed_runs >= wanted;
    Ok(if snapshot.external || is_checked {
        Keep::Commit
    } else {
        Keep::CheckHeldOut
    })
}

fn discard(snapshot: &Snapshot) -> Result<Discard, NotAllowed> {
    snapshot.idle()?;
    let kernel = || snapshot.kernel.clone();
    let candidate = snapshot.candidate.as_ref();
    candidate.map_or(Ok(()), |run| run.decidable(snapshot))?;
    let Some(incumbent) = &snapshot.incumbent else {
        return Err(NotAllowed::NoIncumbent { kernel: kernel() });
    };
    // A verdict on the incumbent's own bytes says nothing about newer ones.
    let of_others =
        |run: &&Candidate| run.blob != *incumbent || run.newer(&snapshot.present).is_none();
    let Some(run) = candidate.filter(|run| run.is_undecided()).filter(of_others) else {
        let blob = snapshot
            .present
            .as_ref()
            .ok()
            .and_then(|present| present.blob.as_ref());
        if blob == Some(incumbent) {
            return Err(NotAllowed::IncumbentOnDisk { kernel: kernel() });
        }
        if let Some(run) = candidate
            && let Some(status) = run.decided
            && run.newer(&snapshot.present).is_none()
        {
            if run.blob == *incumbent {
                return Err(NotAllowed::IncumbentOnDisk { kernel: kernel() });
            }
            return Ok(Discard::Decided(run.id, status));
        }
        let running = candidate
            .filter(|run| run.outcome.is_none())
            .map(|run| run.id);
        return Ok(Discard::Unjudged {
            running,
            unreadable: snapshot.present.is_err(),
        });
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
    if let Some(run) = snapshot.damaged {
        return Err(NotAllowed::Damaged { run });
    }
    let Some(last) = &snapshot.last_decision else {
        return Err(NotAllowed::NothingDecided {
            kernel: snapshot.kernel.clone(),
        });
    };
    if last.is_foreign {
        return Err(NotAllowed::ForeignDecision {
            subject: last.subject(),
        });
    }
    if let Some(obstacle) = &snapshot.obstacle {
        return Err(NotAllowed::Git(obstacle.clone()));
    }
    match (last.status, last.made) {
        (Status::Keep, Some(true)) => match &last.later_work {
            LaterWork::Found(work) => Err(NotAllowed::LaterWork {
                subject: last.subject(),
                work: work.clone(),
            }),
            LaterWork::Unknown | LaterWork::None => Ok(()),
        },
        (Status::Keep | Status::Discard | Status::Crash, _) => Ok(()),
        // Of no run.
        (Status::Rules, _) => Err(NotAllowed::NothingDecided {
            kernel: snapshot.kernel.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;
