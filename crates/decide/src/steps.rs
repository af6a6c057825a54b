//! Takes the steps of a decision, which holds the decision lock. Each can be taken twice: the second
//! time it changes nothing.

use super::intent::{self, Intent, RowChange, Step, What};
use super::{judged_bytes, on_disk};
use anyhow::{Error, Result};
use lab_git::{ByProgram, Move, Moved, Repo};
use lab_project::Project;
use lab_run::RunId;
use lab_run::experiment::Row;
use lab_run::ledger::{self, Edit};
use lab_run::record::{Decision, Origin, Record};
use lab_store::DecisionLock;
use lab_store::signature::public::{self, Statement};
use lab_system::failure::Failure;
use lab_system::space;
use std::time::SystemTime;

/// What came of the steps. Where a step failed, those after it were not taken.
pub enum Came {
    /// All of them are taken, but for those that are owed. Notes for the user.
    Done(Vec<String>),
    /// Nothing was changed, because git is not where it was. The text says where it is.
    TakenBack(String),
    /// A step failed before anything was changed that the user sees.
    Failed(Error),
    /// A step failed after another one had changed what the user sees, so the rest must follow.
    Unfinished(Error),
}

/// Takes the steps of an intent that is on disk. Steps that failed and can wait are in
/// `intent.owed` afterwards.
pub fn take(locked: &Locked, intent: &mut Intent) -> Came {
    let mut taking = Taking {
        locked,
        intent,
        notes: Vec::new(),
        is_begun: false,
        is_row_missing: false,
    };
    for at in 0..taking.intent.steps.len() {
        match taking.take(at) {
            Ok(None) => {}
            Ok(Some(elsewhere)) => return Came::TakenBack(elsewhere),
            Err(error) if taking.is_begun => return Came::Unfinished(error),
            Err(error) => return Came::Failed(error),
        }
    }
    Came::Done(taking.notes)
}

/// An intent whose steps are being taken.
struct Taking<'a> {
    locked: &'a Locked,
    intent: &'a mut Intent,
    notes: Vec<String>,
    is_begun: bool,
    is_row_missing: bool,
}

