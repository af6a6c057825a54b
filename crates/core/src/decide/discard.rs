//! Discard: puts the incumbent's kernel back on disk. The attempt stays under `refs/lab/`.

use super::carry_out::carry_out;
use super::draft::with_draft;
use super::finish::{decide, last_steps, new_decision};
use super::intent::{Asked, Intent, What};
use super::on_disk::{self, NOT_REPLACED, ON_DISK, save, saved_note};
use super::policy::{Discard, allowed};
use super::step::Step;
use super::{Decided, Locked, Refusal, begin, judged_bytes, pick, require_subject, snapshot};
use crate::disk::space;
use crate::message::Message;
use crate::project::Project;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::Record;
use crate::run::verdict::Outcome;
use crate::store::RunIndex;
use crate::{inputs, repo};
use anyhow::{Context, Result};
use std::result::Result as StdResult;

/// Puts the incumbent's kernel back on disk; the attempt stays under `refs/lab/discarded/`. Bytes
/// that are newer than the verdict are saved too, once the user has confirmed that:
/// [`Refusal::Ask`] is the question. `index` is the caller's, which need not be up to date.
pub fn discard(
    project: &Project,
    index: &mut RunIndex,
    run: Option<RunId>,
    message: &Message,
    confirmed: bool,
) -> StdResult<Decided, Refusal> {
    let asked = Asked {
        what: What::Discard,
        kernel: &project.kernel_name,
        text: message.subject(),
    };
    let locked = begin(project, &asked)?;
    require_subject(message)?;
    let (records, name) = (&locked.lock.store, &project.kernel_name);
    let on_disk = on_disk::read(project)?;
    index.refresh();
    let present = inputs::read(project);
    let picked = pick(project, records, index, run, &present)?;
    let discard = allowed(&snapshot(
        &locked.repo,
        project,
        index,
        &present,
        picked.as_ref(),
    )?)
    .discard?;
    if !confirmed && let Some(question) = discard.question(name, &project.argument) {
        return Err(Refusal::Ask(question));
    }
    if let (Discard::Decided(..), Some(record)) = (&discard, &picked) {
        return put_incumbent_back(project, &locked, on_disk.as_deref(), record, &asked);
    }
    let record = picked.filter(|_| !matches!(discard, Discard::Unjudged { .. }));
    let Some(mut record) = record else {
        return discard_unjudged(project, &locked, on_disk.as_deref(), message, &asked);
    };
    let bytes = judged_bytes(records, &record)?;
    let status = match record.verdict.as_ref().map(|v| v.outcome) {
        Some(Outcome::Crash) => Status::Crash,
        _ => Status::Discard,
    };
    let id = record.start.id;
    let message = &with_draft(message, &record);
    record.decision = Some(new_decision(index, status, message));
    let full = |error| space::explain(error, NOT_REPLACED);
    let stored = repo::prepare_discarded(&locked.repo, project, id, &bytes, &message.render())
        .map_err(full)?;
    let mut notes = vec![format!(
        "the attempt is kept as {} (`lab restore {}`)",
        stored.reference,
        repo::short(&stored.id)
    )];
    // The judged bytes get a ref of their own: only newer bytes must be saved besides.
    let saved = match on_disk.as_deref() {
        Some(newer) if newer != bytes => Some(save(project, &locked, newer, ON_DISK)?),
        _ => None,
    };
    notes.extend(saved.map(|saved| saved_note(&saved.id)));
    notes.extend(link_note(project));
    if repo::staged(&locked.repo, project).unwrap_or(false) {
        notes.push(format!(
            "you staged a version of {name}: it is still staged (`git restore --staged {name}`)"
        ));
    }
    let mut intent = Intent::new(&asked, project, &format!("of run {id}"));
    intent.commit = Some(stored.id.clone());
    let commit = stored.id.clone();
    intent.steps.push(Step::Name {
        stored,
        why: "lab discard".to_owned(),
    });
    intent.steps.push(put_back(&locked, on_disk.as_deref())?);
    intent
        .steps
        .extend(last_steps(project, &mut record, &commit));
    intent
        .steps
        .extend(repo::has_many_loose_refs(&locked.repo).then_some(Step::PackRefs));
    decide(
        project,
        &locked,
        index,
        &record,
        intent,
        NOT_REPLACED,
        notes,
    )
}

