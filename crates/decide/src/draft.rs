//! What the author of a run said of it before anybody decided it. A run that `lab auto` leaves to a
//! person keeps that, and its bytes get a ref.

use super::judged_bytes;
use anyhow::Result;
use lab_git::Repo;
use lab_project::Project;
use lab_run::RunId;
use lab_run::message::{Message, TrailerKey};
use lab_run::record::{Draft, Record};
use lab_store::DecisionLock;

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
pub(super) fn with_draft(message: &Message, record: &Record) -> Message {
    let said = record.draft.iter().flat_map(|draft| &draft.trailers);
    let learned =
        said.filter(|(key, _)| matches!(key, TrailerKey::Hypothesis | TrailerKey::Lesson));
    learned.fold(message.clone(), |message, (key, value)| {
        message.with_default(key.clone(), value)
    })
}
