//! Checks out a new branch at an older commit. libgit2 writes the files: no hook and no filter
//! program starts.

use super::{Repo, bounds, environment, find, head_commit, open_git};
use anyhow::{Context, Result, bail, ensure};
use git2::build::CheckoutBuilder;
use git2::{
    Commit, ErrorCode, Repository, StatusOptions, WorktreeAddOptions, WorktreePruneOptions,
};
use itertools::Itertools;
use lab_system::root::Root;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Most changed files that a refusal names.
const NAMED: usize = 5;

/// What [`switch_to_branch`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// The branch is new and starts at the commit.
    New,
    /// The branch was there, and is checked out where it had got to.
    Again,
    /// HEAD was on the branch already.
    There,
}

/// Checks out the branch `name`. A new branch starts at the commit. Refuses if files that git
/// tracks are changed, or files in its way are not in git. Doing it again after a kill completes
/// it.
pub fn switch_to_branch(repo: &Repo, name: &str, commit: &str) -> Result<Switched> {
    let git = &repo.git;
    if repo.index_by_git {
        bail!(
            "the index is split or sparse: `git switch -c {name} {commit}`, then start the loop without --from"
        );
    }
    let reference = format!("refs/heads/{name}");
    if super::head_ref(repo)? == reference {
        return Ok(Switched::There);
    }
    if let Some(operation) = super::obstacle::operation(git) {
        bail!("{}", super::Obstacle::Operation(operation));
    }
    let (wanted, switched) = match git.find_reference(&reference) {
        Ok(branch) => (bounds::commit_at(git, &branch)?, Switched::Again),
        Err(_) => (find(git, commit)?, Switched::New),
    };
    for commit in [Some(&wanted), head_commit(git)?.as_ref()]
        .into_iter()
        .flatten()
    {
        bounds::check_files(git, &bounds::tree_of(git, commit)?)?;
    }
    let changed = changed_files(git)?;
    if !changed.is_empty() && !is_checked_out(git, &wanted)? {
        let more = if changed.len() > NAMED { ", …" } else { "" };
        let named = changed.iter().take(NAMED).cloned().join(", ");
        bail!(
            "files are changed ({named}{more}): commit them or take the changes back, then try again"
        );
    }
    if switched == Switched::New {
        super::ref_update::set(repo, &reference, None, Some(wanted.id()), "lab auto --from")
            .with_context(|| format!("cannot create the branch {name}"))?;
    }
    let mut options = CheckoutBuilder::new();
    git.checkout_tree(wanted.as_object(), Some(options.safe()))
        .with_context(|| format!("cannot check out {name}"))?;
    git.set_head(&reference)
        .with_context(|| format!("cannot put HEAD on {name}"))?;
    if head_commit(git)?.map(|head| head.id()) != Some(wanted.id()) {
        bail!("git reported no error, but HEAD is not on {name}. Is the disk full?");
    }
    Ok(switched)
}

/// The tracked files that are not as in HEAD.
fn changed_files(git: &Repository) -> Result<Vec<String>> {
    let mut options = StatusOptions::new();
    options
        .include_untracked(false)
        .include_ignored(false)
        .exclude_submodules(true);
    let statuses = git
        .statuses(Some(&mut options))
        .context("cannot compare the work tree with HEAD")?;
    Ok(statuses
        .iter()
        .map(|entry| String::from_utf8_lossy(entry.path_bytes()).into_owned())
        .collect())
}

/// Whether all tracked files are as in HEAD, but for what lab writes beside the kernels: the ledgers,
/// the board and its evidence. `None` if git cannot tell.
pub fn is_clean(repo: &Repo) -> Option<bool> {
    let beside = |path: &String| {
        let is_ledger = ["results.tsv", "results.cpu.tsv"].contains(&path.as_str());
        is_ledger || path == "decisions.toml" || path.starts_with("evidence/")
    };
    let changed = changed_files(&repo.git).ok()?;
    Some(changed.iter().all(beside))
}

/// Whether index and work tree hold a commit's files: an earlier switch was killed before it moved
/// HEAD.
fn is_checked_out(git: &Repository, commit: &Commit) -> Result<bool> {
    let tree = bounds::tree_of(git, commit)?;
    let staged = git.diff_tree_to_index(Some(&tree), None, None)?;
    Ok(staged.deltas().len() == 0 && git.diff_index_to_workdir(None, None)?.deltas().len() == 0)
}

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
    bounds::check_files(git, &bounds::tree_at(git, &reference)?)?;
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
