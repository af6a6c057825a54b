//! Checks out a new branch at an older commit. libgit2 writes the files: no hook and no filter
//! program starts.

use super::{Repo, bounds, find, head_commit};
use anyhow::{Context, Result, bail};
use git2::build::CheckoutBuilder;
use git2::{Commit, Repository, StatusOptions};

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
        bounds::check(git, &bounds::tree_of(git, commit)?)?;
    }
    let changed = changed_files(git)?;
    if !changed.is_empty() && !is_checked_out(git, &wanted)? {
        let more = if changed.len() > NAMED { ", …" } else { "" };
        let named = changed
            .iter()
            .take(NAMED)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
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

/// Whether index and work tree hold a commit's files: an earlier switch was killed before it moved
/// HEAD.
fn is_checked_out(git: &Repository, commit: &Commit) -> Result<bool> {
    let tree = bounds::tree_of(git, commit)?;
    let staged = git.diff_tree_to_index(Some(&tree), None, None)?;
    Ok(staged.deltas().len() == 0 && git.diff_index_to_workdir(None, None)?.deltas().len() == 0)
}
