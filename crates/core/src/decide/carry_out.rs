//! Carries out an intent: writes it, takes its steps, removes it.

use super::intent::{self, Intent};
use super::step::Step;
use super::steps::{self, Came, Failure};
use super::{Locked, Refusal, no};
use crate::disk::space;
use crate::project::Project;
use crate::repo;
use anyhow::{Error, Result};
use std::result::Result as StdResult;

/// A decision that is carried out. Its intent is still on disk: [`Carried::close`] removes it, once
/// the user may know.
pub(super) struct Carried {
    pub intent: Intent,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

impl Carried {
    /// Removes the intent. Until then the next lab says that the decision is done, and decides
    /// nothing else.
    pub(super) fn close(self, project: &Project, locked: &Locked) -> Result<Vec<String>> {
        close(project, locked, self.intent.owed)?;
        Ok(self.notes)
    }
}

/// Leaves the steps that are owed for the next command, and removes the intent where there are
/// none.
pub(super) fn close(project: &Project, locked: &Locked, owed: Vec<Step>) -> Result<()> {
    locked.lock.end();
    if owed.is_empty() {
        return intent::remove(project);
    }
    let only_owed = Intent {
        owed,
        ..Intent::empty()
    };
    only_owed.write(project)
}

/// Writes an intent and takes its steps. `nothing` says what a full disk means as long as no step
/// has changed anything: "nothing was kept". On an error nothing was changed, or the next lab goes
/// on.
pub(super) fn carry_out(
    project: &Project,
    locked: &Locked,
    mut intent: Intent,
    nothing: &str,
) -> StdResult<Carried, Refusal> {
    intent.owed.clone_from(&locked.owed);
    intent.write(project)?;
    match steps::take(project, locked, &mut intent) {
        Ok(Came::Done(mut notes)) => {
            notes.splice(0..0, locked.said.iter().cloned());
            Ok(Carried { intent, notes })
        }
        Ok(Came::TakenBack(at)) => {
            withdraw(project, locked)?;
            no(format!("{at}: nothing was changed, so try again"))
        }
        Err(Failure {
            error,
            is_begun: false,
        }) => {
            withdraw(project, locked)?;
            Err(space::explain(error, nothing).into())
        }
        Err(Failure {
            error,
            is_begun: true,
        }) => Err(unfinished(&intent, error).into()),
    }
}

/// The error of an intent that the next lab goes on with.
pub(super) fn unfinished(intent: &Intent, error: Error) -> Error {
    let error = space::explain(error, &format!("{} is not finished", intent.subject));
    error.context("the next `lab` goes on with it")
}

/// Removes an intent that has changed nothing.
pub(super) fn withdraw(project: &Project, locked: &Locked) -> Result<()> {
    repo::unlock_index(&locked.repo)?;
    close(project, locked, locked.owed.clone())
}
