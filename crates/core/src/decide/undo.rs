//! Undo: takes the last keep or discard back, until something was built on it. The run is undecided
//! again.
//!
//! Nothing is lost: a commit that HEAD leaves stays under `refs/lab/undone/`, bytes on disk are
//! saved before they are replaced, and the record remembers the decision that was taken back.

use super::carry_out::carry_out;
use super::intent::{Asked, Intent, What};
use super::on_disk::{self, ON_DISK, save, saved_note};
use super::policy::{LastDecision, LaterWork, NotAllowed, allowed};
use super::step::{RowChange, Step};
use super::{Locked, Refusal, begin, no, snapshot};
use crate::inputs;
use crate::project::Project;
use crate::repo::{self, Repo, StoredCommit};
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::Origin;
use crate::store::{RunIndex, RunSummary};
use crate::text::shell::quote;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::result::Result as StdResult;

/// A decision that can be taken back now.
#[derive(Clone, Debug, PartialEq)]
pub struct Undoable {
    pub run: RunId,
    pub status: Status,
    pub description: String,
    /// Full id of the commit that holds the judged bytes.
    pub commit: String,
    /// One sentence that tells what the undo will do, for a question.
    pub question: String,
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    pub run: RunId,
    /// The decision that was taken back.
    pub status: Status,
    pub description: String,
    /// Full id of the commit that holds the judged bytes.
    pub commit: String,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// The last decision about this kernel, if it can be taken back now. Reads git, and walks every
/// branch after a keep: not for the screen's own thread.
pub fn undoable(repo: &Repo, project: &Project, index: &RunIndex) -> StdResult<Undoable, Refusal> {
    let mut snapshot = snapshot(repo, project, index, &inputs::read(project), None)?;
    if let Some(last) = &mut snapshot.last_decision
        && last.made == Some(true)
    {
        last.later_work = match repo::built_on(repo, &last.commit)? {
            Some(work) => LaterWork::Found(work + &remedy(repo, project, index, &last.commit)?),
            None => LaterWork::None,
        };
    }
    allowed(&snapshot).undo?;
    let Some(last) = snapshot.last_decision else {
        return Err(NotAllowed::NothingDecided {
            kernel: snapshot.kernel,
        }
        .into());
    };
    let (subject, name) = (last.subject(), &project.kernel_name);
    // The index may say otherwise: nobody signed it, and the key may be another one since.
    if index.store().read(last.run)?.origin != Origin::Own {
        return Err(NotAllowed::ForeignDecision { subject }.into());
    }
    let question = match (last.status, last.made) {
        (Status::Keep, Some(true)) => format!(
            "undo the keep of {subject}: HEAD goes back by that commit, {name} stays as it is on disk"
        ),
        (Status::Keep | Status::Rules, _) => {
            format!(
                "undo the keep of {subject}: its row is taken out; it made no commit, so HEAD stays"
            )
        }
        (Status::Discard | Status::Crash, _) => {
            format!(
                "undo the discard of {subject}: {name} gets its bytes back; those on disk are saved first"
            )
        }
    };
    let LastDecision {
        run,
        status,
        description,
        commit,
        ..
    } = last;
    Ok(Undoable {
        run,
        status,
        description,
        commit,
        question,
    })
}

/// What to do about work that was built on a kept commit, after a semicolon. Empty where HEAD is
/// elsewhere: the work says what to do then.
fn remedy(repo: &Repo, project: &Project, index: &RunIndex, commit: &str) -> Result<String> {
    if !repo::leads_to_head(repo, commit)? {
        return Ok(String::new());
    }
    let revert = format!(
        "`git revert {}` takes it back with a new commit",
        repo::short(commit)
    );
    let head = repo::head_commit_id(repo);
    let made = |run: &&RunSummary| {
        run.decision
            .as_ref()
            .is_some_and(|d| d.made == Some(true) && d.commit == head)
    };
    let tip = index
        .newest()
        .find(made)
        .filter(|run| run.kernel != project.kernel_name);
    Ok(match tip {
        Some(tip) => {
            format!(
                "; undo the keep of {0} first (`lab undo {1}`), or {revert}",
                tip.kernel,
                quote(&tip.kernel)
            )
        }
        None => format!("; {revert}"),
    })
}

/// Takes the last keep or discard back. `run` is the run that the user was asked about: the
/// decision about another run stays. It may put bytes on disk, which a watcher must not take for a
/// save.
pub fn undo(project: &Project, run: Option<RunId>) -> StdResult<Undone, Refusal> {
    undo_and_tell(project, run, |_| {})
}

/// The same, and tells the user what was undone before the next undo is allowed. If this process is
/// killed before it has told, the next lab tells it, and takes nothing further back.
pub fn undo_and_tell(
    project: &Project,
    run: Option<RunId>,
    tell: impl FnOnce(&Undone),
) -> StdResult<Undone, Refusal> {
    let asked = asked(project);
    let locked = begin(project, &asked)?;
    let undoable = undoable(&locked.repo, project, &RunIndex::open(project))?;
    if run.is_some_and(|run| run != undoable.run) {
        return no(format!(
            "the last decision is another one by now: that of run {}",
            undoable.run
        ));
    }
    let Some((intent, notes)) = plan(project, &locked, &asked, undoable.run, Found::Now)? else {
        return no(format!("nothing was decided about run {}", undoable.run));
    };
    let mut carried = carry_out(project, &locked, intent, "nothing was undone")?;
    carried.notes.extend(notes);
    let Undoable {
        run,
        status,
        description,
        commit,
        ..
    } = undoable;
    let mut undone = Undone {
        run,
        status,
        description,
        commit,
        notes: Vec::new(),
    };
    undone.notes.clone_from(&carried.notes);
    tell(&undone);
    carried.close(project, &locked)?;
    Ok(undone)
}

fn asked(project: &Project) -> Asked<'_> {
    Asked {
        what: What::Undo,
        kernel: &project.kernel_name,
        text: "",
    }
}

