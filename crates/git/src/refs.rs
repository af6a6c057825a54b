//! `refs/lab/…`: commits that no branch holds, so that no bytes are ever lost.
//!
//! - `refs/lab/discarded/N`: the attempt of run N
//! - `refs/lab/undone/N`: the commit of run N whose keep was undone
//! - `refs/lab/left/N`: the kernel of run N, which `lab auto` left to a person
//! - `refs/lab/auto/TURN`: what the command of a turn of `lab auto` changed besides the kernel
//! - `refs/lab/saved/BLOB`: a kernel that was on disk before another one was put there
//! - `refs/lab/exact/COMMIT`: see the module `exact`
//! - `refs/lab/raw/BLOB`: bytes whose line endings git would have changed, as they were on disk

use super::commit::{self, mode_on_disk};
use super::history::{changed_paths, find_path, refs_matching};
use super::obstacle::any_signature;
use super::ref_update::{set, write_blob, write_ref};
use crate::{
    CommitFile, Project, Repo, bounds, durable, exact, filters, find, head_commit, verify_write,
};
use anyhow::{Error, Result};
use git2::{Commit, ObjectType, Oid};
use lab_run::RunId;
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
    run: RunId,
    bytes: &[u8],
    message: &str,
) -> Result<StoredCommit> {
    let commit = commit_without_branch(repo, bytes, message)?;
    Ok(StoredCommit {
        reference: free_name(repo, "discarded", run, commit),
        id: commit.to_string(),
    })
}

/// Gives a commit the ref `refs/lab/FOLDER/NUMBER`, or a further number: see [`free_name`].
pub fn store(
    repo: &Repo,
    folder: &str,
    number: RunId,
    commit: Oid,
    why: &str,
) -> Result<StoredCommit> {
    let stored = StoredCommit {
        reference: free_name(repo, folder, number, commit),
        id: commit.to_string(),
    };
    name_commit(repo, &stored, why)?;
    Ok(stored)
}

/// Stores the bytes of a run that was left to a person, with what was said of it, under
/// `refs/lab/left/RUN`. Bytes that have that ref keep it.
pub fn name_left(repo: &Repo, run: RunId, bytes: &[u8], message: &str) -> Result<()> {
    let known = repo.git.find_reference(&format!("refs/lab/left/{run}"));
    let known = known.map_err(Error::from);
    let known = known.and_then(|known| bounds::commit_at(&repo.git, &known));
    let holds = |commit: Commit| {
        super::bytes_of(repo, &commit.id().to_string()).is_ok_and(|held| held == bytes)
    };
    if known.is_ok_and(holds) {
        return Ok(());
    }
    let commit = commit_without_branch(repo, bytes, message)?;
    store(repo, "left", run, commit, "lab auto: left to a person").map(drop)
}

/// Stores the kernel of a turn of `lab auto` that was ended before its decision, under
/// `refs/lab/auto/TURN`. What else the command changed in that turn has that ref already; the
/// kernel then gets the next free number.
pub fn name_turn(repo: &Repo, turn: u64, bytes: &[u8]) -> Result<StoredCommit> {
    let message = format!("lab auto: the kernel of turn {turn}, which a person ended");
    let commit = commit_without_branch(repo, bytes, &message)?;
    let why = "lab auto: a person ended the turn";
    store(repo, &turns_folder(&repo.project), RunId(turn), commit, why)
}

/// The folder below `refs/lab` for what the command of the project's loop changed. Lanes count
/// their turns each for itself, at the same time.
pub fn turns_folder(project: &Project) -> String {
    project
        .lane
        .as_ref()
        .map_or_else(|| "auto".to_owned(), |lane| format!("auto/{lane}"))
}

/// The ref for a commit that HEAD is about to leave. A commit that is stored already keeps its ref.
pub fn undone_ref(repo: &Repo, run: RunId, commit: &str) -> Result<String> {
    Ok(free_name(repo, "undone", run, Oid::from_str(commit)?))
}

/// The name `refs/lab/FOLDER/RUN`. If that ref is of another commit (from before .lab was deleted,
/// or of an earlier decision about the same run), a further number follows: no ref is ever
/// replaced.
fn free_name(repo: &Repo, folder: &str, run: RunId, commit: Oid) -> String {
    let first = format!("refs/lab/{folder}/{run}");
    let is_free = |name: &String| {
        let known = repo.git.find_reference(name);
        known.map_or(true, |known| known.target() == Some(commit))
    };
    numbered(first.clone()).find(is_free).unwrap_or(first)
}

/// `NAME`, `NAME-2`, `NAME-3`, …
fn numbered(name: String) -> impl Iterator<Item = String> {
    std::iter::once(name.clone()).chain((2..).map(move |n| format!("{name}-{n}")))
}

/// Gives a commit its ref under `refs/lab/`, unless it has it, and waits until it is on disk. A ref
/// of another commit is an error.
pub fn name_commit(repo: &Repo, stored: &StoredCommit, why: &str) -> Result<()> {
    let (name, id) = (&stored.reference, Oid::from_str(&stored.id)?);
    if repo.git.refname_to_id(name).ok() != Some(id) {
        write_ref(repo, name, None, id, why)?;
    }
    verify_write::read_back(repo, name, id, &[])?;
    durable::reference(repo, name)
}

