//! The work tree of a lane: a linked work tree of the user's repository, on a branch of its own.

use super::{Repo, bounds, environment, head_commit, open_git};
use anyhow::{Context, Result, ensure};
use git2::build::CheckoutBuilder;
use git2::{ErrorCode, Repository, WorktreeAddOptions, WorktreePruneOptions};
use lab_system::root::Root;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes the work tree of a lane at `path`, on the branch `lane/NAME`, which begins at HEAD. A work
/// tree that is there stays as it is.
pub fn lane_tree(repo: &Repo, path: &Path, name: &str) -> Result<()> {
    let what = || format!("cannot make the work tree {}", path.display());
    let git = &repo.git;
    if path.join(".git").symlink_metadata().is_ok() {
        let own = Repository::open(path).with_context(what)?;
        let is_ours = own.commondir().canonicalize()? == git.commondir().canonicalize()?;
        ensure!(
            is_ours,
            "{} is a work tree of another repository: move it away",
            path.display()
        );
        return Ok(());
    }
    let parent = path.parent().unwrap_or(path);
    repo.project
        .files()
        .create_dir_all(parent)
        .with_context(what)?;
    let branch = format!("lane/{name}");
    let branch = match git.find_branch(&branch, git2::BranchType::Local) {
        Ok(branch) => branch,
        Err(error) if error.code() == ErrorCode::NotFound => {
            let head = head_commit(git)?.context("HEAD is on no commit")?;
            git.branch(&branch, &head, false).with_context(what)?
        }
        Err(error) => return Err(error).with_context(what),
    };
    let own = format!("lab-{name}");
    // Somebody removed the folder, and git still knows the work tree.
    if let Ok(old) = git.find_worktree(&own) {
        old.prune(Some(WorktreePruneOptions::new().valid(false)))
            .with_context(what)?;
    }
    let reference = branch.into_reference();
    bounds::check(git, &reference.peel_to_tree()?)?;
    let mut options = WorktreeAddOptions::new();
    options.reference(Some(&reference));
    git.worktree(&own, path, Some(&options))
        .with_context(what)?;
    if environment::is_changed() {
        check_out_anew(path).with_context(what)?;
    }
    Ok(())
}

/// Writes the files of a new work tree once more: libgit2 made them by its own settings, without
/// those that the environment names.
fn check_out_anew(path: &Path) -> Result<()> {
    let git = open_git(path)?;
    let mut index = git.index()?;
    let root = Root::new(path);
    for entry in index.iter() {
        root.remove_file(Path::new(OsStr::from_bytes(&entry.path)))?;
    }
    index.clear()?;
    index.write()?;
    Ok(git.checkout_head(Some(CheckoutBuilder::new().force()))?)
}
