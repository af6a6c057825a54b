//! Whether what git is said to have written is there: on a full disk libgit2 has been seen to
//! report a commit that it had not made.

use super::{Project, blob_in, open};
use anyhow::{Context, Result, bail};
use git2::Oid;

/// Reads it all back through a repository opened anew: what this one remembers proves nothing.
pub(super) fn holds(project: &Project, reference: &str, commit: Oid, name: &str, blob: Oid) -> Result<()> {
    let repo = open(project)?;
    let read = || -> Result<()> {
        if repo.refname_to_id(reference)? != commit {
            bail!("{reference} does not name it");
        }
        let held = blob_in(&repo.find_commit(commit)?, name).map(|(id, _)| id);
        if held != Some(blob) {
            bail!("{name} is not in it");
        }
        repo.find_blob(blob)?;
        Ok(())
    };
    read().with_context(|| {
        format!(
            "commit {} was not written, though git reported no error. Is the disk full? Make room on it, \
             then try again",
            super::short(&commit.to_string())
        )
    })
}