/// Removes the name that [`name_commit`] gave to a commit.
pub fn unname_commit(repo: &Repo, stored: &StoredCommit) -> Result<()> {
    let (name, id) = (&stored.reference, Oid::from_str(&stored.id)?);
    match repo.git.refname_to_id(name) {
        Ok(named) if named == id => set(repo, name, Some(id), None, "lab: nothing was decided"),
        _ => Ok(()),
    }
}

/// Saves bytes that are about to be overwritten. Bytes that are saved already keep their ref.
pub fn save(repo: &Repo, bytes: &[u8], why: &str) -> Result<StoredCommit> {
    let (git, name) = (&repo.git, &repo.project.kernel_name);
    let blob = filters::store(repo, name, bytes)?;
    store_raw(repo, blob, bytes)?;
    let kernel = [kernel_file(&repo.project, blob)];
    let of = |commit: Oid, reference: String| StoredCommit {
        id: commit.to_string(),
        reference,
    };
    // Bytes that differ in their line endings alone may be the same blob to git.
    let mut names = numbered(format!("refs/lab/saved/{blob}"));
    let free = loop {
        let reference = names.next().unwrap_or_default();
        let known = git.find_reference(&reference).map_err(Error::from);
        let known = known.and_then(|known| bounds::commit_at(git, &known));
        let Ok(commit) = known.map(|commit| commit.id()) else {
            break reference;
        };
        if verify_write::read_back(repo, &reference, commit, &kernel).is_err() {
            break reference;
        }
        if exact::remember(repo, name, commit, bytes)? {
            return Ok(of(commit, reference));
        }
    };
    let commit = commit_without_branch(repo, bytes, why)?;
    let broken = git.refname_to_id(&free).ok();
    write_ref(repo, &free, broken, commit, why)?;
    verify_write::read_back(repo, &free, commit, &kernel)?;
    Ok(of(commit, free))
}

/// Whether HEAD or a ref below `refs/lab` holds the kernel with these bytes. Looks at every ref: for
/// what is rare.
pub fn is_stored(repo: &Repo, bytes: &[u8]) -> bool {
    let head = head_commit(&repo.git).ok().flatten();
    let refs = refs_matching(&repo.git, "refs/lab/*").into_iter().flatten();
    let stored = refs.filter_map(|(_, reference)| reference.target());
    let holds = |id: Oid| super::bytes_of(repo, &id.to_string()).is_ok_and(|held| held == bytes);
    head.map(|head| head.id())
        .into_iter()
        .chain(stored)
        .any(holds)
}

fn kernel_file(project: &Project, blob: Oid) -> CommitFile {
    CommitFile::new(
        &project.kernel_name,
        None,
        Some(blob),
        mode_on_disk(&project.kernel),
    )
}

/// Makes a commit on top of HEAD that no branch holds: HEAD's tree with this kernel.
fn commit_without_branch(repo: &Repo, bytes: &[u8], message: &str) -> Result<Oid> {
    let (git, name) = (&repo.git, &repo.project.kernel_name);
    let blob = filters::store(repo, name, bytes)?;
    store_raw(repo, blob, bytes)?;
    let head = head_commit(git)?;
    let who = any_signature(git)?;
    let parents: Vec<&Commit> = head.iter().collect();
    let kernel = [kernel_file(&repo.project, blob)];
    let commit = |message: &str| commit::write(repo, &parents, &kernel, [&who, &who], message);
    let mut id = commit(message)?;
    if !exact::remember(repo, name, id, bytes)? {
        // Within one second, bytes with other line endings were stored with the same message.
        id = commit(&format!(
            "{}\n\nBytes: {}\n",
            message.trim_end(),
            Oid::hash_object(ObjectType::Blob, bytes)?
        ))?;
        exact::remember(repo, name, id, bytes)?;
    }
    Ok(id)
}

/// Stores bytes on disk under `refs/lab/raw/`, unless git holds them as they are.
fn store_raw(repo: &Repo, held: Oid, bytes: &[u8]) -> Result<()> {
    let raw = Oid::hash_object(ObjectType::Blob, bytes)?;
    if raw == held {
        return Ok(());
    }
    let name = format!("refs/lab/raw/{raw}");
    let known = repo.git.refname_to_id(&name).ok();
    write_blob(repo, &name, known, bytes)
}

/// Path of the kernel that a commit under `refs/lab/` holds: the one path in which the commit
/// differs from its parent. If none differs, it is the path of the blob that the ref names. `None`
/// for any other commit.
pub fn stored_kernel(repo: &Repo, commit: &str) -> Result<Option<String>> {
    let git = &repo.git;
    let commit = find(git, commit)?;
    let mut names = Vec::new();
    for (name, reference) in refs_matching(git, "refs/lab/*")? {
        if reference.target() == Some(commit.id()) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    let changed = changed_paths(repo, &commit)?.into_iter().next();
    let tree = bounds::tree_of(&repo.git, &commit)?;
    let path_of = |name: &String| {
        let blob = Oid::from_str(name.rsplit('/').next()?.get(..40)?).ok()?;
        find_path(&repo.git, &tree, |_, entry| entry.id() == blob)
    };
    Ok(changed.or_else(|| names.iter().find_map(path_of)))
}
