//! Files that git and libgit2 read as they are. An archive may hold a pipe in the place of one, and whoever opens a pipe waits for a
//! writer that never comes.

use super::Repo;
use crate::project::Project;
use anyhow::{Result, bail};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Files in git's folder.
const OF_GIT: [&str; 7] =
    ["HEAD", "config", "index", "packed-refs", "info/attributes", "info/exclude", "objects/info/alternates"];

/// Files of the work tree, in its root and in each folder down to the kernel.
const OF_FOLDERS: [&str; 2] = [".gitattributes", ".gitignore"];

/// Device, inode, size, and the times of the last write and of the last change of each file; `None` where there is none.
pub(super) type Looks = Vec<Option<[i64; 7]>>;

/// Looks at the files. Refuses a repository in which a pipe, a socket or a device stands in place of one.
pub(super) fn look(repo: &Repo, project: &Project) -> Result<Looks> {
    let git = &repo.git;
    // Of a further work tree, some of them are in the folder that it shares with the others.
    let shared = Some(git.commondir()).filter(|shared| *shared != git.path());
    let of_git =
        std::iter::once(git.path()).chain(shared).flat_map(|folder| OF_GIT.map(|name| folder.join(name)));
    let folders = Path::new(&project.kernel_name).ancestors().skip(1).map(|folder| project.root.join(folder));
    let of_folders = folders.flat_map(|folder| OF_FOLDERS.map(|name| folder.join(name)));
    of_git.chain(of_folders).map(|path| look_at(&path, project)).collect()
}

fn look_at(path: &Path, project: &Project) -> Result<Option<[i64; 7]>> {
    // A link counts as what it leads to.
    let Ok(about) = fs::metadata(path) else { return Ok(None) };
    if !about.is_file() && !about.is_dir() {
        bail!(
            "{} is a pipe or a device, and git would wait for what it says: remove it",
            path.strip_prefix(&project.root).unwrap_or(path).display()
        );
    }
    Ok(Some([
        about.dev().cast_signed(),
        about.ino().cast_signed(),
        about.size().cast_signed(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
    ]))
}
