//! The commits of HEAD's history that changed a kernel's folder, found page by page: in a large
//! repository they may be far below HEAD.

use super::history::first_parent;
use super::log::{LogEntry, Marks, entry};
use super::{Repo, bounds, find, head_commit};
use anyhow::Result;
use git2::{Commit, Oid};
use std::path::{Path, PathBuf};

/// Commits that one page looks at. It takes some 50 ms.
const PAGE: usize = 1_000;

/// Commits that a walk looks at, and commits that it finds, at most.
const COMMITS: usize = 50_000;
const FOUND: usize = 300;

/// A walk along first parents.
pub struct OwnCommits {
    /// The kernel's folder; of a kernel at the root of the repository the kernel itself.
    path: PathBuf,
    /// Full id of the commit to look at next; `None` at the end.
    next: Option<String>,
    looked_at: usize,
    found: usize,
}

impl OwnCommits {
    /// Begins a walk at HEAD.
    pub fn open(repo: &Repo) -> Result<OwnCommits> {
        let kernel = Path::new(&repo.project.kernel_name);
        let folder = kernel.parent().filter(|it| *it != Path::new(""));
        let head = head_commit(&repo.git)?;
        Ok(OwnCommits {
            path: folder.unwrap_or(kernel).to_owned(),
            next: head.map(|head| head.id().to_string()),
            looked_at: 0,
            found: 0,
        })
    }

    /// Whether the walk has ended.
    pub fn is_at_end(&self) -> bool {
        self.next.is_none() || self.looked_at >= COMMITS || self.found >= FOUND
    }

    /// Looks at the next commits and returns those that changed the folder, newest first. `repo` is
    /// opened for this page: a handle remembers every commit that it read.
    pub fn page(&mut self, repo: &Repo, marks: &Marks) -> Result<Vec<LogEntry>> {
        let git = &repo.git;
        let held = |commit: &Commit| -> Option<Oid> {
            let entry = bounds::entry(git, commit.tree_id(), &self.path).ok()?;
            entry.map(|entry| entry.id())
        };
        let mut entries = Vec::new();
        let next = self.next.take().filter(|_| self.looked_at < COMMITS);
        let first = next.map(|id| find(git, &id)).transpose()?;
        let mut present = first.map(|commit| (held(&commit), commit));
        for _ in 0..PAGE {
            let Some((own, commit)) = present.take() else {
                break;
            };
            self.looked_at += 1;
            let parent = first_parent(git, &commit).map(|parent| (held(&parent), parent));
            if own != parent.as_ref().and_then(|(before, _)| *before) {
                entries.push(entry(&commit, marks));
            }
            present = parent;
        }
        self.found += entries.len();
        self.next = present.map(|(_, commit)| commit.id().to_string());
        Ok(entries)
    }
}
