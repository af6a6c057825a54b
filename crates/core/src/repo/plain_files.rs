//! Files that git and libgit2 read as they are. An archive may hold a pipe in the place of one, and
//! whoever opens a pipe waits for a writer that never comes.

use super::Repo;
use crate::project::Project;
use anyhow::{Result, bail};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files in git's folder that libgit2 reads again where they changed.
const READ_AGAIN: [&str; 3] = ["HEAD", "index", "packed-refs"];

/// Files in git's folder that libgit2 reads once.
const READ_ONCE: [&str; 4] = [
    "config",
    "info/attributes",
    "info/exclude",
    "objects/info/alternates",
];

/// Files of the work tree, in its root and in each folder down to the kernel.
const OF_FOLDERS: [&str; 2] = [".gitattributes", ".gitignore"];

/// What the files looked like.
#[derive(PartialEq)]
pub(super) struct Looks {
    read_again: Vec<Look>,
    read_once: Vec<Look>,
}

/// Device, inode, size, and the times of the last write and of the last change of a file; `None`
/// where there is none.
type Look = Option<[i64; 7]>;

/// Looks at the files. Refuses a repository in which a pipe, a socket or a device stands in place
/// of one.
pub(super) fn look(repo: &Repo, project: &Project) -> Result<Looks> {
    let git = &repo.git;
    // Of a further work tree, some of them are in the folder that it shares with the others.
    let shared = Some(git.commondir()).filter(|shared| *shared != git.path());
    let folders_of_git: Vec<&Path> = std::iter::once(git.path()).chain(shared).collect();
    let of_git = |names: &'static [&str]| {
        folders_of_git
            .iter()
            .flat_map(move |folder| names.iter().map(|name| folder.join(name)))
    };
    let folders = Path::new(&project.kernel_name)
        .ancestors()
        .skip(1)
        .map(|folder| project.root.join(folder));
    let of_folders = folders.flat_map(|folder| OF_FOLDERS.map(|name| folder.join(name)));
    let look = |path: PathBuf| look_at(&path, project);
    Ok(Looks {
        read_again: of_git(&READ_AGAIN).map(look).collect::<Result<_>>()?,
        read_once: of_git(&READ_ONCE)
            .chain(of_folders)
            .map(look)
            .collect::<Result<_>>()?,
    })
}

impl Looks {
    /// Whether a file that libgit2 reads once was changed after this time.
    pub fn changed_since(&self, time: SystemTime) -> bool {
        let since = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let since = (
            since.as_secs().cast_signed(),
            i64::from(since.subsec_nanos()),
        );
        self.read_once
            .iter()
            .flatten()
            .any(|[.., seconds, nanoseconds]| (*seconds, *nanoseconds) >= since)
    }
}

fn look_at(path: &Path, project: &Project) -> Result<Look> {
    // A link counts as what it leads to.
    let Ok(about) = fs::metadata(path) else {
        return Ok(None);
    };
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
