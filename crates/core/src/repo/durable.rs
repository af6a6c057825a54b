//! Waits until what libgit2 wrote is on disk. libgit2 leaves its files to the system, which may
//! write the name of a file before its content: after a power cut an object or a ref can be there
//! and empty.

use super::Repo;
use anyhow::{Context, Result};
use git2::{ObjectType, Oid, Repository, Tree};
use lab_system::root::{Access, Root};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Waits for the objects of a commit that its first parent does not hold.
pub(super) fn commit(git: &Repository, id: Oid) -> Result<()> {
    let commit = git.find_commit(id)?;
    let mut new = vec![id];
    let parent = commit
        .parents()
        .next()
        .map(|parent| parent.tree())
        .transpose()?;
    new_objects(git, &commit.tree()?, parent.as_ref(), &mut new)?;
    objects(git, &new)
}

/// Waits for these objects.
pub(super) fn objects(git: &Repository, ids: &[Oid]) -> Result<()> {
    let folder = git.commondir().join("objects");
    ids.iter().try_for_each(|id| {
        let hex = id.to_string();
        let file = folder.join(&hex[..2]).join(&hex[2..]);
        wait_for(&file).with_context(|| format!("git's object {hex} is not on disk"))
    })
}

/// Waits for a ref, given by its full name.
pub(super) fn reference(git: &Repository, name: &str) -> Result<()> {
    let folder = if name == "HEAD" {
        git.path()
    } else {
        git.commondir()
    };
    wait_for(&folder.join(name)).with_context(|| format!("{name} is not on disk"))
}

/// [`reference`] for several.
pub fn refs_on_disk<'n>(repo: &Repo, mut names: impl Iterator<Item = &'n str>) -> Result<()> {
    names.try_for_each(|name| reference(&repo.git, name))
}

/// Adds the tree and what it holds to `new`, but for what `old` holds under the same name.
fn new_objects(
    git: &Repository,
    tree: &Tree,
    old: Option<&Tree>,
    new: &mut Vec<Oid>,
) -> Result<()> {
    if old.is_some_and(|old| old.id() == tree.id()) {
        return Ok(());
    }
    new.push(tree.id());
    for entry in tree {
        let before = old.and_then(|old| old.get_name_bytes(entry.name_bytes()));
        if before
            .as_ref()
            .is_some_and(|before| before.id() == entry.id())
        {
            continue;
        }
        match entry.kind() {
            Some(ObjectType::Tree) => {
                let before = before.and_then(|before| git.find_tree(before.id()).ok());
                new_objects(git, &git.find_tree(entry.id())?, before.as_ref(), new)?;
            }
            Some(ObjectType::Blob) => new.push(entry.id()),
            // A submodule's commit is not here.
            _ => {}
        }
    }
    Ok(())
}

/// Waits for a file. One that is not there is in a pack by now, which git waits for itself.
fn wait_for(path: &Path) -> io::Result<()> {
    let (folder, name) = (
        path.parent().unwrap_or(Path::new("/")),
        path.file_name().unwrap_or_default(),
    );
    match Root::new(folder).open(Path::new(name), Access::Read) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
