//! Waits until what libgit2 wrote is on disk. libgit2 leaves its files to the system, which may
//! write the name of a file before its content: after a power cut an object or a ref can be there
//! and empty.

use super::{CommitFile, Repo, bounds};
use anyhow::{Context, Result};
use git2::{Commit, Oid};
use lab_system::root::{Access, Root, if_there};
use std::io;
use std::path::Path;

/// Waits for a commit and for what is new in it if it changed these files alone.
pub fn commit(repo: &Repo, commit: &Commit, files: &[CommitFile]) -> Result<()> {
    let tree = bounds::tree_of(&repo.git, commit)?;
    let mut new = vec![commit.id(), tree.id()];
    for file in files {
        new.extend(file.id());
        let folders = Path::new(&file.name).ancestors().skip(1);
        new.extend(folders.filter_map(|folder| Some(tree.get_path(folder).ok()?.id())));
    }
    new.sort_unstable();
    new.dedup();
    objects(repo, &new)
}

/// Waits for these objects.
pub fn objects(repo: &Repo, ids: &[Oid]) -> Result<()> {
    let folder = repo.git.commondir().join("objects");
    ids.iter().try_for_each(|id| {
        let hex = id.to_string();
        let file = folder.join(&hex[..2]).join(&hex[2..]);
        wait_for(&file).with_context(|| format!("git's object {hex} is not on disk"))
    })
}

/// Waits for a ref, given by its full name.
pub fn reference(repo: &Repo, name: &str) -> Result<()> {
    wait_for(&repo.ref_file(name)).with_context(|| format!("{name} is not on disk"))
}

/// Waits for a file. A file that is not there is in a pack by now, which git waits for itself.
fn wait_for(path: &Path) -> io::Result<()> {
    let opened = Root::around(path).open(path, Access::Read);
    if_there(opened)?.map_or(Ok(()), |file| file.sync_data())
}
