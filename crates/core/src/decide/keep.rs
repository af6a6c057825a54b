//! Keep: the judged bytes become a commit, once they have passed on what was held out.

use super::finish::{finish, intend};
use super::{Decided, Refusal, begin, changed_since, judged_bytes, no, pick, said};
use crate::disk::space as room;
use crate::inputs::{self, Inputs, KernelError};
use crate::message::Message;
use crate::project::Project;
use crate::repo;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::Record;
use crate::run::verdict::Outcome;
use crate::runner::held_out;
use crate::store::decision_lock::Deciding;
use anyhow::Result;
use std::fs;
use std::result::Result as StdResult;

/// Commits the bytes that `run` (`None`: [`meant`](super::meant)) judged, and writes their row, once they have passed on what was
/// held out.
pub fn keep(
    project: &Project,
    run: Option<RunId>,
    message: &Message,
    asked: &mut held_out::Asked,
) -> StdResult<Decided, Refusal> {
    let deciding = begin(project)?;
    let message = said(message)?;
    let records = &deciding.records;
    let Some(mut record) = pick(project, records, run)? else {
        return no(format!("nothing was judged yet: `lab run{}` first", project.argument));
    };
    let present = inputs::read(project);
    if let Err(why) = may_keep(project, &record, &present) {
        return no(why);
    }
    if let Some(obstacle) = repo::obstacle(project)? {
        return no(obstacle);
    }
    let bytes = judged_bytes(records, &record)?;
    if let Ok(present) = &present {
        pass_held_out(project, &deciding, &mut record, present, asked)?;
        // It took a while, and somebody else may be at the repository.
        if let Some(obstacle) = repo::obstacle(project)? {
            return no(obstacle);
        }
    }
    intend(&deciding, &mut record, Status::Keep, message)?;
    let committed = match repo::commit_kernel(project, &bytes, &record.start.blob, &message.render()) {
        Ok(committed) => committed,
        Err(error) => {
            // Nothing came of it: the run is undecided again.
            record.decision = None;
            let _ = deciding.write(&record);
            return Err(room::in_words(error, "nothing was kept").into());
        }
    };
    if let Some(decision) = &mut record.decision {
        decision.made = Some(!committed.already);
    }
    let mut notes = committed.notes;
    if committed.already {
        notes.push(format!(
            "HEAD holds these bytes already: the row names commit {}",
            repo::short(&committed.id)
        ));
    }
    notes.extend(differing_context(project, &record)?);
    finish(project, &deciding, record, committed.id, notes)
}

/// The check on what was held out, once for a run; a refusal where it is not passed. An external harness has none.
fn pass_held_out(
    project: &Project,
    deciding: &Deciding,
    record: &mut Record,
    present: &Inputs,
    asked: &mut held_out::Asked,
) -> StdResult<(), Refusal> {
    if project.external() || record.held_out.as_ref().is_some_and(|h| h.outcome == Outcome::Pass) {
        return Ok(());
    }
    let Some(came) = held_out::check(project, record, present, asked)? else {
        return no(format!("cancelled: nothing was committed, and run {} is undecided", record.start.id));
    };
    let (outcome, why) = (came.outcome, came.why.clone());
    record.held_out = Some(came);
    deciding.write(record)?;
    match outcome {
        Outcome::Pass => Ok(()),
        _ => no(format!("keep refused: {why}")),
    }
}

/// Whether this run may be kept now, as far as verdict and bytes go; the error is the reason.
pub fn may_keep(
    project: &Project,
    record: &Record,
    present: &StdResult<Inputs, KernelError>,
) -> StdResult<(), String> {
    let id = record.start.id;
    let this = &project.argument;
    let Some(verdict) = &record.verdict else { return Err(format!("run {id} still goes on")) };
    let needs_pass = || Err(format!("needs a passing verdict: run {id} came to {}", verdict.word()));
    if verdict.outcome == Outcome::Void {
        return needs_pass();
    }
    // Of bytes that changed since, nothing else that could be said here is about them.
    let present = present.as_ref().map_err(ToString::to_string)?;
    if let Some(newer) = changed_since(record, present) {
        return Err(format!("{newer}: judge them first (`lab run{this}`)"));
    }
    if let Some(decision) = record.decision.as_ref().filter(|d| d.commit.is_some()) {
        let word = decision.status.word();
        return Err(format!("run {id} was decided already ({word}): save a change first"));
    }
    if verdict.outcome != Outcome::Pass {
        return needs_pass();
    }
    if let Some(failed) = record.held_out.as_ref().filter(|h| h.outcome == Outcome::Fail) {
        return Err(format!("keep refused: {}: save a change first", failed.why));
    }
    if let Some(why) = verdict.unmeasured() {
        return Err(format!("{why}: let the harness print it, then `lab run{this}`"));
    }
    for include in present.sources.iter().filter(|s| s.include) {
        let held = repo::in_head(project, &include.file.path, include.bytes.as_deref());
        if !held.map_err(|e| format!("{e:#}"))? {
            return Err(format!(
                "{} is not as in HEAD, and an experiment changes {} alone: commit it yourself first, or put its \
                 text into the kernel",
                include.file.path, project.kernel_name
            ));
        }
    }
    Ok(())
}

/// A measure was taken under these files too; a reader of the commit alone should know.
fn differing_context(project: &Project, record: &Record) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for file in record.inputs.iter().skip(1).filter(|f| f.hash.is_some()) {
        let bytes = fs::read(project.root.join(&file.path)).ok();
        if !repo::in_head(project, &file.path, bytes.as_deref()).unwrap_or(true) {
            notes.push(format!(
                "{} is not as in HEAD: the commit alone does not repeat this measure",
                file.path
            ));
        }
    }
    Ok(notes)
}
