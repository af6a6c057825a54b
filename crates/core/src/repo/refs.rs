//! `refs/lab/…`: commits that no branch holds, so that no bytes are ever lost.
//!
//! - `refs/lab/discarded/N`: the attempt of run N
//! - `refs/lab/undone/N`: the commit of run N whose keep was undone
//! - `refs/lab/left/N`: the kernel of run N, which `lab auto` left to a person
//! - `refs/lab/auto/TURN`: what the command of a turn of `lab auto` changed besides the kernel
//! - `refs/lab/saved/BLOB`: a kernel that was on disk before another one was put there
//! - `refs/lab/exact/COMMIT`: see the module `exact`
//! - `refs/lab/raw/BLOB`: bytes whose line endings git would have changed, as they were on disk

use super::commit::{mode_on_disk, tree_with};
use super::identity::any_signature;
use super::locks;
use crate::repo::{
    CommitFile, Project, Repo, branch, durable, exact, filters, find, head_commit, verify_write,
};
use crate::run::RunId;
use anyhow::{Context, Result};
use git2::{ObjectType, Oid, Repository};
use serde::{Deserialize, Serialize};

/// A commit under `refs/lab/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCommit {
    /// Full id.
    pub id: String,
    pub reference: String,
}

/// Makes the commit of a discarded run's attempt; the message tells what was tried. [`name_commit`]
/// gives it its ref.
pub fn prepare_discarded(
    repo: &Repo,
    project: &Project,
    run: RunId,
    bytes: &[u8],
    message: &str,
) -> Result<StoredCommit> {
    let (commit, _) = commit_without_branch(repo, project, bytes, message)?;
    Ok(StoredCommit {
        id: commit.to_string(),
        reference: free_name(&repo.git, "discarded", run, commit),
    })
}

/// Stores the bytes of a run that was left to a person, with what was said of it, under
/// `refs/lab/left/RUN`. Bytes that have that ref keep it.
pub fn name_left(
    repo: &Repo,
    project: &Project,
    run: RunId,
    bytes: &[u8],
    message: &str,
) -> Result<()> {
    let git = &repo.git;
    let known = git
        .find_reference(&format!("refs/lab/left/{run}"))
        .and_then(|known| known.peel_to_commit());
    let holds = |commit: git2::Commit| {
        super::bytes_of(repo, project, &commit.id().to_string()).is_ok_and(|held| held == bytes)
    };
    if known.is_ok_and(holds) {
        return Ok(());
    }
    let (commit, _) = commit_without_branch(repo, project, bytes, message)?;
    let stored = StoredCommit {
        id: commit.to_string(),
        reference: free_name(git, "left", run, commit),
    };
    name_commit(repo, &stored, "lab auto: left to a person")?;
    durable::reference(git, &stored.reference)
}

/// Stores the kernel of a turn of `lab auto` that was ended before its decision, under
/// `refs/lab/auto/TURN`. What else the command changed in that turn has that ref already; the
/// kernel then gets the next free number.
pub fn name_turn(repo: &Repo, project: &Project, turn: u64, bytes: &[u8]) -> Result<StoredCommit> {
    let message = format!("lab auto: the kernel of turn {turn}, which a person ended");
    let (commit, _) = commit_without_branch(repo, project, bytes, &message)?;
    let reference = free_name(&repo.git, &turns_folder(project), RunId(turn), commit);
    let stored = StoredCommit {
        id: commit.to_string(),
        reference,
    };
    name_commit(repo, &stored, "lab auto: a person ended the turn")?;
    durable::reference(&repo.git, &stored.reference)?;
    Ok(stored)
}

/// The folder below `refs/lab` for what the command of the project's loop changed. Lanes count
/// their turns each for itself, at the same time.
pub(super) fn turns_folder(project: &Project) -> String {
    project
        .lane
        .as_ref()
        .map_or_else(|| "auto".to_owned(), |lane| format!("auto/{lane}"))
}

/// The ref for a commit that HEAD is about to leave. A commit that is stored already keeps its ref.
pub fn undone_ref(repo: &Repo, run: RunId, commit: &str) -> Result<String> {
    Ok(free_name(&repo.git, "undone", run, Oid::from_str(commit)?))
}

/// The name `refs/lab/FOLDER/RUN`. If that ref is of another commit (from before .lab was deleted,
/// or of an earlier decision about the same run), a further number follows: no ref is ever
/// replaced.
pub(super) fn free_name(git: &Repository, folder: &str, run: RunId, commit: Oid) -> String {
    let first = format!("refs/lab/{folder}/{run}");
    let is_free = |name: &String| {
        git.find_reference(name)
            .map_or(true, |known| known.target() == Some(commit))
    };
    let further = (2..).map(|n| format!("refs/lab/{folder}/{run}-{n}"));
    std::iter::once(first.clone())
        .chain(further)
        .find(is_free)
        .unwrap_or(first)
}

/// Gives a commit its ref under `refs/lab/`, unless it has it. A ref of another commit is an error.
/// The caller waits for the disk.
pub fn name_commit(repo: &Repo, stored: &StoredCommit, why: &str) -> Result<()> {
    let (git, name, id) = (&repo.git, &stored.reference, Oid::from_str(&stored.id)?);
    if git.refname_to_id(name).ok() != Some(id) {
        locks::clear_own_ref(git, name)?;
        branch::set(git, name, None, Some(id), why)
            .with_context(|| format!("cannot write {name}"))?;
    }
    verify_write::is_there(repo, name, id)
}

