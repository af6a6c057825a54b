//! What a decision, or the resuming of one, works with while it holds the decision lock.

use super::intent::{self, Intent, What};
use super::step::Step;
use super::steps::take_names_back;
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
