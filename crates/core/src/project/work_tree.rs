//! Finds the git work tree that a folder lies in. Everything else that calls git is in [`crate::repo`], which needs a
//! project first.

use anyhow::{Context, Result, bail};
use git2::{ErrorCode, Repository};
use std::path::{Path, PathBuf};

/// Returns the canonical path of the work tree that `from` lies in. The error says what to do: there is no repository,
/// another user owns it, or it is bare.
pub fn work_tree(from: &Path) -> Result<PathBuf> {
    let repo = match Repository::discover(from) {
        Ok(repo) => repo,
        Err(error) if error.code() == ErrorCode::NotFound => bail!(
            "no git repository at {} or above: experiments are kept as commits. Make one with `git init`",
            from.display()
        ),
        Err(error) if error.code() == ErrorCode::Owner => bail!(
            "the git repository at {} belongs to another user. If you trust it: `git config --global --add \
             safe.directory {}`",
            from.display(),
            from.display()
        ),
        Err(error) => bail!("cannot open the git repository at {}: {}", from.display(), error.message()),
    };
    let root = repo.workdir().with_context(|| {
        format!(
            "{} is a bare repository: experiments need a work tree (`git clone` it)",
            repo.path().display()
        )
    })?;
    root.canonicalize().with_context(|| format!("cannot find {}", root.display()))
}
