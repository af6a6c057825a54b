//! Putting a kernel on disk; what was there is saved first.

use super::{begin, present};
use crate::disk::space;
use crate::project::Project;
use crate::repo;
use anyhow::Result;

#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Full id of the commit whose kernel.cu is now on disk.
    pub commit: String,
    pub subject: String,
    /// Full id of the commit that keeps the bytes that were on disk, if they differed.
    pub saved: Option<String>,
    pub changed: bool,
}

/// Puts kernel.cu of any commit or experiment on disk; the present bytes are saved first.
pub fn restore(project: &Project, commit: &str) -> Result<Restored> {
    let _deciding = begin(project)?;
    restore_with(project, commit)
}

/// The same under a lock that is held already.
pub(super) fn restore_with(project: &Project, commit: &str) -> Result<Restored> {
    let (commit, subject) = repo::resolve(project, commit)?;
    let before = present(project)?;
    let wanted = repo::bytes_of(project, &commit)?;
    let changed = before.as_deref() != Some(&wanted);
    let mut saved = None;
    if changed {
        saved = before.as_deref().map(|bytes| save(project, bytes, ON_DISK)).transpose()?;
        put_back(project, &commit, before.as_deref())?;
    }
    Ok(Restored { commit, subject, saved: saved.map(|kept| kept.id), changed })
}

/// Why bytes were saved; the subject of the commit that holds them.
pub(super) const ON_DISK: &str = "lab: on disk before it was replaced";

/// What could not be saved is not replaced.
pub(super) const NOT_REPLACED: &str = "what could not be saved was not replaced";

pub(super) fn save(project: &Project, bytes: &[u8], why: &str) -> Result<repo::Kept> {
    repo::save(project, bytes, why).map_err(|error| space::explain(error, NOT_REPLACED))
}

pub(super) fn put_back(project: &Project, commit: &str, saved: Option<&[u8]>) -> Result<()> {
    let what = || format!("{} was not put back", project.kernel_name);
    repo::put_back(project, commit, saved).map_err(|error| space::explain(error, &what()))
}
