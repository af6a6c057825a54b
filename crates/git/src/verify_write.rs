//! Verifies a write: on a full disk, libgit2 has reported a commit that it had not made.

use super::{CommitFile, Repo, bounds};
use anyhow::{Context, Result, bail};
use git2::Oid;

/// Reads back that `reference` names `commit`, and that the commit holds these files. It opens the
/// repository anew: what this handle remembers proves nothing.
pub fn read_back(repo: &Repo, reference: &str, commit: Oid, files: &[CommitFile]) -> Result<()> {
    let git = &repo.anew()?.git;
    let read = || -> Result<()> {
        if git.refname_to_id(reference)? != commit {
            bail!("{reference} does not name it");
        }
        let commit = bounds::commit(git, commit)?;
        bounds::tree_of(git, &commit)?;
        for file in files {
            if !file.is_in(git, &commit) {
                bail!("{} is not in it", file.name);
            }
            file.id().map(|blob| bounds::blob(git, blob)).transpose()?;
        }
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
