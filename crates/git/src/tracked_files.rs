//! The files of the user's work tree that git tracks, with the times at which they changed.

use super::Repo;
use anyhow::{Context, Result};
use lab_run::ledger;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Paths from the root, each with the time of its last change (seconds and nanoseconds since 1970);
/// `None` if there is no such file.
pub type TrackedFiles = BTreeMap<String, Option<(i64, i64)>>;

/// The files in git's index, all but the kernel and the ledgers. In an index of more than `most`
/// files only those in the kernel's folder and lab.toml. It reads no file.
pub fn tracked_files(repo: &Repo, most: usize) -> Result<TrackedFiles> {
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
    let ledgers = [false, true].map(|emulated| ledger::path(project, emulated));
    let mut found = TrackedFiles::new();
    for entry in index.iter() {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let on_disk = project.root.join(path);
        if path == Path::new(&project.kernel_name) || ledgers.contains(&on_disk) || !is_near(path) {
            continue;
        }
        let about = on_disk.symlink_metadata().ok();
        let changed = about.map(|about| (about.ctime(), about.ctime_nsec()));
        found.insert(path.display().to_string(), changed);
    }
    Ok(found)
}
