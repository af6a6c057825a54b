//! Undo: takes the last keep or discard back, until something was built on it. The run is undecided again.
//!
//! Nothing is lost: a commit that HEAD leaves stays under `refs/lab/undone/`, bytes on disk are saved before they are
//! replaced, and the record remembers the decision that was taken back.

use super::intent::Intent;
use super::policy::{LastDecision, LaterWork, NotAllowed, allowed};
use super::restore::restore_locked;
use super::{Locked, Refusal, begin, no, read_on_disk, saved_note, snapshot, write_note};
use crate::disk::space;
use crate::inputs;
use crate::ledger::{self, Edit};
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::{Decision, Origin, Record};
use crate::store::RunIndex;
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

/// The last decision about this kernel, if it can be taken back now. Reads git, and walks every branch after a keep: not
/// for the screen's own thread.
pub fn undoable(repo: &Repo, project: &Project, index: &RunIndex) -> StdResult<Undoable, Refusal> {
    let mut snapshot = snapshot(repo, project, index, &inputs::read(project), None)?;
    if let Some(last) = &mut snapshot.last_decision
        && last.made == Some(true)
    {
        last.later_work = match repo::built_on(repo, &last.commit)? {
            Some(work) => LaterWork::Found(work),
            None => LaterWork::None,
        };
    }
    allowed(&snapshot).undo?;
    let Some(last) = snapshot.last_decision else {
        return Err(NotAllowed::NothingDecided { kernel: snapshot.kernel }.into());
    };
    let (subject, name) = (last.subject(), &project.kernel_name);
    let question = match (last.status, last.made) {
        (Status::Keep, Some(true)) => format!(
            "undo the keep of {subject}: HEAD goes back by that commit, {name} stays as it is on disk"
        ),
        (Status::Keep | Status::Rules, _) => {
            format!("undo the keep of {subject}: its row is taken out; it made no commit, so HEAD stays")
        }
        (Status::Discard | Status::Crash, _) => {
            format!(
                "undo the discard of {subject}: {name} gets its bytes back; those on disk are saved first"
            )
        }
    };
    let LastDecision { run, status, description, commit, .. } = last;
    Ok(Undoable { run, status, description, commit, question })
}

/// Takes the last keep or discard back. `run` is the run that the user was asked about: the decision about another run
/// stays. It may put bytes on disk, which a watcher must not take for a save.
pub fn undo(project: &Project, run: Option<RunId>) -> StdResult<Undone, Refusal> {
    let locked = begin(project)?;
    let undoable = undoable(&locked.repo, project, &RunIndex::open(project))?;
    if run.is_some_and(|run| run != undoable.run) {
        return no(format!("the last decision is another one by now: that of run {}", undoable.run));
    }
    let on_disk = read_on_disk(project)?.map(|bytes| hash(&bytes));
    Intent::Undo { run: undoable.run, on_disk: on_disk.clone() }.write(project)?;
    let notes = carry_out(project, &locked, undoable.run, on_disk.as_deref())
        .map_err(|error| space::explain(error, "the undo is not finished"))
        .context("the next `lab` goes on with it")?;
    Intent::remove(project)?;
    let Undoable { run, status, description, commit, .. } = undoable;
    Ok(Undone { run, status, description, commit, notes })
}

/// Goes on with the undo of a lab that ended halfway. If something was built on the commit since, and HEAD was not moved
/// yet, nothing is undone. Returns what was done, and notes.
pub(super) fn resume(
    project: &Project,
    locked: &Locked,
    run: RunId,
    on_disk: Option<&str>,
) -> Result<(String, Vec<String>)> {
    let record = locked.lock.store.read(run)?;
    ensure!(
        record.origin == Origin::Own,
        "{}",
        NotAllowed::ForeignDecision { subject: format!("run {run}") }
    );
    // The lab that ended halfway may have worked on another kernel.
    let kernel = Some(&record.start.kernel).filter(|kernel| **kernel != project.kernel_name);
    let of_run = kernel.and_then(|kernel| Project::open(&project.root, Some(Path::new(kernel))).ok());
    let project = of_run.as_ref().unwrap_or(project);
    let kept = record.decision.as_ref().filter(|d| d.made == Some(true)).and_then(|d| d.commit.as_deref());
    if let Some(commit) = kept
        && repo::leads_to_head(&locked.repo, commit)?
        && let Some(why) = repo::built_on(&locked.repo, commit)?
    {
        return Ok((format!("the undo of run {run} that an earlier lab began is left: {why}"), Vec::new()));
    }
    let notes = carry_out(project, locked, run, on_disk)?;
    Ok((format!("the undo of run {run} that an earlier lab began is done"), notes))
}

/// Every step; each may be done already. The record comes last: until then the decision stands.
fn carry_out(project: &Project, locked: &Locked, run: RunId, on_disk: Option<&str>) -> Result<Vec<String>> {
    let mut record = locked.lock.store.read(run)?;
    // The index may say otherwise: it is signed by nobody.
    ensure!(
        record.origin == Origin::Own,
        "{}",
        NotAllowed::ForeignDecision { subject: format!("run {run}") }
    );
    let Some(decision) = record.decision.clone() else { return Ok(Vec::new()) };
    let commit = decision.commit.clone().context("nothing was decided")?;
    let mut notes = Vec::new();
    match decision.status {
        Status::Keep if decision.made == Some(true) => {
            let reference = repo::store_undone(&locked.repo, run, &commit)?;
            notes.extend(repo::uncommit(&locked.repo, project, &commit)?);
            notes.push(format!("the commit is kept as {reference}"));
        }
        Status::Keep | Status::Rules => {}
        Status::Discard | Status::Crash => {
            // Bytes that were saved after a lab ended halfway are newer than the undo: they stay.
            if read_on_disk(project)?.map(|bytes| hash(&bytes)).as_deref() == on_disk {
                let restored = restore_locked(project, locked, &commit)?;
                notes.extend(restored.saved.as_deref().map(saved_note));
            }
        }
    }
    take_out_row(project, &record, &decision)?;
    record.decision = None;
    record.undone.push(decision);
    locked.lock.write(&record)?;
    let wrote = write_note(locked, &commit, &record);
    notes.extend(
        wrote
            .err()
            .map(|error| format!("the git note of the commit still says that it was decided: {error:#}")),
    );
    Ok(notes)
}

fn take_out_row(project: &Project, record: &Record, decision: &Decision) -> Result<()> {
    let Some(row) = &decision.row else { return Ok(()) };
    ledger::replace(&ledger::path(project, record.emulated()), row, Edit::TakeOut).map(drop)
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
