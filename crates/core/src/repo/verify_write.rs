//! Verifies a write: on a full disk, libgit2 has reported a commit that it had not made.

use super::{CommitFile, Repo, blob_in};
use anyhow::{Context, Result, bail};
use git2::{Oid, Repository};

/// Reads back that `reference` names `commit`, and that the commit's files can be read.
pub(super) fn is_there(repo: &Repo, reference: &str, commit: Oid) -> Result<()> {
    check(repo, reference, commit, |git| {
        git.find_commit(commit)?
            .tree()
            .map(drop)
            .map_err(Into::into)
    })
}

/// Reads back that `reference` names `commit`, and that the commit holds `blob` under `name`
/// (`None`: no file). It opens the repository anew: what this handle remembers proves nothing.
pub(super) fn read_back(
    repo: &Repo,
    reference: &str,
    commit: Oid,
    name: &str,
    blob: impl Into<Option<Oid>>,
) -> Result<()> {
    let blob = blob.into();
    check(repo, reference, commit, |git| {
        holds(git, commit, name, blob)
    })
}

/// [`read_back`] of several files of one commit.
pub(super) fn read_back_files(
    repo: &Repo,
    reference: &str,
    commit: Oid,
    files: &[CommitFile],
) -> Result<()> {
    check(repo, reference, commit, |git| {
        files
            .iter()
            .try_for_each(|file| holds(git, commit, &file.name, file.id()))
    })
}

fn holds(git: &Repository, commit: Oid, name: &str, blob: Option<Oid>) -> Result<()> {
    let held = blob_in(&git.find_commit(commit)?, name).map(|(id, _)| id);
    if held != blob {
        bail!("{name} is not in it");
    }
    if let Some(blob) = blob {
        git.find_blob(blob)?;
    }
    Ok(())
}

fn check(
    repo: &Repo,
    reference: &str,
    commit: Oid,
    holds: impl Fn(&Repository) -> Result<()>,
) -> Result<()> {
    let fresh = repo.anew()?;
    let git = &fresh.git;
    let read = || -> Result<()> {
        if git.refname_to_id(reference)? != commit {
            bail!("{reference} does not name it");
        }
        holds(git)
    };
    read().with_context(|| {
        format!(
            "commit {} was not written, though git reported no error. Is the disk full? Make room on it, \
             then try again",
            super::short(&commit.to_string())
        )
    })
}
