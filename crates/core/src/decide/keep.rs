//! Keep: the judged bytes become a commit, once they have passed on what was held out.

use super::finish::{finish, intend};
use super::policy::{Keep, allowed};
use super::{Decided, Refusal, begin, judged_bytes, no, pick, said, snapshot};
use crate::disk::space as room;
use crate::inputs::{self, Inputs};
use crate::message::Message;
use crate::project::Project;
use crate::repo;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::Record;
use crate::runner::held_out;
use crate::store::decision_lock::Deciding;
use crate::store::index::Shelf;
use anyhow::Result;
use std::fs;
use std::result::Result as StdResult;

/// Commits the bytes that `run` (`None`: [`default_run`](super::default_run)) judged, and writes their row, once they
/// have passed the held-out check.
pub fn keep(
    project: &Project,
    run: Option<RunId>,
    message: &Message,
    asked: &mut held_out::Asked,
) -> StdResult<Decided, Refusal> {
    let deciding = begin(project)?;
    let message = said(message)?;
    let records = &deciding.records;
    let shelf = Shelf::open(project);
    let present = inputs::read(project);
    let picked = pick(project, records, &shelf, run, &present)?;
    let may = |record: Option<&Record>| -> StdResult<Keep, Refusal> {
        Ok(allowed(&snapshot(project, &shelf, &present, record)?).keep?)
    };
    let next = may(picked.as_ref())?;
    // The rules allow a keep only with a run and with inputs that were read.
    let (Some(mut record), Ok(inputs)) = (picked, &present) else {
        return no(format!("no verdict belongs to the present bytes: `lab run{}` first", project.argument));
    };
    let bytes = judged_bytes(records, &record)?;
    if next == Keep::CheckHeldOut {
        check_held_out(project, &deciding, &mut record, inputs, asked)?;
        // The check took a while: somebody else may be at the repository by now.
        may(Some(&record))?;
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

/// Runs the held-out check and writes its outcome into the record. A refusal if the user ended it.
fn check_held_out(
    project: &Project,
    deciding: &Deciding,
    record: &mut Record,
    present: &Inputs,
    asked: &mut held_out::Asked,
) -> StdResult<(), Refusal> {
    let Some(came) = held_out::check(project, record, present, asked)? else {
        return no(format!("cancelled: nothing was committed, and run {} is undecided", record.start.id));
    };
    record.held_out = Some(came);
    deciding.write(record)?;
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
