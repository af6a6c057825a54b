//! `refs/lab/…`: where bytes are kept that no branch holds, so that none are ever lost.
//!
//! `refs/lab/discarded/N` is the attempt of run N; `refs/lab/undone/N` its commit where a keep was undone; `refs/lab/saved/BLOB` is a kernel that was on
//! disk before something else was put there; `refs/lab/raw/BLOB` are bytes whose line endings git
//! would have changed, as they were.

use super::commit::{any_signature, mode_on_disk, tree_with};
use crate::repo::{Project, filters as form, find, head_commit, open, verify_write as proof};
use crate::run::RunId;
use anyhow::{Context, Result};
use git2::{Oid, Repository};

/// A commit under `refs/lab/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Full id.
    pub id: String,
    pub reference: String,
}

/// Keeps the attempt of a run; its message is what was tried.
pub fn keep_discarded(project: &Project, run: RunId, bytes: &[u8], message: &str) -> Result<Kept> {
    let repo = open(project)?;
    let (commit, blob) = commit_aside(&repo, project, bytes, message)?;
    let reference = numbered(&repo, "discarded", run, commit, "lab discard")?;
    proof::holds(project, &reference, commit, &project.kernel_name, blob)?;
    Ok(Kept { id: commit.to_string(), reference })
}

/// Keeps a commit that HEAD is about to leave; the name of its ref. The same commit is kept once.
pub fn keep_undone(project: &Project, run: RunId, commit: &str) -> Result<String> {
    let repo = open(project)?;
    numbered(&repo, "undone", run, Oid::from_str(commit)?, "lab undo")
}

/// Names the commit `refs/lab/ROOM/RUN`. Where that name is of another one, from before .lab was deleted or of an
/// earlier decision about the same run, it is never replaced: a further number follows.
fn numbered(repo: &Repository, room: &str, run: RunId, commit: Oid, why: &str) -> Result<String> {
    let names = std::iter::once(format!("refs/lab/{room}/{run}"))
        .chain((2..).map(|n| format!("refs/lab/{room}/{run}-{n}")));
    for reference in names {
        match repo.find_reference(&reference) {
            Ok(known) if known.target() == Some(commit) => return Ok(reference),
            Ok(_) => {}
            Err(_) => {
                repo.reference(&reference, commit, false, why)
                    .with_context(|| format!("cannot write {reference}"))?;
                return Ok(reference);
            }
        }
    }
    unreachable!("numbers do not run out")
}

/// Keeps bytes that are about to be overwritten. The same bytes are kept once.
pub fn save(project: &Project, bytes: &[u8], why: &str) -> Result<Kept> {
    let repo = open(project)?;
    let blob = form::store(&repo, &project.kernel_name, bytes)?;
    let reference = format!("refs/lab/saved/{blob}");
    keep_raw(&repo, blob, bytes)?;
    if let Ok(known) = repo.find_reference(&reference)
        && let Ok(commit) = known.peel_to_commit()
        && proof::holds(project, &reference, commit.id(), &project.kernel_name, blob).is_ok()
    {
        return Ok(Kept { id: commit.id().to_string(), reference });
    }
    let (commit, blob) = commit_aside(&repo, project, bytes, why)?;
    repo.reference(&reference, commit, true, why).with_context(|| format!("cannot write {reference}"))?;
    proof::holds(project, &reference, commit, &project.kernel_name, blob)?;
    Ok(Kept { id: commit.to_string(), reference })
}

/// A commit on top of HEAD that no branch knows, and its blob: HEAD's tree with this kernel.
fn commit_aside(repo: &Repository, project: &Project, bytes: &[u8], message: &str) -> Result<(Oid, Oid)> {
    let name = &project.kernel_name;
    let blob = form::store(repo, name, bytes)?;
    keep_raw(repo, blob, bytes)?;
    let head = head_commit(repo)?;
    let tree = tree_with(repo, head.as_ref(), name, blob, mode_on_disk(&project.kernel))?;
    let who = any_signature(repo)?;
    let parents: Vec<&git2::Commit> = head.iter().collect();
    let commit = repo
        .commit(None, &who, &who, message, &tree, &parents)
        .map_err(|e| anyhow::anyhow!("git could not keep the bytes: {}", e.message()))?;
    Ok((commit, blob))
}

fn keep_raw(repo: &Repository, held: Oid, bytes: &[u8]) -> Result<()> {
    if Oid::hash_object(git2::ObjectType::Blob, bytes)? != held {
        let raw = repo.blob(bytes)?;
        repo.reference(&format!("refs/lab/raw/{raw}"), raw, true, "as it was on disk")?;
    }
    Ok(())
}

/// The kernel that a commit under `refs/lab/` keeps: the one path in which it differs from the
/// commit that it was made on, or, where it does not, the path of the bytes that its ref names.
/// `None` of any other commit.
pub fn kept_aside(project: &Project, commit: &str) -> Result<Option<String>> {
    let repo = open(project)?;
    let commit = find(&repo, commit)?;
    let mut names = Vec::new();
    for reference in repo.references_glob("refs/lab/*")?.flatten() {
        if reference.target() == Some(commit.id()) {
            names.push(String::from_utf8_lossy(reference.name_bytes()).into_owned());
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    let tree = commit.tree()?;
    let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose()?;
    let diff = repo.diff_tree_to_tree(before.as_ref(), Some(&tree), None)?;
    let changed = diff.deltas().next().and_then(|delta| Some(delta.new_file().path()?.to_str()?.to_owned()));
    Ok(changed.or_else(|| names.iter().find_map(|name| path_of(&tree, name.rsplit('/').next()?))))
}

/// The first path of a tree under which this blob is.
fn path_of(tree: &git2::Tree, blob: &str) -> Option<String> {
    let blob = Oid::from_str(blob).ok()?;
    let mut found = None;
    let _ = tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
        if entry.id() == blob {
            found = Some(format!("{}{}", folder, String::from_utf8_lossy(entry.name_bytes())));
            return git2::TreeWalkResult::Abort;
        }
        git2::TreeWalkResult::Ok
    });
    found
}
