//! Prepares a commit of exactly the judged bytes of the kernel on top of HEAD, and of no other
//! change of the user's.
//!
//! Nothing is committed here: [`super::move_branch`] or the git program
//! ([`super::commit_by_program`]) does that, once the decision's intent is on disk.

use super::identity::{author, committer};
use super::introduced::introduced;
use super::link::refuse_link;
use super::program::by_program;
use crate::repo::{Project, Repo, blob_in, durable, filters, head_commit, head_ref, verify_write};
use anyhow::{Context, Result, bail};
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Repository};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A commit that is prepared: its objects are in git, and no branch holds it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// `refs/heads/NAME`, or `HEAD` if it is detached.
    pub reference: String,
    /// Full id of HEAD; `None` on an unborn branch.
    pub head: Option<String>,
    pub files: Vec<CommitFile>,
    /// Full id of the commit. `None` if the git program must make it, because it runs hooks or
    /// signs.
    pub commit: Option<String>,
}

/// What a commit of a kernel comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCommit {
    /// HEAD holds the bytes already. Full id of the commit that brought them.
    Already(String),
    New(Prepared),
}

/// A file of a commit, as git holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFile {
    /// Repository-relative.
    pub name: String,
    /// Git blob id, hex, before the commit; `None` if there was no such file.
    pub before: Option<String>,
    /// Git blob id, hex; `None` removes the file.
    pub blob: Option<String>,
    /// As git writes it, for example 0o100644.
    pub mode: i32,
}

impl CommitFile {
    pub(super) fn new(
        name: &str,
        before: Option<Oid>,
        blob: Option<Oid>,
        mode: FileMode,
    ) -> CommitFile {
        let hex = |id: Oid| id.to_string();
        CommitFile {
            name: name.to_owned(),
            before: before.map(hex),
            blob: blob.map(hex),
            mode: mode.into(),
        }
    }

    pub(super) fn id(&self) -> Option<Oid> {
        Oid::from_str(self.blob.as_deref()?).ok()
    }

    pub(super) fn before_id(&self) -> Option<Oid> {
        Oid::from_str(self.before.as_deref()?).ok()
    }
}

/// A file that a commit is to change: its repository-relative path and its bytes on disk; `None`
/// removes it.
pub type ChangedFile = (String, Option<Vec<u8>>);

/// Prepares a commit of `bytes` as the kernel, and of the files of `rules` with it. `blob` is the
/// id that git gave these bytes when they were judged: if filters changed since, git would commit
/// other bytes, and this function refuses.
pub fn prepare_kernel(
    repo: &Repo,
    project: &Project,
    bytes: &[u8],
    blob: &str,
    rules: &[ChangedFile],
    message: &str,
) -> Result<ToCommit> {
    let git = &repo.git;
    let name = &project.kernel_name;
    let id = filters::store(repo, name, bytes)?;
    if id.to_string() != blob {
        bail!(
            "git would hold other bytes of {name} than were judged (line endings or attributes changed since): `lab run{}`, then keep",
            project.argument
        );
    }
    let head = head_commit(git)?;
    let before = head.as_ref().and_then(|commit| blob_in(commit, name));
    if let Some((_, mode)) = before {
        refuse_link(project, mode)?;
    }
    if let (Some(head), Some((held, _))) = (&head, before)
        && held == id
        && rules.is_empty()
    {
        verify_write::read_back(repo, "HEAD", head.id(), name, id)?;
        return Ok(ToCommit::Already(
            introduced(head.clone(), name, id).to_string(),
        ));
    }
    let mode = before.map_or_else(
        || mode_on_disk(&project.kernel),
        |(_, mode)| file_mode(mode),
    );
    let mut files = vec![CommitFile::new(
        name,
        before.map(|(id, _)| id),
        Some(id),
        mode,
    )];
    files.extend(stored(repo, project, head.as_ref(), rules)?);
    prepare(repo, head.as_ref(), files, message).map(ToCommit::New)
}

