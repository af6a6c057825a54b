//! Brings entries of the user's index to what HEAD holds, after a decision has moved HEAD. Every
//! other entry stays.

use super::{CommitFile, Repo, blob_in, head_commit, locks, user_index};
use crate::disk::space;
use anyhow::{Context, Result, bail};
use git2::{Index, Oid};
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Sets the entries of these files to their blobs, unless the user staged something else there, or
/// HEAD holds another blob by now. Releases the lock of the index, which is held until the new
/// index has its name: whoever commits before that is refused by git, and whoever commits after it
/// does so with the new entries. Returns notes for the user: one for each entry that was not set.
pub fn stage(repo: &Repo, files: &[CommitFile]) -> Vec<String> {
    let locked = locks::is_held_by_lab(repo);
    // A git that was killed is started once more: it worked on a copy.
    let again = |error| {
        if repo.index_by_git {
            replace(repo, files)
        } else {
            Err(error)
        }
    };
    let result = locks::lock_index(repo).and_then(|()| replace(repo, files).or_else(again));
    let unlocked = if locked || result.is_ok() {
        locks::unlock_index(repo)
    } else {
        Ok(())
    };
    match result.and_then(|notes| unlocked.map(|()| notes)) {
        Ok(notes) => notes,
        Err(error) => {
            let error = space::explain(error, "git's index was not written");
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            let names = names.join(" ");
            vec![format!(
                "git's index still holds another {names} than HEAD: {error:#}: `git reset {names}`"
            )]
        }
    }
}

/// Writes the new index beside the old one, and then renames it. The caller holds the index's lock.
fn replace(repo: &Repo, files: &[CommitFile]) -> Result<Vec<String>> {
    let path = repo.git.path().join("index");
    let folder = TemporaryFolder::inside(repo.git.path())?;
    let copy = folder.path().join("index");
    copy_with_time(repo, folder.path())
        .with_context(|| format!("cannot copy {}", path.display()))?;
    let (is_changed, notes) = match repo.index_by_git {
        true => change_by_git(repo, &copy, files)?,
        false => change(repo, &copy, files)?,
    };
    if is_changed {
        rustix::fs::rename(&copy, &path)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(notes)
}

/// The files whose entries are to be set, and notes about the others. `staged` is the blob that the
/// index holds for a file.
fn to_set<'f>(
    repo: &Repo,
    files: &'f [CommitFile],
    staged: impl Fn(&str) -> Result<Option<Oid>>,
) -> Result<(Vec<&'f CommitFile>, Vec<String>)> {
    let head = head_commit(&repo.git)?;
    let (mut changed, mut notes) = (Vec::new(), Vec::new());
    for file in files {
        let staged = staged(&file.name)?;
        let held = head
            .as_ref()
            .and_then(|head| blob_in(head, &file.name))
            .map(|(id, _)| id);
        if staged == file.id() || held != file.id() {
            continue;
        }
        if staged != file.before_id() {
            notes.push(format!(
                "you staged another version of {}: it is still staged",
                file.name
            ));
            continue;
        }
        changed.push(file);
    }
    Ok((changed, notes))
}

/// Sets the entries in this copy of the index. Returns whether it changed any, and notes for the
/// user.
fn change(repo: &Repo, copy: &Path, files: &[CommitFile]) -> Result<(bool, Vec<String>)> {
    let mut index = Index::open(copy)?;
    // libgit2 compares files that changed in the moment of their staging; for that it must know
    // their folder.
    let work_tree = repo.anew()?;
    work_tree.git.set_index(&mut index)?;
    let staged =
        |index: &Index, name: &str| index.get_path(Path::new(name), 0).map(|entry| entry.id);
    let (changed, notes) = to_set(repo, files, |name| Ok(staged(&index, name)))?;
    for file in &changed {
        match file.id() {
            Some(blob) => index.add(&entry(file, blob))?,
            None => index.remove_path(Path::new(&file.name))?,
        }
    }
    if changed.is_empty() {
        return Ok((false, notes));
    }
    index.write()?;
    let written = Index::open(copy)?;
    if changed
        .iter()
        .any(|file| staged(&written, &file.name) != file.id())
    {
        bail!("git reported no error, but it is not written: is the disk full?");
    }
    Ok((true, notes))
}

/// The same for an index that libgit2 cannot read. git locks the copy, so the lab's lock of the
/// index itself stays.
fn change_by_git(repo: &Repo, copy: &Path, files: &[CommitFile]) -> Result<(bool, Vec<String>)> {
    let (changed, notes) = to_set(repo, files, |name| {
        user_index::staged_in(repo, Some(copy), name)
    })?;
    for file in &changed {
        user_index::stage(
            repo,
            copy,
            &file.name,
            file.id().map(|blob| (blob, file.mode)),
        )?;
    }
    Ok((!changed.is_empty(), notes))
}

/// Copies the index into this folder, with the time of its last change: by that time git tells
/// which entries it must compare. Where there is no index, there will be none.
fn copy_with_time(repo: &Repo, folder: &Path) -> std::io::Result<()> {
    let (files, name) = (Root::new(repo.git.path()), Path::new("index"));
    let bytes = match files.read(name, u64::MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut copy = Root::new(folder).create(name)?;
    copy.write_all(&bytes)?;
    copy.set_modified(files.metadata(name)?.modified()?)
}

/// An entry without times, which git compares with the file the next time it looks.
fn entry(file: &CommitFile, blob: Oid) -> git2::IndexEntry {
    let none = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: none,
        mtime: none,
        dev: 0,
        ino: 0,
        mode: file.mode as u32,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: blob,
        flags: 0,
        flags_extended: 0,
        path: file.name.as_bytes().to_vec(),
    }
}
