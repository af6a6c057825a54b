//! Discard: kernel.cu is the incumbent's again, and the attempt stays under `refs/lab/`.

use super::finish::{finish, intend};
use super::policy::{Discard, allowed};
use super::restore::{NOT_REPLACED, ON_DISK, put_back, save};
use super::{Decided, Refusal, begin, judged_bytes, pick, present, said, saved_note, snapshot};
use crate::disk::space as room;
use crate::message::Message;
use crate::project::Project;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::verdict::Outcome;
use crate::store::index::Shelf;
use crate::{inputs, repo};
use std::result::Result as StdResult;

/// Puts kernel.cu back to the incumbent; the attempt stays under `refs/lab/discarded/`.
/// `confirmed`: also where the present bytes are newer than the verdict (they are saved too).
pub fn discard(
    project: &Project,
    run: Option<RunId>,
    message: &Message,
    confirmed: bool,
) -> StdResult<Decided, Refusal> {
    let deciding = begin(project)?;
    let message = said(message)?;
    let records = &deciding.records;
    let name = &project.kernel_name;
    let on_disk = present(project)?;
    let shelf = Shelf::open(project);
    let inputs = inputs::read(project);
    let picked = pick(project, records, &shelf, run, &inputs)?;
    let discard = allowed(&snapshot(project, &shelf, &inputs, picked.as_ref())?).discard?;
    if !confirmed && let Some(question) = discard.question(name, &project.argument) {
        return Err(Refusal::Ask(question));
    }
    let record = picked.filter(|_| !matches!(discard, Discard::Unjudged { .. }));
    let Some(mut record) = record else { return discard_unjudged(project, on_disk.as_deref(), message) };
    let bytes = judged_bytes(records, &record)?;
    let status = match record.verdict.as_ref().map(|v| v.outcome) {
        Some(Outcome::Crash) => Status::Crash,
        _ => Status::Discard,
    };
    let id = record.start.id;
    intend(&deciding, &mut record, status, message)?;
    let kept = match repo::keep_discarded(project, id, &bytes, &message.render()) {
        Ok(kept) => kept,
        Err(error) => {
            record.decision = None;
            let _ = deciding.write(&record);
            return Err(room::in_words(error, NOT_REPLACED).into());
        }
    };
    let mut notes =
        vec![format!("the attempt is kept as {} (`lab restore {}`)", kept.reference, repo::short(&kept.id))];
    // What was judged is kept already; only newer bytes need saving besides.
    let saved = match on_disk.as_deref() {
        Some(newer) if newer != bytes => Some(save(project, newer, ON_DISK)?),
        _ => None,
    };
    put_back(project, "HEAD", on_disk.as_deref())?;
    notes.extend(saved.map(|kept| saved_note(kept.id)));
    notes.extend(link_note(project));
    if repo::staged(project).unwrap_or(false) {
        notes.push(format!(
            "you staged a version of {name}: it is still staged (`git restore --staged {name}`)"
        ));
    }
    finish(project, &deciding, record, kept.id, notes)
}

/// Nothing was judged, so there is no experiment and no row: the bytes are saved, no more.
fn discard_unjudged(
    project: &Project,
    present: Option<&[u8]>,
    message: &Message,
) -> StdResult<Decided, Refusal> {
    let head = repo::head(project)?.commit.unwrap_or_default();
    let saved = match present {
        Some(bytes) => Some(save(project, bytes, &message.render())?),
        None => None,
    };
    put_back(project, "HEAD", present)?;
    let commit = saved.as_ref().map_or(head, |kept| kept.id.clone());
    let notes = saved.map(|kept| saved_note(kept.id)).into_iter().chain(link_note(project)).collect();
    Ok(Decided { run: None, status: Status::Discard, commit, row: None, notes })
}

fn link_note(project: &Project) -> Option<String> {
    let target = repo::link_target(project)?;
    Some(format!("{} is a link and stays one: {} was written", project.kernel_name, target.display()))
}
