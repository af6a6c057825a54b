//! Puts the kernel of a commit on disk, in one step.

use super::commit::refuse_link;
use crate::{Project, Repo, blob_in_head, exact, file_in, find, index, renames};
use anyhow::{Context, Result, bail};
use lab_run::inputs::InputFiles;
use lab_system::root::{Root, read_anywhere};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Replaces the kernel on disk by that of `commit`. `saved` are the bytes that the caller found
/// there and saved. If other bytes were there at the last moment, they are saved too. The file
/// keeps its mode; a new file gets the mode that git holds.
pub fn checkout_kernel(repo: &Repo, commit: &str, saved: Option<&[u8]>) -> Result<()> {
    let (bytes, mode) = held(repo, commit)?;
    let project = &repo.project;
    let path = InputFiles::of(project)
        .behind_links(&project.kernel)
        .with_context(|| format!("cannot write {} (nothing was changed)", project.kernel_name))?;
    let replaced = replace(&path, &bytes, if mode & 0o111 == 0 { 0o644 } else { 0o755 })
        .with_context(|| format!("cannot write {} (nothing was changed)", path.display()))?;
    let Some(replaced) = replaced else {
        return Ok(());
    };
    let newer = read_anywhere(&replaced, u64::MAX)
        .ok()
        .filter(|bytes| Some(bytes.as_slice()) != saved);
    if let Some(newer) = newer
        && let Err(error) = super::save(repo, &newer, "lab: saved while it was being replaced")
    {
        let place = replaced.display();
        return Err(error.context(format!("a save came in between and is kept as {place}")));
    }
    // What was there is saved. A file that cannot be removed is a leftover of the next command.
    let _ = Root::around(&path).remove_file(&replaced);
    Ok(())
}

/// The file that a kernel links to; `None` if the kernel is no link. That file is written, and the
/// link stays.
pub fn link_target(project: &Project) -> Option<PathBuf> {
    let about = project.kernel.symlink_metadata().ok()?;
    about
        .is_symlink()
        .then(|| InputFiles::of(project).behind_links(&project.kernel).ok())?
}

/// The kernel of a commit, as it was judged or saved; else as git would put it on disk.
pub fn bytes_of(repo: &Repo, commit: &str) -> Result<Vec<u8>> {
    Ok(held(repo, commit)?.0)
}

fn held(repo: &Repo, commit: &str) -> Result<(Vec<u8>, i32)> {
    let commit = find(&repo.git, commit)?;
    let name = renames::name_in(repo, &commit);
    let Some((blob, mode)) = file_in(&repo.git, &commit, &name)? else {
        bail!(
            "commit {} does not hold {}",
            super::short(&commit.id().to_string()),
            repo.project.kernel_name
        );
    };
    refuse_link(repo, mode)?;
    Ok((exact::bytes(repo, &commit, &name, blob)?, mode))
}

/// Writes a file and lets it change places with the one at `path`, in one step. Returns the
/// replaced file: it holds the last bytes that anybody wrote there. `None` if there was no file, or
/// if the file system cannot exchange two files.
fn replace(path: &Path, bytes: &[u8], new_mode: u32) -> std::io::Result<Option<PathBuf>> {
    let permissions = match std::fs::metadata(path) {
        Ok(present) => present.permissions(),
        Err(_) => Permissions::from_mode(new_mode),
    };
    Root::around(path).exchange(path, bytes, permissions)
}

/// Whether the index holds another version of the kernel than HEAD.
pub fn staged(repo: &Repo) -> Result<bool> {
    let name = &repo.project.kernel_name;
    let held = blob_in_head(repo, name)?.map(|(id, _)| id);
    Ok(!index::has_conflict(repo, name) && index::staged(repo, name)? != held)
}
