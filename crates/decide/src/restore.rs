//! Restore: puts a kernel of some commit on disk. What was there is saved first.

use super::Refusal;
use super::decision::Decision;
use super::intent::What;
use super::on_disk::{self, NOT_REPLACED, ON_DISK, save};
use super::step::Step;
use lab_history::names::resolve_name;
use lab_project::Project;
use serde::Serialize;
use std::result::Result as StdResult;

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Restored {
    /// Full id of the commit whose kernel is now on disk.
    pub commit: String,
    pub subject: String,
    /// Full id of the commit that holds the bytes that were on disk; `None` if they were the same.
    pub saved: Option<String>,
    /// The bytes on disk are other ones now.
    pub changed: bool,
}

/// Puts the kernel of any commit or experiment on disk, by any name that [`resolve_name`] knows.
/// The bytes on disk are saved first.
pub fn restore(project: &Project, name: &str) -> StdResult<Restored, Refusal> {
    let restoring = Decision::begin(project, What::Restore, name)?;
    let commit = resolve_name(restoring.repo(), name)?.commit;
    put_on_disk(restoring, &commit)
}

/// [`restore`] of a commit by its full id. Reads no history: its time does not grow with the number
/// of experiments.
pub fn restore_commit(project: &Project, commit: &str) -> StdResult<Restored, Refusal> {
    put_on_disk(Decision::begin(project, What::Restore, commit)?, commit)
}

fn put_on_disk(mut restoring: Decision, commit: &str) -> StdResult<Restored, Refusal> {
    let project = restoring.project;
    let (commit, subject) = lab_git::resolve(restoring.repo(), commit)?;
    let before = on_disk::read(project)?;
    let changed = before != Some(lab_git::bytes_of(restoring.repo(), &commit)?);
    let mut saved = None;
    if changed {
        if let Some(bytes) = &before {
            saved = Some(save(restoring.repo(), bytes, ON_DISK)?.id);
        }
        restoring.is_about(
            &format!("of {}", lab_git::short(&commit)),
            Some(commit.clone()),
        );
        restoring.add([Step::Kernel {
            commit: commit.clone(),
            found: before.as_deref().map(on_disk::hash),
        }]);
        restoring.finish(NOT_REPLACED)?;
    }
    Ok(Restored {
        commit,
        subject,
        saved,
        changed,
    })
}
