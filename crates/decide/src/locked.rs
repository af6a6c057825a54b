//! What a decision, or the resuming of one, works with while it holds the decision lock.

use super::intent::{self, Intent, What};
use super::on_disk;
use super::step::Step;
use anyhow::{Error, Result};
use lab_git::Repo;
use lab_project::Project;
use lab_store::DecisionLock;
use lab_system::space;

pub(super) struct Locked {
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
        Intent { owed, ..only_owed }.write(project)
    }

    /// Removes an intent that has changed nothing that the user sees.
    pub fn withdraw(&self, intent: &Intent) -> Result<()> {
        take_names_back(&self.repo, intent);
        lab_git::unlock_index(&self.repo)?;
        self.close(self.owed.clone())
    }
}

/// The error of an intent that the next lab goes on with.
pub(super) fn unfinished(intent: &Intent, error: Error) -> Error {
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