/// Prepares a commit of these files of the rules alone.
pub fn prepare_rules(
    repo: &Repo,
    project: &Project,
    files: &[ChangedFile],
    message: &str,
) -> Result<Prepared> {
    let head = head_commit(&repo.git)?;
    let files = stored(repo, project, head.as_ref(), files)?;
    prepare(repo, head.as_ref(), files, message)
}

/// Stores the bytes of the files in git.
fn stored(
    repo: &Repo,
    project: &Project,
    head: Option<&git2::Commit>,
    files: &[ChangedFile],
) -> Result<Vec<CommitFile>> {
    let entry = |(name, bytes): &ChangedFile| {
        let held = head.and_then(|commit| blob_in(commit, name));
        let mode = held.map_or_else(
            || mode_on_disk(&project.root.join(name)),
            |(_, mode)| file_mode(mode),
        );
        let blob = bytes
            .as_deref()
            .map(|bytes| filters::store(repo, name, bytes))
            .transpose()?;
        Ok(CommitFile::new(name, held.map(|(id, _)| id), blob, mode))
    };
    files.iter().map(entry).collect()
}

/// Makes the commit on top of HEAD, if libgit2 can. The branch stays where it is.
fn prepare(
    repo: &Repo,
    head: Option<&git2::Commit>,
    files: Vec<CommitFile>,
    message: &str,
) -> Result<Prepared> {
    let git = &repo.git;
    let commit = match by_program(repo)? {
        Some(_) => None,
        None => Some(commit_by_library(git, head, &files, message)?.to_string()),
    };
    let head = head.map(|head| head.id().to_string());
    Ok(Prepared {
        reference: head_ref(repo)?,
        head,
        files,
        commit,
    })
}

/// What the user should know of a commit that HEAD is at: on a detached HEAD, no branch holds it.
pub fn detached_note(repo: &Repo, commit: &str) -> Option<String> {
    repo.git.head_detached().unwrap_or(false).then(|| {
        format!(
            "HEAD is detached: the commit is on no branch. `git branch NAME {}` keeps it",
            super::short(commit)
        )
    })
}

/// The tree of `base`, or an empty tree on an unborn branch, with these files replaced.
pub(super) fn tree_with<'r>(
    repo: &'r Repository,
    base: Option<&git2::Commit>,
    files: &[CommitFile],
) -> Result<git2::Tree<'r>> {
    let base = match base {
        Some(commit) => commit.tree()?,
        None => repo.find_tree(repo.treebuilder(None)?.write()?)?,
    };
    let mut update = TreeUpdateBuilder::new();
    for file in files {
        match file.id() {
            Some(blob) => update.upsert(file.name.as_str(), blob, file_mode(file.mode)),
            None => update.remove(file.name.as_str()),
        };
    }
    let tree = update.create_updated(repo, &base)?;
    Ok(repo.find_tree(tree)?)
}

fn commit_by_library(
    repo: &Repository,
    head: Option<&git2::Commit>,
    files: &[CommitFile],
    message: &str,
) -> Result<Oid> {
    let tree = tree_with(repo, head, files)?;
    let author = author(repo).context("git does not know your name")?;
    let parents: Vec<&git2::Commit> = head.into_iter().collect();
    let committer = committer(repo).unwrap_or_else(|| author.clone());
    let commit = repo
        .commit(None, &author, &committer, message, &tree, &parents)
        .map_err(|e| anyhow::anyhow!("git could not commit: {}", e.message()))?;
    durable::commit(repo, commit)?;
    Ok(commit)
}

pub(super) fn file_mode(mode: i32) -> FileMode {
    if mode == i32::from(FileMode::BlobExecutable) {
        FileMode::BlobExecutable
    } else {
        FileMode::Blob
    }
}

pub(super) fn mode_on_disk(path: &Path) -> FileMode {
    let executable = std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o100 != 0);
    if executable {
        FileMode::BlobExecutable
    } else {
        FileMode::Blob
    }
}
