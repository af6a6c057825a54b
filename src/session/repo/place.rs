//! Puts a kernel of some commit on disk, in one step.

use super::{Project, blob_in, find, form, head_commit, open};
use anyhow::{Context, Result, bail};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces the kernel on disk by that of `commit`. The caller has saved the present bytes.
/// The file keeps its mode; one that is not there gets the mode that git holds.
pub fn put_back(project: &Project, commit: &str) -> Result<()> {
    let (bytes, mode) = held(project, commit)?;
    replace(&project.kernel, &bytes, if mode & 0o111 == 0 { 0o644 } else { 0o755 })
}

/// The kernel of a commit, in the form it has on disk.
pub fn bytes_of(project: &Project, commit: &str) -> Result<Vec<u8>> {
    Ok(held(project, commit)?.0)
}

fn held(project: &Project, commit: &str) -> Result<(Vec<u8>, i32)> {
    let repo = open(project)?;
    let commit = find(&repo, commit)?;
    let Some((_, mode)) = blob_in(&commit, &project.kernel_name) else {
        bail!("commit {} does not hold {}", super::short(&commit.id().to_string()), project.kernel_name);
    };
    Ok((form::on_disk(&repo, project, &commit, &project.kernel_name)?, mode))
}

fn replace(path: &Path, bytes: &[u8], new_mode: u32) -> Result<()> {
    let folder = path.parent().context("a kernel lies in a folder")?;
    let write = || -> std::io::Result<()> {
        let permissions = match std::fs::metadata(path) {
            Ok(present) => present.permissions(),
            Err(_) => Permissions::from_mode(new_mode),
        };
        let mut file = tempfile::Builder::new().prefix(".lab-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(permissions)?;
        file.as_file().sync_data()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write {} (nothing was changed)", path.display()))
}

/// Whether the index holds a version of the kernel that HEAD does not.
pub fn staged(project: &Project) -> Result<bool> {
    let repo = open(project)?;
    let index = repo.index()?;
    let staged = index.get_path(Path::new(&project.kernel_name), 0).map(|entry| entry.id);
    let held =
        head_commit(&repo)?.and_then(|commit| blob_in(&commit, &project.kernel_name)).map(|(id, _)| id);
    Ok(staged != held)
}
