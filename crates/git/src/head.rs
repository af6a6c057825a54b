//! The ref and the commit of HEAD, and what is wrong with it.

use super::told::{DAMAGED_REF, told};
use super::{Repo, bounds, open_git};
use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use git2::{Commit, ErrorCode, ObjectType, Oid, Reference, Repository};
use lab_system::special_files;
use std::path::Path;

/// What the name of a branch's ref begins with.
const BRANCHES: &str = "refs/heads/";

/// The ref that a commit moves: that of the branch, or `HEAD` if it is detached.
pub fn name_of_head(git: &Repository) -> Result<String> {
    let link = git.find_reference("HEAD").context("cannot read HEAD")?;
    Ok(link.symbolic_target()?.unwrap_or("HEAD").to_owned())
}

/// The commit that HEAD names, also through a tag; `None` on an unborn branch. The error says how HEAD
/// is mended.
pub fn head_commit(git: &Repository) -> Result<Option<Commit<'_>>> {
    match git.head() {
        Ok(head) => {
            let commit = commit_of(git, &head)?;
            bounds::check_whole(git, commit.tree_id())?;
            Ok(Some(commit))
        }
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
            Ok(None)
        }
        Err(error) => Err(Error::new(error).context("cannot read HEAD")),
    }
}

fn commit_of<'r>(git: &'r Repository, head: &Reference) -> Result<Commit<'r>> {
    let id = head.target().context("HEAD names no object")?;
    // libgit2 would read the header of a file that is cut off for ever.
    bounds::check_whole(git, id)?;
    let kind = git.odb()?.read_header(id).map(|(_, kind)| kind).ok();
    match kind {
        Some(ObjectType::Blob | ObjectType::Tree) => Err(no_commit(id)),
        None if id.is_zero() => Err(no_commit(id)),
        Some(ObjectType::Tag) => bounds::commit_at(git, head).map_err(|_| no_commit(id)),
        _ => bounds::commit(git, id),
    }
}

fn no_commit(id: Oid) -> Error {
    anyhow!("HEAD names {id}, which is no commit: {DAMAGED_REF}")
}

/// What is wrong with HEAD, and what to do: git could make no commit on it, or the commit would be on
/// no branch. `None` if HEAD is in order.
pub fn head_fault(repo: &Repo) -> Option<String> {
    check(&repo.git).err().map(|error| told(&error))
}

/// [`head_fault`] of the repository at a work tree, which may hold no kernel.
pub fn head_fault_at(root: &Path) -> Option<String> {
    let look = || {
        special_files::refuse_in_repository(root, |_| true)?;
        check(&open_git(root)?)
    };
    look().err().map(|error| told(&error))
}

fn check(git: &Repository) -> Result<()> {
    let file = git.path().join("HEAD");
    if let Ok(target) = file.read_link() {
        let target = target.display();
        bail!(
            "{} is a link, as an old git made it: `git symbolic-ref HEAD {target}` makes it a file",
            file.display()
        );
    }
    let name = name_of_head(git)?;
    ensure!(
        name == "HEAD" || name.starts_with(BRANCHES),
        "HEAD names {name}, which is no branch: `git switch BRANCH` goes to a branch, and `git switch -c BRANCH` makes one here"
    );
    let commit = head_commit(git)?.map(|commit| commit.id());
    match git.refname_to_id(&name) {
        Ok(id) if Some(id) != commit => Err(no_commit(id)),
        _ => Ok(()),
    }
}
