//! The repository that a thread opened a moment ago. A turn of `lab auto` asks for it two dozen
//! times, and each time libgit2 would read the configuration and look for attributes in a dozen
//! files.

use super::{Repo, plain_files};
use crate::disk::special_files;
use crate::project::Project;
use anyhow::Result;
use plain_files::Looks;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// How long an open repository is used. It keeps what it read of git's objects, of the user's own
/// configuration, and of files that the configuration includes.
const KEPT: Duration = Duration::from_secs(2);

/// The time of a file is that of the system's last tick, which may be so long ago.
const CLOCK: Duration = Duration::from_millis(10);

/// What a thread opened last.
struct Last {
    root: PathBuf,
    kernel: String,
    repo: Repo,
    /// The files that git reads, as they were.
    looks: Looks,
    opened: Instant,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Opens the repository of a project, unless this thread did so within [`KEPT`] and no file of
/// [`plain_files`] changed since.
pub(super) fn open(project: &Project) -> Result<Repo> {
    LAST.with_borrow_mut(|last| {
        let held = last.as_ref().filter(|held| {
            held.root == project.root
                && held.kernel == project.kernel_name
                && held.opened.elapsed() < KEPT
        });
        if let Some(held) = held
            && plain_files::look(&held.repo, project)? == held.looks
        {
            return Ok(held.repo.clone());
        }
        *last = None;
        // libgit2 reads some of the files when it opens a repository.
        special_files::refuse_in_repository(&project.root, |_| true)?;
        let (opened, began) = (Instant::now(), SystemTime::now());
        let repo = Repo::at(&project.root)?;
        let looks = plain_files::look(&repo, project)?;
        // What was changed while it was opened may have been read before.
        if !looks.changed_since(began - CLOCK) {
            let (root, kernel) = (project.root.clone(), project.kernel_name.clone());
            *last = Some(Last {
                root,
                kernel,
                repo: repo.clone(),
                looks,
                opened,
            });
        }
        Ok(repo)
    })
}

/// Forgets what this thread opened.
pub(super) fn forget() {
    LAST.take();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::repo::blob_id;
    use std::fs;
    use std::rc::Rc;

    #[test]
    fn what_changes_the_answers_of_git_is_seen_at_once() {
        let began = Instant::now();
        let temp = tempfile::tempdir().unwrap();
        let git = git2::Repository::init(temp.path()).unwrap();
        fs::write(temp.path().join("kernel.cu"), "// kept\n").unwrap();
        fs::write(temp.path().join("problem.toml"), "# none\n").unwrap();
        let project = Project::open(temp.path(), None).unwrap();
        let of_git = |bytes: &[u8]| {
            git2::Oid::hash_object(git2::ObjectType::Blob, bytes)
                .unwrap()
                .to_string()
        };
        let id = |repo: &Repo| blob_id(repo, "kernel.cu", b"a\r\n").unwrap();

        let first = open(&project).unwrap();
        assert_eq!(id(&first), of_git(b"a\r\n"));
        // Once the files are older than a tick of the clock.
        let is_held = || Rc::ptr_eq(&open(&project).unwrap().0, &open(&project).unwrap().0);
        while !is_held() {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing changed");
        }

        fs::write(temp.path().join(".gitattributes"), "*.cu text\n").unwrap();
        assert_eq!(id(&open(&project).unwrap()), of_git(b"a\n"));
        fs::remove_file(temp.path().join(".gitattributes")).unwrap();
        assert_eq!(id(&open(&project).unwrap()), of_git(b"a\r\n"));
        git.config()
            .unwrap()
            .set_str("core.autocrlf", "input")
            .unwrap();
        assert_eq!(id(&open(&project).unwrap()), of_git(b"a\n"));

        fs::remove_dir_all(temp.path().join(".git")).unwrap();
        assert!(open(&project).is_err(), "the repository is gone");
    }
}
