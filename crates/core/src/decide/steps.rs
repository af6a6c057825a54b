//! Takes the steps of a decision. Each can be taken twice: the second time it changes nothing.

use super::intent::{self, Intent, What};
use super::step::{RowChange, Step};
use super::{Locked, judged_bytes, on_disk};
use crate::disk::space;
use crate::ledger::{self, Edit};
use crate::project::Project;
use crate::repo::{self, ByProgram, Move, Moved};
use anyhow::{Error, Result};
use std::path::Path;
use std::time::SystemTime;

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

/// Takes the steps of an intent that is on disk. Steps that failed and can wait are in
/// `intent.owed` afterwards.
pub(super) fn take(
    project: &Project,
    locked: &Locked,
    intent: &mut Intent,
) -> Result<Came, Failure> {
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
                        intent.steps[at] = Step::MoveHead {
                            branch: Move {
                                to: Some(id),
                                ..branch
                            },
                        };
                        intent
                            .write(project)
                            .map_err(|error| Failure { error, is_begun })?;
                    }
                }
            }
            Step::MoveHead { branch } => {
                match repo::move_branch(&locked.repo, &branch).map_err(failed)? {
                    Moved::Elsewhere(at) if !is_begun => return Ok(Came::TakenBack(at)),
                    Moved::Elsewhere(at) => notes.push(at),
                    Moved::Done | Moved::Already if intent.what != What::Undo => {
                        notes.extend(
                            branch
                                .to
                                .and_then(|to| repo::detached_note(&locked.repo, &to)),
                        );
                    }
                    Moved::Done | Moved::Already => {}
                }
                is_begun = true;
            }
            Step::Name { stored, why } => {
                repo::name_commit(&locked.repo, &stored, &why).map_err(failed)?;
            }
            Step::Kernel { commit, found } => {
                let put = on_disk::put(project, locked, &commit, found.as_deref());
                notes.extend(put.map_err(failed)?);
                is_begun = true;
            }
            // After a discard, the next one tries again.
            Step::PackRefs => {
                notes.extend(pack_refs(project, locked).filter(|_| intent.what == What::PackRefs));
            }
            Step::Stage { files } => notes.extend(repo::stage(&locked.repo, &files)),
            Step::Row {
                emulated,
                row,
                change,
            } => {
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
                        if !ledger::replace(&path, &row, Edit::Describe(&description))
                            .map_err(failed)?
                        {
                            let path = path.display();
                            notes.push(format!(
                                "its row is not in {path}: nothing was changed there"
                            ));
                        }
                    }
                }
                is_begun = true;
            }
            Step::Decision {
                run,
                decision,
                undone,
            } => {
                let write = || -> Result<()> {
                    let mut record = locked.lock.store.read(run)?;
                    let before = record.clone();
                    record.decision = decision.as_deref().cloned();
                    if let Some(decision) = &mut record.decision {
                        decision.row_written &= !is_row_missing;
                    }
                    record.undone = undone;
                    if record == before {
                        Ok(())
                    } else {
                        locked.lock.write(&record)
                    }
                };
                write().map_err(failed)?;
                is_begun = true;
            }
            step @ (Step::Note { .. } | Step::JudgedBytes { .. }) => {
                if let Err(error) = add_to_commit(project, locked, &step) {
                    notes.push(format!("{}: {error:#}", without(&step, intent.what)));
                    if can_wait(locked, &step) {
                        intent.owed.push(step);
                    }
                }
            }
        }
    }
    Ok(Came::Done(notes))
}

/// Packs the lab's refs. If that fails, they stay as they are; returns why.
fn pack_refs(project: &Project, locked: &Locked) -> Option<String> {
    // What a process that was killed here left is in the way of the next one.
    let since = intent::written_at(project).unwrap_or_else(SystemTime::now);
    repo::pack_refs(&locked.repo).err()?;
    repo::remove_leftovers(&locked.repo, Some(since));
    let error = repo::pack_refs(&locked.repo).err()?;
    repo::remove_leftovers(&locked.repo, Some(since));
    Some(format!("{error:#}"))
}

/// Tries the steps that failed before. Returns those that fail again.
pub(super) fn retry(project: &Project, locked: &Locked, owed: Vec<Step>) -> Vec<Step> {
    let fails =
        |step: &Step| add_to_commit(project, locked, step).is_err() && can_wait(locked, step);
    owed.into_iter().filter(fails).collect()
}

/// Takes a step that adds something to a commit. It changes nothing for the decision.
fn add_to_commit(project: &Project, locked: &Locked, step: &Step) -> Result<()> {
    match step {
        Step::Note { .. } => note(locked, step),
        Step::JudgedBytes { commit, run } => {
            let record = locked.lock.store.read(*run)?;
            // A step that is owed may be about another kernel than this command.
            let of_record = (record.start.kernel != project.kernel_name)
                .then(|| Project::open(&project.root, Some(Path::new(&record.start.kernel))))
                .transpose()?;
            let bytes = judged_bytes(&locked.lock.store, &record)?;
            repo::remember_bytes(
                &locked.repo,
                of_record.as_ref().unwrap_or(project),
                commit,
                &bytes,
            )
        }
        _ => Ok(()),
    }
}

/// Writes the note of a [`Step::Note`].
fn note(locked: &Locked, step: &Step) -> Result<()> {
    let Step::Note { commit, run, text } = step else {
        return Ok(());
    };
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

/// Whether a step that failed can be taken later: its commit is here, and so are the bytes of its
/// run.
fn can_wait(locked: &Locked, step: &Step) -> bool {
    match step {
        Step::Note { commit, .. } => repo::resolve(&locked.repo, commit).is_ok(),
        Step::JudgedBytes { commit, run } => {
            repo::resolve(&locked.repo, commit).is_ok()
                && locked.lock.store.judged_kernel(*run).is_ok()
        }
        _ => false,
    }
}

/// What it means that a step which adds something to a commit is not taken.
fn without(step: &Step, what: What) -> &'static str {
    match what {
        _ if matches!(step, Step::JudgedBytes { .. }) => {
            "`lab restore` puts other line endings on disk than were judged until the next command remembers them"
        }
        What::Undo => "the git note of the commit still says that it was decided",
        What::Describe => "its git note still has the old description",
        _ => "the experiment is kept here, but its record does not go with the commit",
    }
}
