//! Writes refs: under git's lock, from one object to another.

use super::obstacle::any_signature;
use super::{Repo, durable, locks};
use anyhow::{Context, Error, Result, bail};
use git2::{ErrorCode, Oid, Repository};

/// What a ref names; `None` if there is no such ref.
pub fn tip(git: &Repository, reference: &str) -> Result<Option<Oid>> {
    match git.refname_to_id(reference) {
        Ok(id) => Ok(Some(id)),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::UnbornBranch) => {
            Ok(None)
        }
        Err(error) => Err(Error::new(error).context(format!("cannot read {reference}"))),
    }
}

/// Sets the ref from one object to another under git's lock, if it is still at the first. Reads no
/// other ref: libgit2's own function reads all packed refs first, and there may be 10,000.
pub fn set(
    repo: &Repo,
    reference: &str,
    from: Option<Oid>,
    to: Option<Oid>,
    why: &str,
) -> Result<()> {
    let git = &repo.git;
    let mut change = git.transaction()?;
    change.lock_ref(reference)?;
    if tip(git, reference)? != from {
        bail!("another git command moved {reference} meanwhile: try again");
    }
    match to {
        Some(to) => change.set_target(reference, to, Some(&any_signature(git)?), why)?,
        None => change.remove(reference)?,
    }
    Ok(change.commit()?)
}

/// Writes a ref that only the lab writes, and waits until it is on disk. `from` is what it names
/// before.
pub fn write_ref(repo: &Repo, name: &str, from: Option<Oid>, to: Oid, why: &str) -> Result<()> {
    locks::clear_own_ref(repo, name)?;
    set(repo, name, from, Some(to), why).with_context(|| format!("cannot write {name}"))?;
    durable::reference(repo, name)
}

/// Stores bytes as they are, under a ref that only the lab writes.
pub fn write_blob(repo: &Repo, name: &str, from: Option<Oid>, bytes: &[u8]) -> Result<()> {
    let blob = repo.git.blob(bytes)?;
    durable::objects(repo, &[blob])?;
    write_ref(repo, name, from, blob, "as it was on disk")
}
