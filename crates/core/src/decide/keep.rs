//! Keep: commits the judged bytes, once they have passed the held-out check.

use super::finish::{finish, withdraw_decision, write_decision};
use super::policy::{Keep, allowed};
use super::{Decided, Locked, Refusal, begin, judged_bytes, no, pick, require_subject, snapshot};
use crate::disk::space;
use crate::inputs::{self, Inputs, KernelError};
use crate::message::Message;
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::Record;
use crate::runner::held_out;
use crate::store::RunIndex;
use std::fs;
use std::result::Result as StdResult;

/// Commits the bytes that `run` (`None`: [`default_run`](super::default_run)) judged, and writes their row, once they
/// have passed the held-out check.
pub fn keep(
    project: &Project,
    run: Option<RunId>,
    message: &Message,
    asked: &mut held_out::RunContext,
) -> StdResult<Decided, Refusal> {
    let mut locked = begin(project)?;
    require_subject(message)?;
    let index = RunIndex::open(project);
    let present = inputs::read(project);
    let picked = pick(project, &locked.lock.store, &index, run, &present)?;
    let next = may_keep(&locked.repo, project, &index, &present, picked.as_ref())?;
    // The rules allow a keep only with a run and with inputs that were read.
    let (Some(mut record), Ok(inputs)) = (picked, &present) else {
        return no(format!("no verdict belongs to the present bytes: `lab run{}` first", project.argument));
    };
    let bytes = judged_bytes(&locked.lock.store, &record)?;
    if next == Keep::CheckHeldOut {
        check_held_out(project, &locked, &mut record, inputs, asked)?;
        // The check took a while: somebody else may be at the repository by now.
        locked.repo = Repo::open(project)?;
        may_keep(&locked.repo, project, &index, &present, Some(&record))?;
    }
    write_decision(&locked, &mut record, Status::Keep, message)?;
    let committed =
        match repo::commit_kernel(&locked.repo, project, &bytes, &record.start.blob, &message.render()) {
            Ok(committed) => committed,
            Err(error) => {
                withdraw_decision(&locked, &mut record);
                return Err(space::explain(error, "nothing was kept").into());
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
    notes.extend(context_notes(&locked.repo, project, &record));
    finish(project, &locked, record, committed.id, notes)
}

/// Asks the rules, with a fresh look at git.
fn may_keep(
    repo: &Repo,
    project: &Project,
    index: &RunIndex,
    present: &StdResult<Inputs, KernelError>,
    record: Option<&Record>,
) -> StdResult<Keep, Refusal> {
    Ok(allowed(&snapshot(repo, project, index, present, record)?).keep?)
}

/// Runs the held-out check and writes its outcome into the record. A refusal if the user ended it.
fn check_held_out(
    project: &Project,
    locked: &Locked,
    record: &mut Record,
    present: &Inputs,
    asked: &mut held_out::RunContext,
) -> StdResult<(), Refusal> {
    let Some(came) = held_out::check(project, record, present, asked)? else {
        return no(format!("cancelled: nothing was kept, and run {} is undecided", record.start.id));
    };
    record.held_out = Some(came);
    locked.lock.write(record)?;
    Ok(())
}

/// Names the inputs besides the kernel that HEAD does not hold: the commit alone does not repeat the measurement.
fn context_notes(repo: &Repo, project: &Project, record: &Record) -> Vec<String> {
    let mut notes = Vec::new();
    for file in record.inputs.iter().skip(1).filter(|file| file.hash.is_some()) {
        let bytes = fs::read(project.root.join(&file.path)).ok();
        if !repo::in_head(repo, &file.path, bytes.as_deref()).unwrap_or(true) {
            notes.push(format!(
                "{} is not as in HEAD: the commit alone does not repeat this measure",
                file.path
            ));
        }
    }
    notes
}
