//! Restore: puts a kernel of some commit on disk. What was there is saved first.

use super::{Locked, begin, read_on_disk};
use crate::disk::space;
use crate::history::names::resolve_name;
use crate::project::Project;
use crate::repo;
use anyhow::Result;

/// What a restore did.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Full id of the commit whose kernel is now on disk.
    pub commit: String,
    pub subject: String,
    /// Full id of the commit that holds the bytes that were on disk; `None` if they were the same.
    pub saved: Option<String>,
    /// The bytes on disk are other ones now.
    pub changed: bool,
}

/// Puts the kernel of any commit or experiment on disk, by any name that [`resolve_name`] knows. The bytes on disk are saved
/// first.
pub fn restore(project: &Project, name: &str) -> Result<Restored> {
    let locked = begin(project)?;
    let named = resolve_name(&locked.repo, project, name)?;
    restore_locked(project, &locked, &named.commit)
}

/// The same under a lock that is held already; `commit` is a full id.
pub(super) fn restore_locked(project: &Project, locked: &Locked, commit: &str) -> Result<Restored> {
    let (commit, subject) = repo::resolve(&locked.repo, commit)?;
    let before = read_on_disk(project)?;
    let wanted = repo::bytes_of(&locked.repo, project, &commit)?;
    let changed = before.as_deref() != Some(&wanted);
    let mut saved = None;
    if changed {
        saved = before.as_deref().map(|bytes| save(project, locked, bytes, ON_DISK)).transpose()?;
        checkout(project, locked, &commit, before.as_deref())?;
    }
    Ok(Restored { commit, subject, saved: saved.map(|saved| saved.id), changed })
}

/// The subject of a commit that holds bytes which were on disk.
pub(super) const ON_DISK: &str = "lab: on disk before it was replaced";

/// What a full disk means for the bytes on disk.
pub(super) const NOT_REPLACED: &str = "what could not be saved was not replaced";

/// Saves bytes under `refs/lab/saved/`; `why` is the message of the commit.
pub(super) fn save(
    project: &Project,
    locked: &Locked,
    bytes: &[u8],
    why: &str,
) -> Result<repo::StoredCommit> {
    repo::save(&locked.repo, project, bytes, why).map_err(|error| space::explain(error, NOT_REPLACED))
}

/// Puts the kernel of a commit on disk. `saved` are the bytes that were found there and saved.
pub(super) fn checkout(project: &Project, locked: &Locked, commit: &str, saved: Option<&[u8]>) -> Result<()> {
    let what = || format!("{} was not put back", project.kernel_name);
    repo::checkout_kernel(&locked.repo, project, commit, saved)
        .map_err(|error| space::explain(error, &what()))
}
