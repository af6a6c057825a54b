//! Restore: puts a kernel of some commit on disk. What was there is saved first.

use super::carry_out::carry_out;
use super::intent::{Asked, Intent, What};
use super::on_disk::{self, NOT_REPLACED, ON_DISK, save};
use super::step::Step;
use super::{Locked, Refusal, begin};
use crate::history::names::resolve_name;
use crate::project::Project;
use crate::repo;
use std::result::Result as StdResult;

/// What a restore did.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Full id of the commit whose kernel is now on disk.
    pub commit: String,
    pub subject: String,
    /// Full id of the commit that holds the bytes that were on disk; `None` if they were the same.
    pub saved: Option<String>,
    /// The bytes on disk are other ones now.
    pub changed: bool,
}

/// Puts the kernel of any commit or experiment on disk, by any name that [`resolve_name`] knows.
/// The bytes on disk are saved first.
pub fn restore(project: &Project, name: &str) -> StdResult<Restored, Refusal> {
    let asked = Asked {
        what: What::Restore,
        kernel: &project.kernel_name,
        text: name,
    };
    let locked = begin(project, &asked)?;
    let commit = resolve_name(&locked.repo, project, name)?.commit;
    put_on_disk(project, &locked, &asked, &commit)
}

/// [`restore`] of a commit by its full id. Reads no history: its time does not grow with the number
/// of experiments.
pub(crate) fn restore_commit(project: &Project, commit: &str) -> StdResult<Restored, Refusal> {
    let asked = Asked {
        what: What::Restore,
        kernel: &project.kernel_name,
        text: commit,
    };
    put_on_disk(project, &begin(project, &asked)?, &asked, commit)
}

fn put_on_disk(
    project: &Project,
    locked: &Locked,
    asked: &Asked,
    commit: &str,
) -> StdResult<Restored, Refusal> {
    let (commit, subject) = repo::resolve(&locked.repo, commit)?;
    let before = on_disk::read(project)?;
    let wanted = repo::bytes_of(&locked.repo, project, &commit)?;
    if before.as_deref() == Some(&wanted) {
        return Ok(Restored {
            commit,
            subject,
            saved: None,
            changed: false,
        });
    }
    let saved = before
        .as_deref()
        .map(|bytes| save(project, locked, bytes, ON_DISK))
        .transpose()?;
    let mut intent = Intent::new(asked, project, &format!("of {}", repo::short(&commit)));
    intent.commit = Some(commit.clone());
    let found = before.as_deref().map(on_disk::hash);
    intent.steps.push(Step::Kernel {
        commit: commit.clone(),
        found,
    });
    carry_out(project, locked, intent, NOT_REPLACED)?.close(project, locked)?;
    Ok(Restored {
        commit,
        subject,
        saved: saved.map(|saved| saved.id),
        changed: true,
    })
}