impl Taking<'_> {
    /// Takes one step. `Some` says where git is, if that keeps the decision from being made.
    fn take(&mut self, at: usize) -> Result<Option<String>> {
        let (repo, what) = (&self.locked.repo, self.intent.what);
        let changes_what_is_seen = match self.intent.steps[at].clone() {
            Step::LockIndex => {
                lab_git::lock_index(repo)?;
                false
            }
            Step::Commit { branch, message } => {
                match lab_git::commit_by_program(repo, &branch, &message) {
                    Ok(ByProgram::Elsewhere(at)) => return Ok(Some(at)),
                    Ok(ByProgram::Made(id)) => self.made(at, branch, id)?,
                    Err(error) => {
                        // HEAD could not be moved back from the commit.
                        self.is_begun |= lab_git::head(repo)?.commit != branch.from;
                        return Err(error);
                    }
                }
                true
            }
            Step::MoveHead { branch } => {
                match lab_git::move_branch(repo, &branch)? {
                    Moved::Elsewhere(at) if !self.is_begun => return Ok(Some(at)),
                    Moved::Elsewhere(at) => self.notes.push(at),
                    Moved::Done => {
                        let to = branch.to.filter(|_| what != What::Undo);
                        let note = to.and_then(|to| lab_git::detached_note(repo, &to));
                        self.notes.extend(note);
                    }
                }
                true
            }
            Step::Name { stored, why } => {
                lab_git::name_commit(repo, &stored, &why)?;
                false
            }
            Step::Kernel { commit, found } => {
                let put = on_disk::put(repo, &commit, found.as_deref());
                // What stood there may be replaced, and not saved.
                self.is_begun |= put.is_err() && on_disk::present(&repo.project)? != found;
                self.notes.extend(put?);
                true
            }
            Step::PackRefs => {
                let why = pack_refs(repo);
                // After a discard, the next one tries again.
                self.notes.extend(why.filter(|_| what == What::PackRefs));
                false
            }
            Step::Stage { files } => {
                match lab_git::stage(repo, &files) {
                    Ok(notes) => self.notes.extend(notes),
                    Err(error) => {
                        self.notes.push(error.to_string());
                        self.intent.owed.push(Step::Stage { files });
                    }
                }
                false
            }
            Step::Row {
                emulated,
                row,
                change,
            } => {
                self.change_row(emulated, &row, change)?;
                true
            }
            Step::Decision {
                run,
                decision,
                undone,
            } => {
                self.decide(run, decision.map(|decision| *decision), undone)?;
                true
            }
            step @ (Step::Note { .. } | Step::JudgedBytes { .. }) => {
                if let Err(error) = add_to_commit(self.locked, &step) {
                    self.notes.push(format!(
                        "{}: {}",
                        without(&step, what),
                        lab_git::told(&error)
                    ));
                    if can_wait(self.locked, &step) {
                        self.intent.owed.push(step);
                    }
                }
                false
            }
        };
        self.is_begun |= changes_what_is_seen;
        Ok(None)
    }

    /// Notes the commit that the git program has made.
    fn made(&mut self, at: usize, branch: Move, id: String) -> Result<()> {
        self.is_begun = true;
        self.notes
            .extend(lab_git::detached_note(&self.locked.repo, &id));
        self.intent.set_commit(&id);
        let to = Some(id);
        self.intent.steps[at] = Step::MoveHead {
            branch: Move { to, ..branch },
        };
        self.intent.write(&self.locked.repo.project)
    }

    /// A row that cannot be appended is noted: the decision stands without it.
    fn change_row(&mut self, emulated: bool, row: &Row, change: RowChange) -> Result<()> {
        let path = &ledger::path(&self.locked.repo.project, emulated);
        match change {
            RowChange::Append { from } => {
                if let Err(error) = ledger::append_once(path, row, from) {
                    self.is_row_missing = true;
                    self.notes.push(format!("{error:#}"));
                    // No record owes the row of a change of the rules.
                    let owed = (self.intent.what == What::Rules).then(|| Step::Row {
                        emulated,
                        row: row.clone(),
                        change,
                    });
                    self.intent.owed.extend(owed);
                }
            }
            RowChange::TakeOut => {
                ledger::replace(path, row, Edit::TakeOut)?;
            }
            RowChange::Describe { description } => {
                if !ledger::replace(path, row, Edit::Describe(&description))? {
                    self.notes.push(format!(
                        "its row is not in {}: nothing was changed there",
                        path.display()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Writes the decision into the record of its run.
    fn decide(&self, run: RunId, decision: Option<Decision>, undone: Vec<Decision>) -> Result<()> {
        let lock = &self.locked.lock;
        let before = lock.store.read(run)?;
        let mut record = Record {
            decision,
            undone,
            ..before.clone()
        };
        if let Some(decision) = &mut record.decision {
            decision.row_written &= !self.is_row_missing;
        }
        if record == before {
            // A lab that was killed may have written the record and not noted it.
            lock.note(&record);
            return Ok(());
        }
        lock.write(&record)
    }
}

/// Packs the lab's refs. If that fails, they stay as they are; returns why.
fn pack_refs(repo: &Repo) -> Option<String> {
    // What a process that was killed here left is in the way of the next one.
    let since = intent::written_at(&repo.project).unwrap_or_else(SystemTime::now);
    lab_git::pack_refs(repo).err()?;
    lab_git::remove_leftovers(repo, Some(since));
    let error = lab_git::pack_refs(repo).err()?;
    lab_git::remove_leftovers(repo, Some(since));
    Some(format!("{error:#}"))
}

/// Tries the steps that failed before. Returns those that fail again.
pub fn retry(locked: &Locked, owed: Vec<Step>) -> Vec<Step> {
    let fails = |step: &Step| add_to_commit(locked, step).is_err() && can_wait(locked, step);
    owed.into_iter().filter(fails).collect()
}

/// The note of a record. This user's has a signature that a clone can prove; without a key it has
/// none.
fn note_of(record: &Record) -> Result<String> {
    let signed = match record.origin {
        Origin::Own => public::signed(Statement::Note, record).ok(),
        Origin::Foreign | Origin::Listed => None,
    };
    Ok(signed.map_or_else(|| serde_json::to_string_pretty(record), Ok)?)
}

/// Takes a step that adds something to a commit, or follows it. It changes nothing for the decision.
fn add_to_commit(locked: &Locked, step: &Step) -> Result<()> {
    match step {
        Step::Note { commit, run, text } => {
            let record = run.map(|run| locked.lock.store.read(run)).transpose()?;
            let of_record = record.as_ref().map(note_of);
            let Some(text) = of_record.transpose()?.or_else(|| text.clone()) else {
                return Ok(());
            };
            lab_git::note(&locked.repo, commit, &text)
                .and_so("the git note of the commit was not written")
        }
        Step::JudgedBytes { commit, run } => {
            let record = locked.lock.store.read(*run)?;
            let bytes = judged_bytes(&locked.lock.store, &record)?;
            // A step that is owed may be about another kernel than this command.
            lab_git::remember_bytes(&locked.repo, &record.start.kernel, commit, &bytes)
        }
        Step::Stage { files } => lab_git::stage(&locked.repo, files).map(drop),
        Step::Row {
            emulated,
            row,
            change: RowChange::Append { from },
        } => ledger::append_once(&ledger::path(&locked.repo.project, *emulated), row, *from),
        _ => Ok(()),
    }
}

/// Whether a step that failed can be taken later: its commit is here, and so are the bytes of its
/// run.
fn can_wait(locked: &Locked, step: &Step) -> bool {
    match step {
        Step::Note { commit, .. } => lab_git::resolve(&locked.repo, commit).is_ok(),
        Step::JudgedBytes { commit, run } => {
            lab_git::resolve(&locked.repo, commit).is_ok()
                && locked.lock.store.judged_kernel(*run).is_ok()
        }
        Step::Stage { .. } | Step::Row { .. } => true,
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

pub struct Locked {
    pub repo: Repo,
    pub lock: DecisionLock,
    /// Steps of earlier decisions that failed and are tried again.
    pub owed: Vec<Step>,
    /// What was done for earlier decisions, for the user.
    pub said: Vec<String>,
}

impl Locked {
    pub fn new(project: &Project, lock: DecisionLock) -> Result<Locked> {
        Ok(Locked {
            repo: Repo::open(project)?,
            lock,
            owed: Vec::new(),
            said: Vec::new(),
        })
    }

    /// Leaves the steps that are owed for the next command, and removes the intent where there are
    /// none.
    pub fn close(&self, owed: Vec<Step>) -> Result<()> {
        self.lock.end();
        let project = &self.repo.project;
        if owed.is_empty() {
            return intent::remove(project);
        }
        let only_owed = Intent::new(What::Append, project, "");
        let written = Intent { owed, ..only_owed }.write(project);
        written.and_so("what is left to do is not noted")
    }

    /// Removes an intent that has changed nothing that the user sees.
    pub fn withdraw(&self, intent: &Intent) -> Result<()> {
        take_names_back(&self.repo, intent);
        lab_git::unlock_index(&self.repo)?;
        self.close(self.owed.clone())
    }
}

/// The error of an intent that the next lab goes on with.
pub fn unfinished(intent: &Intent, error: Error) -> Error {
    let error = space::explain(error, &format!("{} is not finished", intent.subject));
    error.context("the next `lab` goes on with it")
}

/// Takes back the names that an intent gave to commits, where none of its steps changed what the user
/// sees: the decision that is tried again would name its commit a second time. A commit keeps its
/// name if nothing else holds its kernel.
fn take_names_back(repo: &Repo, intent: &Intent) {
    let Ok(present) = on_disk::read(&repo.project) else {
        return;
    };
    let head = lab_git::head(repo).ok().and_then(|head| head.commit);
    for step in &intent.steps {
        let Step::Name { stored, .. } = step else {
            continue;
        };
        let is_on_disk = || lab_git::bytes_of(repo, &stored.id).ok() == present;
        if present.is_some() && (head.as_ref() == Some(&stored.id) || is_on_disk()) {
            // A name that cannot be removed costs nothing.
            let _ = lab_git::unname_commit(repo, stored);
        }
    }
}
