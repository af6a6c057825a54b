//! Restore: puts a kernel of some commit on disk. What was there is saved first.

use super::decision::Decision;
use super::intent::{Step, What};
use super::on_disk::{self, NOT_REPLACED, ON_DISK, save};
use super::{Refusal, judged_bytes};
use anyhow::Result;
use lab_git::Repo;
use lab_history::names::{Named, NotInGit, resolve_name};
use lab_project::Project;
use lab_run::inputs;
use lab_store::RunStore;
use schemars::JsonSchema;
use serde::Serialize;
use std::result::Result as StdResult;

/// What a restore did.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Restored {
    /// Full id of the commit whose kernel is now on disk.
    pub commit: String,
    /// Its subject.
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

/// The commit that a name means, as [`resolve_name`] finds it. The bytes of a run that no commit holds
/// get one.
pub fn named(repo: &Repo, name: &str) -> Result<Named> {
    let error = match resolve_name(repo, name) {
        Ok(named) => return Ok(named),
        Err(error) => error,
    };
    let Some(NotInGit { run, .. }) = error.downcast_ref() else {
        return Err(error);
    };
    let store = RunStore::of(&repo.project);
    let record = store.read(*run)?;
    let bytes = judged_bytes(&store, &record)?;
    let root = &repo.project.root;
    let project = Project::open(root, Some(&root.join(&record.start.kernel)))?;
    let subject = format!("lab: the kernel of run {run}");
    let stored = save(&Repo::open(&project)?, &bytes, &subject)?;
    Ok(Named {
        commit: stored.id,
        kernel: Some(record.start.kernel),
    })
}

/// [`restore`] of a commit by its full id. Reads no history: its time does not grow with the number
/// of experiments.
pub fn restore_commit(project: &Project, commit: &str) -> StdResult<Restored, Refusal> {
    put_on_disk(Decision::begin(project, What::Restore, commit)?, commit)
}

pub fn put_on_disk(mut restoring: Decision, commit: &str) -> StdResult<Restored, Refusal> {
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
            found: before.as_deref().map(inputs::hash_of),
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
