//! Brings entries of the user's index to what HEAD holds, after a decision has moved HEAD. Every other entry stays.

use super::{CommitFile, Repo, blob_in, head_commit, locks, user_index};
use crate::disk::space;
use anyhow::{Context, Result, bail};
use git2::{Index, Oid};
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Sets the entries of these files to their blobs, unless the user staged something else there, or HEAD holds another blob
/// by now. Releases the lock of the index. Returns notes for the user: one for each entry that was not set.
pub fn stage(repo: &Repo, files: &[CommitFile]) -> Vec<String> {
    if repo.index_by_git {
        return stage_by_git(repo, files);
    }
    let locked = locks::is_held_by_lab(repo);
    let result = locks::lock_index(repo).and_then(|()| replace(repo, files));
    let unlocked = if locked || result.is_ok() { locks::unlock_index(repo) } else { Ok(()) };
    match result.and_then(|notes| unlocked.map(|()| notes)) {
        Ok(notes) => notes,
        Err(error) => {
            let error = space::explain(error, "git's index was not written");
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            let names = names.join(" ");
            vec![format!("git's index still holds another {names} than HEAD: {error:#}: `git reset {names}`")]
        }
    }
}

/// The same for an index that libgit2 cannot read. The git program locks it itself.
fn stage_by_git(repo: &Repo, files: &[CommitFile]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut set = |file: &CommitFile| -> Result<()> {
        let staged = user_index::staged(repo, &file.name)?;
        let head = head_commit(&repo.git)?;
        let held = head.as_ref().and_then(|head| blob_in(head, &file.name)).map(|(id, _)| id);
        if staged == file.id() || held != file.id() {
            return Ok(());
        }
        if staged != file.before_id() {
            notes.push(format!("you staged another version of {}: it is still staged", file.name));
            return Ok(());
        }
        user_index::stage(repo, &file.name, file.id().map(|blob| (blob, file.mode)))
    };
    let unlocked = if locks::is_held_by_lab(repo) { locks::unlock_index(repo) } else { Ok(()) };
    let result = unlocked.and_then(|()| files.iter().try_for_each(&mut set));
    notes.extend(result.err().map(|error| {
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let names = names.join(" ");
        format!("git's index still holds another {names} than HEAD: {error:#}: `git reset {names}`")
    }));
    notes
}

/// Writes the new index beside the old one, and then renames it. The caller holds the index's lock.
fn replace(repo: &Repo, files: &[CommitFile]) -> Result<Vec<String>> {
    let path = repo.git.path().join("index");
    let folder = TemporaryFolder::inside(repo.git.path())?;
    let copy = folder.path().join("index");
    copy_with_time(repo, folder.path()).with_context(|| format!("cannot copy {}", path.display()))?;
    let mut index = Index::open(&copy)?;
    // libgit2 compares files that changed in the moment of their staging; for that it must know their folder.
    let work_tree = repo.anew()?;
    work_tree.git.set_index(&mut index)?;
    let head = head_commit(&repo.git)?;
    let (mut notes, mut changed) = (Vec::new(), Vec::new());
    for file in files {
        let name = Path::new(&file.name);
        let staged = index.get_path(name, 0).map(|entry| entry.id);
        let held = head.as_ref().and_then(|head| blob_in(head, &file.name)).map(|(id, _)| id);
        if staged == file.id() || held != file.id() {
            continue;
        }
        if staged != file.before_id() {
            notes.push(format!("you staged another version of {}: it is still staged", file.name));
            continue;
        }
        match file.id() {
            Some(blob) => index.add(&entry(file, blob))?,
            None => index.remove_path(name)?,
        }
        changed.push(file);
    }
    if changed.is_empty() {
        return Ok(notes);
    }
    index.write()?;
    let written = Index::open(&copy)?;
    let wrong = |file: &&CommitFile| written.get_path(Path::new(&file.name), 0).map(|e| e.id) != file.id();
    if changed.iter().any(wrong) {
        bail!("git reported no error, but it is not written: is the disk full?");
    }
    rustix::fs::rename(&copy, &path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(notes)
}

/// Copies the index into this folder, with the time of its last change: by that time git tells which entries it must
/// compare. Where there is no index, there will be none.
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