/// The step that puts the incumbent on disk, in place of these bytes.
fn put_back(locked: &Locked, on_disk: Option<&[u8]>) -> Result<Step> {
    let head = repo::head(&locked.repo)?
        .commit
        .context("HEAD is on no commit")?;
    Ok(Step::Kernel {
        commit: head,
        found: on_disk.map(on_disk::hash),
    })
}

/// Puts the incumbent back in place of bytes whose run was decided already: a commit holds them,
/// and they have their row.
fn put_incumbent_back(
    project: &Project,
    locked: &Locked,
    on_disk: Option<&[u8]>,
    record: &Record,
    asked: &Asked,
) -> StdResult<Decided, Refusal> {
    let decision = record.decision.as_ref();
    let commit = decision
        .and_then(|decision| decision.commit.clone())
        .unwrap_or_default();
    let (run, short) = (record.start.id, repo::short(&commit));
    let status = decision.map_or(Status::Discard, |decision| decision.status);
    // The commit may be gone: a fetch can move its ref.
    let held = repo::resolve(&locked.repo, &commit).is_ok();
    let saved = match on_disk.filter(|_| !held) {
        Some(bytes) => Some(save(project, locked, bytes, ON_DISK)?),
        None => None,
    };
    let mut intent = Intent::new(asked, project, &format!("of run {run}"));
    intent.steps.push(put_back(locked, on_disk)?);
    intent.commit = Some(commit.clone());
    let mut notes = carry_out(project, locked, intent, NOT_REPLACED)?.close(project, locked)?;
    let decided = if status == Status::Keep {
        "kept"
    } else {
        "discarded"
    };
    let description = decision.map_or("", |decision| &decision.description);
    notes.push(format!(
        "the bytes that were on disk are those of run {run}, which was {decided} already as {short} \
         ('{description}'): no further row is written (`lab restore {short}`)"
    ));
    notes.extend(saved.map(|saved| saved_note(&saved.id)));
    notes.extend(link_note(project));
    Ok(Decided {
        run: Some(run),
        status: Status::Discard,
        commit,
        row: None,
        notes,
    })
}

/// Discards bytes without a verdict: they are saved, and there is neither an experiment nor a row.
fn discard_unjudged(
    project: &Project,
    locked: &Locked,
    on_disk: Option<&[u8]>,
    message: &Message,
    asked: &Asked,
) -> StdResult<Decided, Refusal> {
    let head = repo::head(&locked.repo)?.commit.unwrap_or_default();
    let saved = match on_disk {
        Some(bytes) => Some(save(project, locked, bytes, &message.render())?),
        None => None,
    };
    let mut intent = Intent::new(asked, project, "of unjudged bytes");
    intent.steps.push(put_back(locked, on_disk)?);
    let commit = saved.as_ref().map_or(head, |saved| saved.id.clone());
    intent.commit = Some(commit.clone());
    let mut notes = carry_out(project, locked, intent, NOT_REPLACED)?.close(project, locked)?;
    notes.extend(
        saved
            .map(|saved| saved_note(&saved.id))
            .into_iter()
            .chain(link_note(project)),
    );
    Ok(Decided {
        run: None,
        status: Status::Discard,
        commit,
        row: None,
        notes,
    })
}

fn link_note(project: &Project) -> Option<String> {
    let target = repo::link_target(project)?;
    Some(format!(
        "{} is a link and stays one: {} was written",
        project.kernel_name,
        target.display()
    ))
}
