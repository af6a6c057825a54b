//! Waits until what libgit2 wrote is on disk. libgit2 leaves its files to the system, which may write the name of a file before its
//! content: after a power cut an object or a ref can be there and empty.

use super::Repo;
use anyhow::{Context, Result};
use git2::{ObjectType, Oid, Repository, Tree};
use lab_system::root::{Access, Root};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Most files that are waited for at a time.
const AT_ONCE: usize = 16;

/// Waits for the objects of a commit that its first parent does not hold.
pub(super) fn commit(git: &Repository, id: Oid) -> Result<()> {
    let commit = git.find_commit(id)?;
    let mut new = vec![id];
    let parent = commit.parents().next().map(|parent| parent.tree()).transpose()?;
    new_objects(git, &commit.tree()?, parent.as_ref(), &mut new)?;
    objects(git, &new)
}

/// Waits for these objects.
pub(super) fn objects(git: &Repository, ids: &[Oid]) -> Result<()> {
    let folder = git.commondir().join("objects");
    let path = |id: &Oid| {
        let hex = id.to_string();
        folder.join(&hex[..2]).join(&hex[2..])
    };
    files(ids.iter().map(path).collect()).context("git's objects are not on disk")
}

/// Waits for a ref, given by its full name.
pub(super) fn reference(git: &Repository, name: &str) -> Result<()> {
    WrittenRefs(vec![ref_file(git, name)]).wait_for_disk()
}

/// The files of refs that were written.
pub struct WrittenRefs(Vec<PathBuf>);

impl WrittenRefs {
    /// Those of these refs, given by their full names.
    pub fn of<'n>(repo: &Repo, names: impl Iterator<Item = &'n str>) -> WrittenRefs {
        WrittenRefs(names.map(|name| ref_file(&repo.git, name)).collect())
    }

    /// Waits until they are on disk, on whatever thread.
    pub fn wait_for_disk(self) -> Result<()> {
        files(self.0).context("git's refs are not on disk")
    }
}

fn ref_file(git: &Repository, name: &str) -> PathBuf {
    if name == "HEAD" { git.path().join(name) } else { git.commondir().join(name) }
}

/// Adds the tree and what it holds to `new`, but for what `old` holds under the same name.
fn new_objects(git: &Repository, tree: &Tree, old: Option<&Tree>, new: &mut Vec<Oid>) -> Result<()> {
    if old.is_some_and(|old| old.id() == tree.id()) {
        return Ok(());
    }
    new.push(tree.id());
    for entry in tree {
        let before = old.and_then(|old| old.get_name_bytes(entry.name_bytes()));
        if before.as_ref().is_some_and(|before| before.id() == entry.id()) {
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

/// Waits for these files at the same time: a file system then writes its journal once. One that is not there is in a pack, and whoever
/// packed it has waited for it.
fn files(paths: Vec<PathBuf>) -> io::Result<()> {
    for some in paths.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let each: Vec<_> = some.iter().map(|path| scope.spawn(|| sync(path))).collect();
            each.into_iter().try_for_each(|sync| sync.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())))
        })?;
    }
    Ok(())
}

fn sync(path: &Path) -> io::Result<()> {
    let (folder, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
    match Root::new(folder).open(Path::new(name), Access::Read) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
