//! Changes that are about no decision of their own: rows that earlier decisions owe, and refs that
//! are packed. Each has an intent, so that the next command completes it and removes the lock of a
//! git that was killed.

use super::decision::Decision;
use super::finish::{append_step, decision_step, note_step, owes_row};
use super::intent::{Step, What};
use super::{Refusal, judged_bytes, no};
use anyhow::{Result, bail};
use lab_git::Repo;
use lab_project::Project;
use lab_run::RunId;
use lab_run::message::{Message, TrailerKey};
use lab_run::record::{Draft, Record};
use lab_store::{DecisionLock, Fact, RunIndex};
use std::result::Result as StdResult;

/// Adds every row that a decision owes to its ledger. Returns the number of rows; an error is the
/// first failure.
pub fn append_missing(project: &Project) -> Result<usize> {
    let mut adding = Decision::begin(project, What::Append, "")?;
    let mut added = 0;
    for mut record in lab_history::missing(adding.repo()) {
        let Some(decision) = &mut record.decision else {
            continue;
        };
        let Some(row) = decision.row.clone() else {
            continue;
        };
        // The note of the commit says so too, if the row was never written.
        let note = (!std::mem::replace(&mut decision.row_written, true))
            .then(|| note_step(record.start.id, decision.commit.clone()));
        let append = append_step(project, record.emulated(), row);
        adding.intent.steps = vec![append, decision_step(&record)];
        adding.add(note);
        adding.finish("no row was added")?;
        // The step only notes a ledger that cannot be written. Here that is an error.
        let written = adding.records().read(record.start.id)?.decision;
        if !written.is_some_and(|decision| decision.row_written) {
            bail!("{}", adding.notes.join("; "));
        }
        added += 1;
    }
    Ok(added)
}

/// Adds the rows that decisions owe, if the index knows of any: the disk was full when they were to
/// be written. Call [`RunIndex::refresh`] first. Returns the number of rows.
pub fn append_owed(project: &Project, index: &mut RunIndex) -> Result<usize> {
    let is_any = index
        .newest_with(|keys| keys.is(Fact::OwesRow))
        .any(owes_row);
    if !is_any {
        return Ok(0);
    }
    let added = append_missing(project)?;
    index.refresh();
    Ok(added)
}

/// Packs the refs below `refs/lab` into git's file of packed refs. Every ref stays. Returns how
/// many of them are no files of their own any more.
pub fn pack_refs(project: &Project) -> StdResult<usize, Refusal> {
    let loose = |repo: &Repo| lab_git::loose_refs(repo, usize::MAX);
    if loose(&Repo::open(project)?) == 0 {
        return Ok(0);
    }
    let mut packing = Decision::begin(project, What::PackRefs, "")?;
    // Another lab may have packed them until it released the lock.
    let before = loose(packing.repo());
    packing.add([Step::PackRefs]);
    packing.finish("no ref was packed")?;
    match loose(packing.repo()) {
        after if after < before || before == 0 => Ok(before - after),
        _ if packing.notes.is_empty() => no(
            "git packed no ref of the lab: it leaves out those whose objects it cannot read, and `git fsck` names them",
        ),
        _ => no(packing.notes.join("; ")),
    }
}

/// The same where there are so many refs that it is worth its time, as after a fetch. Returns what
/// came of it, in words.
pub fn pack_many_refs(project: &Project) -> Option<String> {
    if !lab_git::has_many_loose_refs(&Repo::open(project).ok()?) {
        return None;
    }
    Some(match pack_refs(project) {
        Ok(packed) => format!("{packed} refs of the lab are in one file now"),
        Err(refusal) => format!("the refs of the lab stay files of their own: {refusal}"),
    })
}

/// Writes the message of an undecided run into its record, and names its bytes `refs/lab/left/RUN`.
/// Does nothing twice, and nothing about a decided run.
pub fn leave(project: &Project, run: RunId, message: &Message) -> Result<()> {
    let lock = DecisionLock::take(project)?;
    let mut record = lock.store.read(run)?;
    if record.decision.is_some() || record.draft.is_some() {
        lock.end();
        return Ok(());
    }
    let repo = Repo::open(project)?;
    let bytes = judged_bytes(&lock.store, &record)?;
    lab_git::name_left(&repo, run, &bytes, &message.render())?;
    let (description, trailers) = (message.subject().to_owned(), message.trailers().to_vec());
    record.draft = Some(Draft {
        description,
        trailers,
    });
    lock.write(&record)?;
    lock.end();
    Ok(())
}

/// The message with the hypothesis and the lesson of the run's author, where it has none of its
/// own.
pub fn with_draft(message: &Message, record: &Record) -> Message {
    let said = record.draft.iter().flat_map(|draft| &draft.trailers);
    let learned =
        said.filter(|(key, _)| matches!(key, TrailerKey::Hypothesis | TrailerKey::Lesson));
    learned.fold(message.clone(), |message, (key, value)| {
        message.with_default(key.clone(), value)
    })
}
