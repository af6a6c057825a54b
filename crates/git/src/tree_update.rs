//! Writes the tree of a commit: that of another commit, with some files replaced or removed.
//! libgit2's own function refuses a file where a folder was, and a folder where a file was.

use super::{CommitFile, Repo, bounds};
use anyhow::Result;
use git2::{Commit, FileMode, ObjectType, Oid, Repository, Tree, TreeBuilder};
use std::collections::BTreeMap;

/// The mode of a file in a tree.
pub fn file_mode(mode: i32) -> FileMode {
    if mode == i32::from(FileMode::BlobExecutable) {
        FileMode::BlobExecutable
    } else {
        FileMode::Blob
    }
}

/// The tree of `base`, or an empty tree, with these files. A file takes the place of a folder of its
/// name, and a folder that of a file. A folder without a file goes.
pub fn tree_with<'r>(
    repo: &'r Repo,
    base: Option<&Commit>,
    files: &[CommitFile],
) -> Result<Tree<'r>> {
    let git = &repo.git;
    let base = base
        .map(|commit| bounds::tree_of(git, commit))
        .transpose()?;
    let below = files
        .iter()
        .map(|file| (file.name.as_str(), file))
        .collect();
    let written = updated(git, base.as_ref(), below)?;
    let id = match written {
        Some(id) => id,
        None => git.treebuilder(None)?.write()?,
    };
    // libgit2 writes no object that is there already, also if its file is cut off.
    bounds::tree(git, id)
}

/// Files of a folder: their paths below it.
type Below<'f> = Vec<(&'f str, &'f CommitFile)>;

/// Writes a folder with these files. `None` if no entry is left.
fn updated(git: &Repository, base: Option<&Tree>, files: Below) -> Result<Option<Oid>> {
    let mut names: BTreeMap<&str, (Option<&CommitFile>, Below)> = BTreeMap::new();
    for (path, file) in files {
        match path.split_once('/') {
            Some((folder, rest)) => names.entry(folder).or_default().1.push((rest, file)),
            None => names.entry(path).or_default().0 = Some(file),
        }
    }
    let mut folder = git.treebuilder(base)?;
    for (name, (file, below)) in names {
        if let Some(file) = file {
            match file.id() {
                Some(blob) => {
                    folder.insert(name, blob, file_mode(file.mode).into())?;
                    continue;
                }
                None if is_of(&folder, name, ObjectType::Blob)? => folder.remove(name)?,
                None => {}
            }
        }
        let is_folder = is_of(&folder, name, ObjectType::Tree)?;
        // What is to be removed from a folder that is not there is removed.
        if is_folder || below.iter().any(|(_, file)| file.blob.is_some()) {
            let held = folder.get(name)?.filter(|_| is_folder).map(|it| it.id());
            let held = held.map(|id| bounds::tree(git, id)).transpose()?;
            match updated(git, held.as_ref(), below)? {
                Some(id) => drop(folder.insert(name, id, git2::FileMode::Tree.into())?),
                None => folder.remove(name)?,
            }
        }
    }
    match folder.is_empty() {
        true => Ok(None),
        false => Ok(Some(folder.write()?)),
    }
}

/// Whether a folder has an entry of this kind under a name.
fn is_of(folder: &TreeBuilder, name: &str, kind: ObjectType) -> Result<bool> {
    Ok(folder.get(name)?.is_some_and(|it| it.kind() == Some(kind)))
}
