//! Takes the steps of a decision. Each can be taken twice: the second time it changes nothing.

use super::intent::{Intent, What};
use super::step::{RowChange, Step};
use super::{Locked, on_disk};
use crate::disk::space;
use crate::ledger::{self, Edit};
use crate::project::Project;
use crate::repo::{self, ByProgram, Move, Moved};
use anyhow::{Error, Result};

/// What came of the steps.
pub(super) enum Came {
    /// All of them are taken, but for those that are owed. Notes for the user.
    Done(Vec<String>),
    /// Nothing was changed, because git is not where it was. The text says where it is.
    TakenBack(String),
}

/// A step failed, and those after it were not taken.
pub(super) struct Failure {
    pub error: Error,
    /// A step before it has changed what the user sees, so the rest must follow.
    pub is_begun: bool,
}

/// Takes the steps of an intent that is on disk. Steps that failed and can wait are in `intent.owed` afterwards.
pub(super) fn take(project: &Project, locked: &Locked, intent: &mut Intent) -> Result<Came, Failure> {
    let (mut notes, mut is_begun, mut is_row_missing) = (Vec::new(), false, false);
    for at in 0..intent.steps.len() {
        let failed = |error| Failure { error, is_begun };
        match intent.steps[at].clone() {
            Step::LockIndex => repo::lock_index(&locked.repo).map_err(failed)?,
            Step::Commit { branch, message } => {
                let came = repo::commit_by_program(&locked.repo, project, &branch, &message);
                match came.map_err(failed)? {
                    ByProgram::Elsewhere(at) => return Ok(Came::TakenBack(at)),
                    ByProgram::Made(id) => {
                        is_begun = true;
                        notes.extend(repo::detached_note(&locked.repo, &id));
                        intent.set_commit(&id);
                        intent.steps[at] = Step::MoveHead { branch: Move { to: Some(id), ..branch } };
                        intent.write(project).map_err(|error| Failure { error, is_begun })?;
                    }
                }
            }
            Step::MoveHead { branch } => {
                match repo::move_branch(&locked.repo, &branch).map_err(failed)? {
                    Moved::Elsewhere(at) if !is_begun => return Ok(Came::TakenBack(at)),
                    Moved::Elsewhere(at) => notes.push(at),
                    Moved::Done | Moved::Already if intent.what != What::Undo => {
                        notes.extend(branch.to.and_then(|to| repo::detached_note(&locked.repo, &to)));
                    }
                    Moved::Done | Moved::Already => {}
                }
                is_begun = true;
            }
            Step::Name { stored, why } => repo::name_commit(&locked.repo, &stored, &why).map_err(failed)?,
            Step::Kernel { commit, found } => {
                let put = on_disk::put(project, locked, &commit, found.as_deref());
                notes.extend(put.map_err(failed)?);
                is_begun = true;
            }
            Step::Stage { files } => notes.extend(repo::stage(&locked.repo, &files)),
            Step::Row { emulated, row, change } => {
                let path = ledger::path(project, emulated);
                match change {
                    RowChange::Append { from } => {
                        if let Err(error) = ledger::append_once(&path, &row, from) {
                            is_row_missing = true;
                            notes.push(format!("{error:#}"));
                        }
                    }
                    RowChange::TakeOut => {
                        ledger::replace(&path, &row, Edit::TakeOut).map_err(failed)?;
                    }
                    RowChange::Describe { description } => {
                        if !ledger::replace(&path, &row, Edit::Describe(&description)).map_err(failed)? {
                            let path = path.display();
                            notes.push(format!("its row is not in {path}: nothing was changed there"));
                        }
                    }
                }
                is_begun = true;
            }
            Step::Decision { run, decision, undone } => {
                let write = || -> Result<()> {
                    let mut record = locked.lock.store.read(run)?;
                    let before = record.clone();
                    record.decision = decision.as_deref().cloned();
                    if let Some(decision) = &mut record.decision {
                        decision.row_written &= !is_row_missing;
                    }
                    record.undone = undone;
                    if record == before { Ok(()) } else { locked.lock.write(&record) }
                };
                write().map_err(failed)?;
                is_begun = true;
            }
            Step::Note { .. } => {
                if let Err(error) = note(locked, &intent.steps[at]) {
                    notes.push(format!("{}: {error:#}", without_note(intent.what)));
                    if can_wait(locked, &intent.steps[at]) {
                        intent.owed.push(intent.steps[at].clone());
                    }
                }
            }
        }
    }
    Ok(Came::Done(notes))
}

/// Tries the steps that failed before. Returns those that fail again.
pub(super) fn retry(locked: &Locked, owed: Vec<Step>) -> Vec<Step> {
    owed.into_iter().filter(|step| note(locked, step).is_err() && can_wait(locked, step)).collect()
}

/// Writes the note of a [`Step::Note`].
fn note(locked: &Locked, step: &Step) -> Result<()> {
    let Step::Note { commit, run, text } = step else { return Ok(()) };
    match (run, text) {
        (Some(run), _) => {
            let text = serde_json::to_string_pretty(&locked.lock.store.read(*run)?)?;
            write_note(locked, commit, &text)
        }
        (None, Some(text)) => write_note(locked, commit, text),
        (None, None) => Ok(()),
    }
}

fn write_note(locked: &Locked, commit: &str, text: &str) -> Result<()> {
    repo::note(&locked.repo, commit, text)
        .map_err(|error| space::explain(error, "the git note of the commit was not written"))
}

/// Whether a note that failed can be written later: its commit is here.
fn can_wait(locked: &Locked, step: &Step) -> bool {
    matches!(step, Step::Note { commit, .. } if repo::resolve(&locked.repo, commit).is_ok())
}

/// What it means that the note is not written.
fn without_note(what: What) -> &'static str {
    match what {
        What::Undo => "the git note of the commit still says that it was decided",
        What::Describe => "its git note still has the old description",
        _ => "the experiment is kept here, but its record does not go with the commit",
    }
}
