//! The record of an experiment as a git note of its commit, in `refs/notes/lab`.

use super::commit::introduced;
use super::identity::any_signature;
use super::{Project, Repo, blob_in, find, head_commit, locks};
use anyhow::Result;

const NOTES: &str = "refs/notes/lab";

/// Attaches a text to a commit, in place of an older one. Does nothing if the commit has this text already.
pub fn note(repo: &Repo, commit: &str, text: &str) -> Result<()> {
    let git = &repo.git;
    let id = find(git, commit)?.id();
    if git.find_note(Some(NOTES), id).is_ok_and(|note| note.message().ok() == Some(text)) {
        return Ok(());
    }
    let who = any_signature(git)?;
    locks::clear_own_ref(git, NOTES)?;
    git.note(&who, &who, Some(NOTES), id, text, true)?;
    Ok(())
}

/// The notes of a repository, which may have none.
pub struct Notes<'r>(Option<&'r Repo>);

impl<'r> Notes<'r> {
    /// The notes as they are now.
    pub fn of(repo: &'r Repo) -> Self {
        Notes(Some(repo).filter(|repo| repo.git.find_reference(NOTES).is_ok()))
    }

    /// Id of the commit that holds the notes: as long as it is the same, so are the notes.
    pub fn tip(&self) -> Option<String> {
        Some(self.0?.git.refname_to_id(NOTES).ok()?.to_string())
    }

    /// The note of a commit, if it has one.
    pub fn note(&self, commit: &str) -> Option<String> {
        let git = &self.0?.git;
        let note = git.find_note(Some(NOTES), find(git, commit).ok()?.id()).ok()?;
        note.message().ok().map(str::to_owned)
    }
}

/// The note of the commit that brought the incumbent.
pub fn incumbent_note(repo: &Repo, project: &Project) -> Option<String> {
    let git = &repo.git;
    let head = head_commit(git).ok()??;
    let (blob, _) = blob_in(&head, &project.kernel_name)?;
    let note = git.find_note(Some(NOTES), introduced(head, &project.kernel_name, blob)).ok()?;
    note.message().ok().map(str::to_owned)
}
