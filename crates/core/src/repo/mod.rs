//! The git repository. Only this room touches git.
//!
//! A file has two forms: the bytes on disk, and what git would hold of them (line endings may
//! differ: `core.autocrlf`, `.gitattributes`). What is built and hashed is always the first; what
//! is committed, and compared with HEAD, is always the second ([`form`] turns one into the other).

mod checkout;
mod commit;
mod details;
mod exclude;
mod filters;
mod graph;
mod incumbent;
mod log;
mod notes;
mod obstacle;
mod refs;
mod uncommit;
mod verify_write;

pub use checkout::{bytes_of, link_target, put_back, staged};
pub use commit::{Committed, commit_kernel};
pub use details::{ChangeKind, CommitDetails, FileChange, commit_details};
pub use exclude::{exclude, tracked};
pub use graph::{Graph, GraphEntry, Label, LabelKind, Lanes, Place};
pub use incumbent::{HeldFile, incumbent_files, write_incumbent};
pub use log::{LogEntry, Marks, change, diff, log_page, show, trailers_of};
pub use notes::{Notes, note, noted_of_kernel};
pub use obstacle::{Obstacle, Operation, obstacle};
pub use refs::{Kept, keep_discarded, keep_undone, kept_aside, save};
pub use uncommit::{built_on, leads_to_head, step_back};

use crate::project::Project;
use anyhow::{Context, Result, anyhow, bail};
use git2::{ErrorCode, Oid, Repository};
use std::path::{Path, PathBuf};

/// Where HEAD is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Name of the branch; `None` where HEAD is detached.
    pub branch: Option<String>,
    /// Full id; `None` on an unborn branch.
    pub commit: Option<String>,
    /// The merge, rebase, … that is in progress.
    pub operation: Option<Operation>,
}

impl Head {
    /// `exp/wavegru @ a1b2c3d`.
    pub fn label(&self) -> String {
        let place = self.branch.as_deref().unwrap_or("detached HEAD");
        match &self.commit {
            Some(id) => format!("{place} @ {}", short(id)),
            None => format!("{place} (no commit yet)"),
        }
    }
}

/// Seven hex digits of an id.
pub fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// The work tree that a folder lies in.
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

pub(super) fn open(project: &Project) -> Result<Repository> {
    Repository::open(&project.root)
        .map_err(|e| anyhow!("cannot open the git repository {}: {}", project.root.display(), e.message()))
}

pub fn head(project: &Project) -> Result<Head> {
    let repo = open(project)?;
    let branch = || {
        let link = repo.find_reference("HEAD").ok()?;
        let target = link.symbolic_target().ok()??;
        Some(target.strip_prefix("refs/heads/").unwrap_or(target).to_owned())
    };
    Ok(Head {
        branch: branch(),
        commit: head_commit(&repo)?.map(|c| c.id().to_string()),
        operation: obstacle::operation(&repo),
    })
}

/// `None` on an unborn branch.
fn head_commit(repo: &Repository) -> Result<Option<git2::Commit<'_>>> {
    match repo.head() {
        Ok(head) => Ok(Some(head.peel_to_commit().context("HEAD names no commit")?)),
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
        Err(error) => Err(anyhow!("cannot read HEAD: {}", error.message())),
    }
}

/// Blob id and mode of a path in a commit.
fn blob_in(commit: &git2::Commit, path: &str) -> Option<(Oid, i32)> {
    let entry = commit.tree().ok()?.get_path(Path::new(path)).ok()?;
    (entry.kind() == Some(git2::ObjectType::Blob)).then(|| (entry.id(), entry.filemode()))
}

/// Git blob id of the kernel in HEAD: the incumbent.
pub fn incumbent(project: &Project) -> Result<Option<String>> {
    let repo = open(project)?;
    let head = head_commit(&repo)?;
    Ok(head.and_then(|commit| blob_in(&commit, &project.kernel_name)).map(|(id, _)| id.to_string()))
}

/// The id under which git would hold these bytes of a repository-relative path.
pub fn blob_id(project: &Project, name: &str, bytes: &[u8]) -> Result<String> {
    Ok(filters::id(&open(project)?, name, bytes)?.to_string())
}

/// Whether HEAD holds these bytes at this path.
pub fn in_head(project: &Project, name: &str, bytes: Option<&[u8]>) -> Result<bool> {
    let repo = open(project)?;
    let held = head_commit(&repo)?.and_then(|commit| blob_in(&commit, name)).map(|(id, _)| id);
    let present = bytes.map(|b| filters::id(&repo, name, b)).transpose()?;
    Ok(held == present)
}

/// A commit by any name git knows it by; a bare number may also be the run of a discarded one.
fn find<'r>(repo: &'r Repository, name: &str) -> Result<git2::Commit<'r>> {
    let discarded = || repo.revparse_single(&format!("refs/lab/discarded/{name}"));
    let object = repo.revparse_single(name).or_else(|error| discarded().map_err(|_| error));
    let commit = object.and_then(|o| o.peel_to_commit());
    commit.map_err(|e| match e.code() {
        ErrorCode::Ambiguous => anyhow!("'{name}' names more than one commit: give more digits"),
        _ => anyhow!("there is no commit '{name}': `lab log --all` lists the experiments with their commits"),
    })
}

/// Full id and subject of a commit.
pub fn resolve(project: &Project, name: &str) -> Result<(String, String)> {
    let repo = open(project)?;
    let commit = find(&repo, name)?;
    let subject = log::subject(&commit);
    Ok((commit.id().to_string(), subject))
}
