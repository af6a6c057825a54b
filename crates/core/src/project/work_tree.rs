//! Finds the git work tree that a folder lies in, and says why a repository cannot be opened. Everything else that calls
//! git is in [`crate::repo`], which needs a project first.

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
        Err(error) => bail!("{}", cannot_open(from, &error)),
    };
    let root = repo.workdir().with_context(|| {
        format!(
            "{} is a bare repository: experiments need a work tree (`git clone` it)",
            repo.path().display()
        )
    })?;
    root.canonicalize().with_context(|| format!("cannot find {}", root.display()))
}

/// Why libgit2 cannot open the repository at `path`, and what to do. It knows neither sha256 nor reftable, and refuses a
/// repository whose configuration names an extension that it does not know.
pub fn cannot_open(path: &Path, error: &git2::Error) -> String {
    let at = format!("the git repository at {}", path.display());
    let message = error.message();
    if message.starts_with("unknown object format") {
        return format!(
            "{at} names its objects by another hash than sha1 (extensions.objectFormat), which lab cannot read. Copy \
             its history into a new one: `git init --object-format=sha1 NEW && git fast-export --all | git -C NEW \
             fast-import && git -C NEW checkout BRANCH`"
        );
    }
    match message.strip_prefix("unsupported extension name extensions.") {
        Some("refstorage") => format!(
            "{at} keeps its refs in another format than files (extensions.refStorage, reftable), which lab cannot \
             read: `git refs migrate --ref-format=files` (git 2.48 or newer), or clone it anew: `git clone \
             --ref-format=files OLD NEW`"
        ),
        Some("partialclone") => format!(
            "{at} is a partial clone (extensions.partialClone), which lab cannot read: clone it anew without `--filter`"
        ),
        Some(extension) => format!(
            "{at} uses the extension extensions.{extension} of git, which lab cannot read: clone it anew without that \
             extension"
        ),
        None => format!("cannot open {at}: {message}"),
    }
}
