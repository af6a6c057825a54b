//! The kernel on disk: read before a decision, and replaced by one.

use anyhow::{Context, Result};
use lab_git::{Repo, StoredCommit, short};
use lab_project::Project;
use lab_run::inputs;
use lab_system::failure::Failure;
use lab_system::leftovers;
use lab_system::root::{Root, if_there};
use std::path::Path;

/// The kernel's bytes on disk, whatever they are; `None` if there is no such file.
pub fn read(project: &Project) -> Result<Option<Vec<u8>>> {
    if_there(inputs::on_disk(project)).with_context(|| {
        format!(
            "{} cannot be read, so it cannot be saved, so it is not replaced",
            project.kernel_name
        )
    })
}

/// The subject of a commit that holds bytes which were on disk.
pub const ON_DISK: &str = "lab: on disk before it was replaced";

/// What a full disk means for the bytes on disk.
pub const NOT_REPLACED: &str = "what could not be saved was not replaced";

/// Saves bytes under `refs/lab/saved/`; `why` is the message of the commit. Bytes that are saved
/// already keep their ref.
pub fn save(repo: &Repo, bytes: &[u8], why: &str) -> Result<StoredCommit> {
    lab_git::save(repo, bytes, why).and_so(NOT_REPLACED)
}

/// Tells the user where the bytes are that were on disk. `commit` is the full id of the commit that
/// holds them.
pub fn saved_note(commit: &str) -> String {
    let short = short(commit);
    format!("the bytes that were on disk are kept as {short} (`lab restore {short}`)")
}

/// The hash of the kernel's bytes on disk; `None` if there is no such file.
pub fn present(project: &Project) -> Result<Option<String>> {
    Ok(read(project)?.as_deref().map(inputs::hash_of))
}

/// Puts the kernel of a commit on disk. `found` is the hash of the bytes that were found there and
/// saved: other bytes were saved by somebody since, and stay. Returns notes for the user.
pub fn put(repo: &Repo, commit: &str, found: Option<&str>) -> Result<Vec<String>> {
    let project = &repo.project;
    let wanted = lab_git::bytes_of(repo, commit)?;
    let present = read(project)?;
    let mut notes = recover(repo, &wanted, found)?;
    if present.as_deref() == Some(&wanted) {
        return Ok(notes);
    }
    if present.as_deref().map(inputs::hash_of).as_deref() != found {
        notes.push(format!(
            "newer bytes of {} were saved meanwhile: they stay on disk",
            project.kernel_name
        ));
        return Ok(notes);
    }
    let replaced = lab_git::checkout_kernel(repo, commit, present.as_deref());
    replaced.and_so(&format!("{} was not put back", project.kernel_name))?;
    Ok(notes)
}

/// Removes what is left beside the kernel: a lab was killed while it replaced the kernel, or a disk
/// refused to remove the file. That may be the kernel's only copy, if an editor saved in the same
/// moment: such bytes are saved first. Half of `wanted` is nobody's work, and the bytes with the hash
/// `found` are saved.
pub fn recover(repo: &Repo, wanted: &[u8], found: Option<&str>) -> Result<Vec<String>> {
    let project = &repo.project;
    let path = lab_git::link_target(project).unwrap_or_else(|| project.kernel.clone());
    let mut notes = Vec::new();
    let files = Root::around(&path);
    let left = leftovers::find(&files, Path::new("")).unwrap_or_default();
    for leftover in left.into_iter().filter(|leftover| leftover.is_of(&path)) {
        let Ok(bytes) = files.read(leftover.name(), inputs::SIZE_LIMIT) else {
            continue;
        };
        let is_known =
            wanted.starts_with(&bytes) || Some(inputs::hash_of(&bytes).as_str()) == found;
        if !is_known && !lab_git::is_stored(repo, &bytes) {
            notes.push(saved_note(&save(repo, &bytes, ON_DISK)?.id));
        }
        leftover
            .remove()
            .cannot("remove a temporary file beside", &path)?;
    }
    Ok(notes)
}
