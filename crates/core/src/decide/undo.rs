//! Undo of the last keep or discard, until something was built on it: the run is undecided again. Nothing is lost by
//! it: a commit that HEAD leaves stays under `refs/lab/undone/`, what is on disk is saved before it is replaced, and the
//! record remembers the decision that was taken back.

use super::policy::{LastDecision, LaterWork, NotAllowed, allowed};
use super::restore::restore_with;
use super::{Refusal, begin, no, present, snapshot};
use crate::decide::intent::Unfinished;
use crate::disk::space as room;
use crate::ledger::{self, Edit};
use crate::project::Project;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::{Decision, Record};
use crate::store::decision_lock::Deciding;
use crate::store::index::Shelf;
use crate::{inputs, repo};
use anyhow::{Context, Result};
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
    /// One sentence: what undoing it will do. For the question before it.
    pub question: String,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    pub run: RunId,
    pub status: Status,
    pub description: String,
    pub commit: String,
    pub notes: Vec<String>,
}

/// The last decision about this kernel, if it can be taken back; the error is the reason why not.
/// Reads git: not for the screen's own thread.
pub fn undoable(project: &Project, shelf: &Shelf) -> StdResult<Undoable, String> {
    look(project, shelf).unwrap_or_else(|error| Err(format!("{error:#}")))
}

fn look(project: &Project, shelf: &Shelf) -> Result<StdResult<Undoable, String>> {
    let mut snapshot = snapshot(project, shelf, &inputs::read(project), None)?;
    if let Some(last) = &mut snapshot.last_decision
        && last.made == Some(true)
    {
        last.later_work = match repo::built_on(project, &last.commit)? {
            Some(work) => LaterWork::Found(work),
            None => LaterWork::None,
        };
    }
    if let Err(why) = allowed(&snapshot).undo {
        return Ok(Err(why.to_string()));
    }
    let Some(last) = snapshot.last_decision else {
        return Ok(Err(NotAllowed::NothingDecided { kernel: snapshot.kernel }.to_string()));
    };
    let (subject, name) = (last.subject(), &project.kernel_name);
    let question = match (last.status, last.made) {
        (Status::Keep, Some(true)) => format!(
            "undo the keep of {subject}: HEAD goes back by that commit, {name} stays as it is on disk"
        ),
        (Status::Keep, _) => {
            format!("undo the keep of {subject}: its row is taken out; it made no commit, so HEAD stays")
        }
        (Status::Discard | Status::Crash, _) => {
            format!(
                "undo the discard of {subject}: {name} gets its bytes back; those on disk are saved first"
            )
        }
    };
    let LastDecision { run, status, description, commit, .. } = last;
    Ok(Ok(Undoable { run, status, description, commit, question }))
}

/// Takes the last keep or discard back. `run` is the one that was asked about: another is not touched.
/// It may put bytes on disk, which a watcher must not take for a save.
pub fn undo(project: &Project, run: Option<RunId>) -> StdResult<Undone, Refusal> {
    let deciding = begin(project)?;
    let undoable = match undoable(project, &Shelf::open(project)) {
        Ok(undoable) => undoable,
        Err(why) => return no(why),
    };
    if run.is_some_and(|run| run != undoable.run) {
        return no(format!("the last decision is another one by now: that of run {}", undoable.run));
    }
    let on_disk = present(project)?.map(|bytes| hash(&bytes));
    Unfinished::Undo { run: undoable.run, on_disk: on_disk.clone() }.begin(project)?;
    let notes = carry_out(project, &deciding, undoable.run, on_disk.as_deref())
        .map_err(|error| room::in_words(error, "the undo is not finished"))
        .context("the next `lab` goes on with it")?;
    Unfinished::end(project)?;
    let Undoable { run, status, description, commit, .. } = undoable;
    Ok(Undone { run, status, description, commit, notes })
}

/// Of a lab that ended halfway. Where somebody has built on the commit since, before HEAD was moved, nothing is undone.
pub(super) fn complete(
    project: &Project,
    deciding: &Deciding,
    run: RunId,
    on_disk: Option<&str>,
) -> Result<String> {
    let record = deciding.records.read(run)?;
    // This lab may be at another kernel than the one that ended halfway.
    let kernel = Some(&record.start.kernel).filter(|kernel| **kernel != project.kernel_name);
    let of_run = kernel.and_then(|kernel| Project::open(&project.root, Some(Path::new(kernel))).ok());
    let project = of_run.as_ref().unwrap_or(project);
    let kept = record.decision.as_ref().filter(|d| d.made == Some(true)).and_then(|d| d.commit.as_deref());
    if let Some(commit) = kept
        && repo::leads_to_head(project, commit)?
        && let Some(why) = repo::built_on(project, commit)?
    {
        return Ok(format!("the undo of run {run} that an earlier lab began is left: {why}"));
    }
    carry_out(project, deciding, run, on_disk)?;
    Ok(format!("the undo of run {run} that an earlier lab began is done"))
}

/// Every step, each of which may be done already. The record comes last: until then the decision stands.
fn carry_out(
    project: &Project,
    deciding: &Deciding,
    run: RunId,
    on_disk: Option<&str>,
) -> Result<Vec<String>> {
    let mut record = deciding.records.read(run)?;
    let Some(decision) = record.decision.clone() else { return Ok(Vec::new()) };
    let commit = decision.commit.clone().context("nothing was decided")?;
    let mut notes = Vec::new();
    match decision.status {
        Status::Keep if decision.made == Some(true) => {
            let kept = repo::keep_undone(project, run, &commit)?;
            notes.extend(repo::step_back(project, &commit)?);
            notes.push(format!("the commit is kept as {kept}"));
        }
        Status::Keep => {}
        Status::Discard | Status::Crash => {
            // Bytes that came after a lab ended halfway are newer than the wish to see the old ones.
            if present(project)?.map(|bytes| hash(&bytes)).as_deref() == on_disk {
                let restored = restore_with(project, &commit)?;
                notes.extend(restored.saved.map(super::saved_note));
            }
        }
    }
    take_out_row(project, &record, &decision)?;
    record.decision = None;
    record.undone.push(decision);
    deciding.write(&record)?;
    // The note tells the same story. Where it cannot be written, only another clone hears the older one.
    let _ = serde_json::to_string_pretty(&record).map(|text| repo::note(project, &commit, &text));
    Ok(notes)
}

fn take_out_row(project: &Project, record: &Record, decision: &Decision) -> Result<()> {
    let Some(row) = &decision.row else { return Ok(()) };
    ledger::replace(&ledger::path(project, record.emulated()), row, Edit::TakeOut).map(drop)
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
