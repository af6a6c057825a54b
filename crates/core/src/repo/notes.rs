//! The record of an experiment as a git note of its commit, in `refs/notes/lab`.

use super::commit::{any_signature, introduced};
use super::{Project, blob_in, find, head_commit, open};
use anyhow::Result;
use git2::Repository;

const NOTES: &str = "refs/notes/lab";

/// Attaches the text, in place of an older one.
pub fn note(project: &Project, commit: &str, text: &str) -> Result<()> {
    let repo = open(project)?;
    let id = find(&repo, commit)?.id();
    let who = any_signature(&repo)?;
    repo.note(&who, &who, Some(NOTES), id, text, true)?;
    Ok(())
}

/// The notes of many commits: the repository is opened once.
pub struct Notes(Option<Repository>);

impl Notes {
    pub fn open(project: &Project) -> Self {
        Notes(open(project).ok().filter(|repo| repo.find_reference(NOTES).is_ok()))
    }

    /// Where the notes are now: the same id, the same notes.
    pub fn tip(&self) -> Option<String> {
        Some(self.0.as_ref()?.refname_to_id(NOTES).ok()?.to_string())
    }

    /// The note of a commit, if it has one.
    pub fn of(&self, commit: &str) -> Option<String> {
        let repo = self.0.as_ref()?;
        let note = repo.find_note(Some(NOTES), find(repo, commit).ok()?.id()).ok()?;
        note.message().ok().map(str::to_owned)
    }
}

/// The note of the commit that brought the kernel of HEAD.
pub fn noted_of_kernel(project: &Project) -> Option<String> {
    let repo = open(project).ok()?;
    let head = head_commit(&repo).ok()??;
    let (blob, _) = blob_in(&head, &project.kernel_name)?;
    let note = repo.find_note(Some(NOTES), introduced(head, &project.kernel_name, blob)).ok()?;
    note.message().ok().map(str::to_owned)
}
