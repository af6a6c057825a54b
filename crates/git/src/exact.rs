//! `refs/lab/exact/COMMIT`: the kernel of a commit as it was on disk when it was judged or saved.
//! It is written only where git's rules for line endings would put other bytes on disk.
//! `lab restore` and `lab discard` put these bytes there.

use super::history::introduced;
use super::ref_update::write_blob;
use super::{Repo, bounds, filters};
use anyhow::Result;
use git2::{Commit, ErrorCode, Oid, Reference, Repository};

/// Remembers the bytes on disk of the kernel `name` that a commit holds, if git would put others there. A
/// commit that has such bytes keeps them. Returns whether these bytes are what comes back.
pub fn remember(repo: &Repo, name: &str, commit: Oid, bytes: &[u8]) -> Result<bool> {
    let git = &repo.git;
    let reference = reference(commit);
    if let Ok(known) = git.find_reference(&reference) {
        return Ok(blob(git, &known).is_some_and(|known| known == bytes));
    }
    if !filters::may_change(repo, name) {
        return Ok(true);
    }
    let found = bounds::commit(git, commit)?;
    if filters::on_disk(repo, &found, name)? == bytes {
        return Ok(true);
    }
    write_blob(repo, &reference, None, bytes)?;
    Ok(true)
}

/// Remembers the judged bytes of a kept commit, given by its full id, where git would put others on
/// disk. `kernel` is the repository-relative path of the kernel.
pub fn remember_bytes(repo: &Repo, kernel: &str, commit: &str, bytes: &[u8]) -> Result<()> {
    remember(repo, kernel, Oid::from_str(commit)?, bytes).map(drop)
}

/// The bytes to put on disk for a file of a commit: those that were remembered, else what git would
/// put there. `blob` is what the commit holds under this name.
pub fn bytes(repo: &Repo, commit: &Commit, name: &str, blob: Oid) -> Result<Vec<u8>> {
    let git = &repo.git;
    let of = |commit: Oid| {
        let known = find(git, commit)?;
        // The commit may hold another kernel too: these bytes may be of that one.
        let is_of_blob = filters::id(repo, name, &known).is_ok_and(|id| id == blob)
            // Another clone may have had other rules for line endings.
            || bounds::blob(git, blob).is_ok_and(|held| without_cr(held.content()).eq(without_cr(&known)));
        is_of_blob.then_some(known)
    };
    let may_be_there = repo.has_refs_in(&["refs/lab/exact/", "refs/lab/fetched/"]);
    // A later commit may hold the same kernel.
    let exact = may_be_there
        .then(|| of(commit.id()).or_else(|| of(introduced(git, commit.clone(), name, blob))))
        .flatten();
    exact.map_or_else(|| filters::on_disk(repo, commit, name), Ok)
}

fn find(git: &Repository, commit: Oid) -> Option<Vec<u8>> {
    let own = git.find_reference(&reference(commit));
    let found = match own {
        Err(error) if error.code() == ErrorCode::NotFound => git
            .references_glob(&format!("refs/lab/fetched/*/exact/{commit}"))
            .ok()?
            .flatten()
            .next(),
        own => own.ok(),
    };
    blob(git, &found?)
}

/// The bytes that a ref names.
fn blob(git: &Repository, reference: &Reference) -> Option<Vec<u8>> {
    let blob = bounds::blob(git, reference.target()?).ok()?;
    Some(blob.content().to_vec())
}

fn without_cr(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    bytes.iter().copied().filter(|byte| *byte != b'\r')
}

fn reference(commit: Oid) -> String {
    format!("refs/lab/exact/{commit}")
}
