//! Files that git and libgit2 read as they are. An archive may hold a pipe in the place of one, and whoever opens a pipe waits for a
//! writer that never comes.

use super::Repo;
use crate::disk::special_files::is_special;
use crate::project::Project;
use anyhow::{Result, bail};
use std::path::Path;

/// Files in git's folder.
const OF_GIT: [&str; 7] =
    ["HEAD", "config", "index", "packed-refs", "info/attributes", "info/exclude", "objects/info/alternates"];

/// Files of the work tree, in its root and in each folder down to the kernel.
const OF_FOLDERS: [&str; 2] = [".gitattributes", ".gitignore"];

/// Refuses a repository in which a pipe, a socket or a device stands in place of a file that git reads.
pub(super) fn require(repo: &Repo, project: &Project) -> Result<()> {
    let git = &repo.git;
    // Of a further work tree, some of them are in the folder that it shares with the others.
    let shared = Some(git.commondir()).filter(|shared| *shared != git.path());
    let of_git =
        std::iter::once(git.path()).chain(shared).flat_map(|folder| OF_GIT.map(|name| folder.join(name)));
    let folders = Path::new(&project.kernel_name).ancestors().skip(1).map(|folder| project.root.join(folder));
    let of_folders = folders.flat_map(|folder| OF_FOLDERS.map(|name| folder.join(name)));
    match of_git.chain(of_folders).find(|path| is_special(path)) {
        Some(path) => bail!(
            "{} is a pipe or a device, and git would wait for what it says: remove it",
            path.strip_prefix(&project.root).unwrap_or(&path).display()
        ),
        None => Ok(()),
    }
}