/// The undo that an older lab began; the error says why it is left. `on_disk` is the hash of the
/// bytes that it found.
pub(super) fn plan_older(
    project: &Project,
    locked: &Locked,
    run: RunId,
    on_disk: Option<&str>,
) -> Result<StdResult<(Intent, Vec<String>), String>> {
    let record = locked.lock.store.read(run)?;
    if record.origin != Origin::Own {
        let why = format!(
            "the undo of run {run} that an earlier lab began is left: the record of that run is foreign"
        );
        return Ok(Err(why));
    }
    // The lab that ended halfway may have worked on another kernel.
    let kernel = Some(&record.start.kernel).filter(|kernel| **kernel != project.kernel_name);
    let of_run =
        kernel.and_then(|kernel| Project::open(&project.root, Some(Path::new(kernel))).ok());
    let project = of_run.as_ref().unwrap_or(project);
    let kept = record
        .decision
        .as_ref()
        .filter(|d| d.made == Some(true))
        .and_then(|d| d.commit.as_deref());
    if let Some(commit) = kept
        && repo::leads_to_head(&locked.repo, commit)?
        && let Some(why) = repo::built_on(&locked.repo, commit)?
    {
        return Ok(Err(why));
    }
    let planned = plan(
        project,
        locked,
        &asked(project),
        run,
        Found::Earlier(on_disk),
    )?;
    Ok(planned.ok_or_else(|| "it was done already".to_owned()))
}

/// Which bytes an undo may replace.
#[derive(Clone, Copy)]
enum Found<'a> {
    /// Those that are on disk now.
    Now,
    /// Those with this hash, which were there when an older lab began the undo; `None` if there was
    /// no file.
    Earlier(Option<&'a str>),
}

/// The steps, with notes for the user; `None` if nothing was decided about this run.
fn plan(
    project: &Project,
    locked: &Locked,
    asked: &Asked,
    run: RunId,
    found: Found,
) -> Result<Option<(Intent, Vec<String>)>> {
    let mut record = locked.lock.store.read(run)?;
    // The index may say otherwise: it is signed by nobody.
    ensure!(
        record.origin == Origin::Own,
        "{}",
        NotAllowed::ForeignDecision {
            subject: format!("run {run}")
        }
    );
    let Some(decision) = record.decision.take() else {
        return Ok(None);
    };
    let commit = decision.commit.clone().context("nothing was decided")?;
    let mut intent = Intent::new(asked, project, &format!("of run {run}"));
    intent.commit = Some(commit.clone());
    let mut notes = Vec::new();
    match decision.status {
        Status::Keep if decision.made == Some(true) => {
            let reference = repo::undone_ref(&locked.repo, run, &commit)?;
            notes.push(format!("the commit is kept as {reference}"));
            let branch = repo::uncommit(&locked.repo, project, &commit)?;
            let (stored, files) = (
                StoredCommit {
                    id: commit.clone(),
                    reference,
                },
                branch.files.clone(),
            );
            let named = Step::Name {
                stored,
                why: "lab undo".to_owned(),
            };
            intent.steps.extend([
                Step::LockIndex,
                named,
                Step::MoveHead { branch },
                Step::Stage { files },
            ]);
        }
        Status::Keep | Status::Rules => {}
        Status::Discard | Status::Crash => {
            let present = on_disk::read(project)?;
            let hash = present.as_deref().map(on_disk::hash);
            // Bytes that were saved after an older lab ended halfway are newer than the undo: they
            // stay.
            if matches!(found, Found::Now)
                || matches!(found, Found::Earlier(earlier) if earlier == hash.as_deref())
            {
                let wanted = repo::bytes_of(&locked.repo, project, &commit)?;
                if let Some(bytes) = present.filter(|bytes| *bytes != wanted) {
                    notes.push(saved_note(&save(project, locked, &bytes, ON_DISK)?.id));
                }
                intent.steps.push(Step::Kernel {
                    commit: commit.clone(),
                    found: hash,
                });
            }
        }
    }
    if let Some(row) = decision.row.clone() {
        intent.steps.push(Step::Row {
            emulated: record.emulated(),
            row,
            change: RowChange::TakeOut,
        });
    }
    record.undone.push(decision);
    intent.steps.push(Step::Decision {
        run,
        decision: None,
        undone: record.undone,
    });
    intent.steps.push(Step::Note {
        commit,
        run: Some(run),
        text: None,
    });
    Ok(Some((intent, notes)))
}
