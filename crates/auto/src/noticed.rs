//! Changes in the user's own repository while the command of a turn works. The command made them,
//! or a person; the loop reports them.

use super::files::Files;
use anyhow::Result;
use lab_git::{Head, Repo, TrackedFiles, short};
use lab_project::Project;
use lab_project::config;
use lab_store::RunStore;
use std::path::Path;

/// Most files of git's index that are looked at before and after a command. In a larger repository
/// only the kernel's folder is.
const MOST_FILES: usize = 1_000;

/// Most files that are named.
const MOST_NAMES: usize = 5;

/// The user's repository when a command began.
pub struct UsersRepository {
    head: Head,
    /// Whether there were records.
    has_runs: bool,
    files: TrackedFiles,
}

impl UsersRepository {
    pub fn look(repo: &Repo, project: &Project) -> Result<UsersRepository> {
        let has_runs = RunStore::of(project).runs().exists();
        Ok(UsersRepository {
            head: lab_git::head(repo)?,
            has_runs,
            files: lab_git::tracked_files(repo, MOST_FILES)?,
        })
    }

    /// What changed since, one line each. What cannot be read of it now is a line too: the turn is
    /// not to blame.
    pub fn changes(&self, project: &Project, files: &Files) -> Vec<String> {
        let mut lines = Vec::new();
        if let Err(error) = self.changes_in_git(project, &mut lines) {
            lines.push(format!(
                "what changed in your repository while the command worked cannot be told: {error:#}"
            ));
        }
        lines.extend(self.removed(project, files));
        lines
    }

    /// What was removed of the lab's own files.
    fn removed(&self, project: &Project, files: &Files) -> Option<String> {
        let store = RunStore::of(project);
        let (has_lost_runs, has_lock) =
            (self.has_runs && !store.runs().exists(), files.is_locked());
        let gone = match (has_lost_runs, has_lock) {
            (false, true) => return None,
            (false, false) => {
                return Some(format!(
                    "{} was removed while the command worked, with the loop's files, which it makes again",
                    files.folder.display()
                ));
            }
            (true, true) => store.runs(),
            (true, false) => &project.lab_dir,
        };
        Some(format!(
            "{} was removed while the command worked, with the records of earlier runs; ledger and git have what was decided",
            gone.display()
        ))
    }

    fn changes_in_git(&self, project: &Project, lines: &mut Vec<String>) -> Result<()> {
        let repo = Repo::open(project)?;
        lines.extend(moved(&self.head, &lab_git::head(&repo)?));
        let mut changed = Vec::new();
        for (name, now) in lab_git::tracked_files(&repo, MOST_FILES)? {
            // Not by the clock, which may have been set back. A file that git tracks since, too.
            if self.files.get(&name).copied().flatten() != now {
                changed.push(name);
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let names = changed[..changed.len().min(MOST_NAMES)].join(", ");
        let more = match changed.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let is_settings = |name: &String| Path::new(name).ends_with(config::FILE);
        let settings = match changed.iter().any(is_settings) {
            true => "; the loop reads lab.toml when it starts",
            false => "",
        };
        lines.push(format!(
            "files of your repository changed while the command worked: {names}{more}; the next turns read them as they are \
             now{settings}"
        ));
        Ok(())
    }
}

/// How HEAD moved, if it did. The kernel is compared with the one in HEAD, wherever that is.
fn moved(before: &Head, now: &Head) -> Option<String> {
    let place = |head: &Head| {
        let commit = head.commit.as_deref().map_or("no commit", short);
        format!(
            "{commit} on {}",
            head.branch.as_deref().unwrap_or("no branch")
        )
    };
    let is_same = before.branch == now.branch && before.commit == now.commit;
    (!is_same).then(|| {
        let (from, to) = (place(before), place(now));
        format!("HEAD of your repository moved from {from} to {to} while the command worked, and the loop goes on there")
    })
}
