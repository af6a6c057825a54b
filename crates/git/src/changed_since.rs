//! Files of the user's work tree that changed lately, by the times that the file system keeps.

use super::Repo;
use anyhow::{Context, Result};
use lab_run::ledger;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The files in git's index that changed after `began` (seconds and nanoseconds since 1970), by
/// their paths from the root: all but the kernel and the ledger. A file that was removed counts as
/// changed if its folder changed. In an index of more than `most` files only those in the kernel's
/// folder and lab.toml are looked at. It reads no file, so it does not say what changed.
pub fn changed_since(repo: &Repo, began: (i64, i64), most: usize) -> Result<Vec<String>> {
    let mut index = repo.git.index().context("cannot read git's index")?;
    if !repo.index_by_git {
        index.read(false).context("cannot read git's index")?;
    }
    let project = &repo.project;
    let folder = Path::new(&project.kernel_name)
        .parent()
        .unwrap_or(Path::new(""));
    let is_near = |path: &Path| {
        index.len() <= most || path.parent() == Some(folder) || path == Path::new("lab.toml")
    };
    let changed = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|at| (at.ctime(), at.ctime_nsec()) > began)
    };
    let ledgers = [false, true].map(|emulated| ledger::path(project, emulated));
    let mut found = Vec::new();
    for entry in index.iter() {
        let path = Path::new(std::ffi::OsStr::from_bytes(&entry.path));
        let on_disk = project.root.join(path);
        if path == Path::new(&project.kernel_name) || ledgers.contains(&on_disk) || !is_near(path) {
            continue;
        }
        let is_gone = || !on_disk.exists() && !on_disk.is_symlink();
        if changed(&on_disk) || is_gone() && on_disk.parent().is_some_and(changed) {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}