/// Saves bytes that are about to be overwritten. Bytes that are saved already keep their ref.
pub fn save(repo: &Repo, project: &Project, bytes: &[u8], why: &str) -> Result<StoredCommit> {
    let git = &repo.git;
    let blob = filters::store(repo, &project.kernel_name, bytes)?;
    let reference = format!("refs/lab/saved/{blob}");
    store_raw(git, blob, bytes)?;
    // Bytes that differ in their line endings alone may be the same blob to git.
    let names = std::iter::once(reference.clone()).chain((2..).map(|n| format!("{reference}-{n}")));
    let mut free = reference.clone();
    for name in names {
        free = name;
        let Ok(known) = git.find_reference(&free) else {
            break;
        };
        let Ok(commit) = known.peel_to_commit() else {
            break;
        };
        if verify_write::read_back(repo, &free, commit.id(), &project.kernel_name, blob).is_err() {
            break;
        }
        if exact::remember(repo, project, commit.id(), bytes)? {
            return Ok(StoredCommit {
                id: commit.id().to_string(),
                reference: free,
            });
        }
    }
    let (commit, blob) = commit_without_branch(repo, project, bytes, why)?;
    locks::clear_own_ref(git, &free)?;
    git.reference(&free, commit, true, why)
        .with_context(|| format!("cannot write {free}"))?;
    durable::reference(git, &free)?;
    verify_write::read_back(repo, &free, commit, &project.kernel_name, blob)?;
    Ok(StoredCommit {
        id: commit.to_string(),
        reference: free,
    })
}

/// Makes a commit on top of HEAD that no branch holds: HEAD's tree with this kernel. Returns the
/// ids of commit and blob.
fn commit_without_branch(
    repo: &Repo,
    project: &Project,
    bytes: &[u8],
    message: &str,
) -> Result<(Oid, Oid)> {
    let (git, name) = (&repo.git, &project.kernel_name);
    let blob = filters::store(repo, name, bytes)?;
    store_raw(git, blob, bytes)?;
    let head = head_commit(git)?;
    let kernel = CommitFile::new(name, None, Some(blob), mode_on_disk(&project.kernel));
    let tree = tree_with(git, head.as_ref(), &[kernel])?;
    let who = any_signature(git)?;
    let parents: Vec<&git2::Commit> = head.iter().collect();
    let commit = |message: &str| {
        git.commit(None, &who, &who, message, &tree, &parents)
            .map_err(|e| anyhow::anyhow!("git could not store the bytes: {}", e.message()))
    };
    let mut id = commit(message)?;
    if !exact::remember(repo, project, id, bytes)? {
        // Within one second, bytes with other line endings were stored with the same message.
        id = commit(&format!(
            "{}\n\nBytes: {}\n",
            message.trim_end(),
            Oid::hash_object(ObjectType::Blob, bytes)?
        ))?;
        exact::remember(repo, project, id, bytes)?;
    }
    durable::commit(git, id)?;
    Ok((id, blob))
}

fn store_raw(git: &Repository, held: Oid, bytes: &[u8]) -> Result<()> {
    if Oid::hash_object(ObjectType::Blob, bytes)? != held {
        let raw = git.blob(bytes)?;
        durable::objects(git, &[raw])?;
        let reference = format!("refs/lab/raw/{raw}");
        locks::clear_own_ref(git, &reference)?;
        git.reference(&reference, raw, true, "as it was on disk")?;
        durable::reference(git, &reference)?;
    }
    Ok(())
}

/// Path of the kernel that a commit under `refs/lab/` holds: the one path in which the commit
/// differs from its parent. If none differs, it is the path of the blob that the ref names. `None`
/// for any other commit.
pub fn stored_kernel(repo: &Repo, commit: &str) -> Result<Option<String>> {
    let git = &repo.git;
    let commit = find(git, commit)?;
    let mut names = Vec::new();
    for reference in git.references_glob("refs/lab/*")?.flatten() {
        if reference.target() == Some(commit.id()) {
            names.push(String::from_utf8_lossy(reference.name_bytes()).into_owned());
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    let tree = commit.tree()?;
    let before = commit
        .parent(0)
        .ok()
        .map(|parent| parent.tree())
        .transpose()?;
    let diff = git.diff_tree_to_tree(before.as_ref(), Some(&tree), None)?;
    let changed = diff
        .deltas()
        .next()
        .and_then(|delta| Some(delta.new_file().path()?.to_str()?.to_owned()));
    Ok(changed.or_else(|| {
        names
            .iter()
            .find_map(|name| path_of(&tree, name.rsplit('/').next()?.get(..40)?))
    }))
}

/// The first path of a tree under which this blob is.
fn path_of(tree: &git2::Tree, blob: &str) -> Option<String> {
    let blob = Oid::from_str(blob).ok()?;
    let mut found = None;
    let _ = tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        if entry.id() == blob {
            found = Some(format!(
                "{}{}",
                folder,
                String::from_utf8_lossy(entry.name_bytes())
            ));
            return git2::TreeWalkResult::Abort;
        }
        git2::TreeWalkResult::Ok
    });
    found
}
