//! The user's index: which blob is staged for a file. After a decision has moved HEAD, the entries
//! of its files are brought to what HEAD holds. Every other entry stays.
//!
//! libgit2 reads neither a split index nor a sparse one. For a user's index of these two kinds, the
//! git program reads and writes it, and libgit2 gets an empty index in memory: it looks there for
//! `.gitattributes` that are not on disk.

use super::git_program::{GitProgram, NoGit};
use super::{CommitFile, Repo, blob_in_head, locks, told};
use anyhow::{Result, anyhow, bail};
use git2::{ErrorClass, Index, Oid, Repository};
use lab_system::failure::Failure;
use lab_system::listing;
use lab_system::root::{Root, if_there};
use lab_system::space;
use lab_system::temporary::TemporaryFolder;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

/// Gives the repository an empty index in memory if libgit2 cannot read the user's. Returns whether
/// it did.
pub fn replace_unreadable(git: &Repository) -> Result<bool> {
    // Reading a large index takes milliseconds, so only those are read that may be of the two
    // kinds.
    if !may_be_split_or_sparse(git) {
        return Ok(false);
    }
    match git.index() {
        Err(error) if error.class() == ErrorClass::Index => {
            git.set_index(&mut Index::new()?)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A split index has a file `sharedindex.HASH` beside it, a sparse one has a file with the
/// patterns.
fn may_be_split_or_sparse(git: &Repository) -> bool {
    let is_shared = |name: &OsStr| name.as_encoded_bytes().starts_with(b"sharedindex.");
    let mut names = listing::entries(git.path()).map(|e| e.file_name());
    git.path().join("info/sparse-checkout").exists() || names.any(|name| is_shared(&name))
}

/// The blob that is staged for a file; `None` if the index has no entry for it.
pub fn staged(repo: &Repo, name: &str) -> Result<Option<Oid>> {
    if repo.index_by_git {
        return staged_by_git(repo, None, name);
    }
    let mut index = repo.git.index()?;
    index.read(false)?;
    Ok(index.get_path(Path::new(name), 0).map(|entry| entry.id))
}

/// Whether a merge left a conflict in a file, of which nothing is staged. False in an index that
/// libgit2 cannot read.
pub fn has_conflict(repo: &Repo, name: &str) -> bool {
    let sides = [1, 2, 3];
    let index = repo.git.index().ok().filter(|_| !repo.index_by_git);
    let index = index.and_then(|mut index| index.read(false).ok().map(|()| index));
    index.is_some_and(|index| {
        sides
            .iter()
            .any(|side| index.get_path(Path::new(name), *side).is_some())
    })
}

/// [`staged`] as the git program reads it, in the user's index or in a copy of it.
fn staged_by_git(repo: &Repo, copy: Option<&Path>, name: &str) -> Result<Option<Oid>> {
    let pathspec = format!(":(literal){name}");
    let args = ["ls-files", "--stage", "-z", "--full-name", "--", &pathspec];
    let listed = on_index(repo, copy, |git| git.run(&args))?;
    // `MODE BLOB STAGE\tPATH`; stage 0 is an entry without a conflict.
    let blob = listed.split('\0').find_map(|line| {
        let (about, path) = line.split_once('\t')?;
        let mut words = about.split(' ').skip(1);
        let blob = words.next()?;
        (path == name && words.next() == Some("0")).then_some(blob)
    });
    Ok(blob.map(Oid::from_str).transpose()?)
}

/// Lets the git program work on the user's index, or on a copy of it.
fn on_index<T>(
    repo: &Repo,
    copy: Option<&Path>,
    work: impl FnOnce(&mut GitProgram) -> Result<T>,
) -> Result<T> {
    const WHY: &str = "the index is split or sparse, which only git itself reads and writes";
    let mut git = GitProgram::of(repo, WHY)?;
    git.index = copy.map(Path::to_owned);
    work(&mut git).map_err(|error| match error.is::<NoGit>() {
        true => anyhow!(
            "{error}, or make the index a plain one (`git update-index --no-split-index`, `git sparse-checkout reapply \
             --no-sparse-index`)"
        ),
        false => error,
    })
}

/// Sets the entries of these files to their blobs, unless the user staged something else there, or
/// HEAD holds another blob by now. Releases the lock of the index, which is held until the new
/// index has its name: git refuses a commit before that, and a commit after that has the new
/// entries. Returns notes for the user: one for each entry that was not set.
///
/// On an error the lock stays, so that no commit takes the old entries for changes; it does not where
/// the remedy is a command of git that needs the lock.
pub fn stage(repo: &Repo, files: &[CommitFile]) -> Result<Vec<String>> {
    let locked = locks::is_held_by_lab(repo);
    // A git that was killed is started once more: it worked on a copy.
    let result = locks::lock_index(repo)
        .and_then(|()| replace(repo, files).or_else(|_| replace(repo, files)));
    let unlocked = if result.is_ok() || locked && repo.index_by_git {
        locks::unlock_index(repo)
    } else {
        Ok(())
    };
    let staged = result.and_then(|notes| unlocked.map(|()| notes));
    staged.map_err(|error| {
        let error = space::explain(error, "git's index was not written");
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let names = names.join(" ");
        anyhow!(
            "git's index still holds another {names} than HEAD: {}. The next `lab` command writes it; by hand: remove \
             .git/index.lock if it is there, then `git reset {names}`",
            told::told(&error)
        )
    })
}

/// Writes the new index beside the old one, and then renames it. The caller holds the index's lock.
/// git locks the copy, so the lab's lock of the index itself stays. The files with the shared
/// entries of a split index stay where git looks for them, in git's folder.
fn replace(repo: &Repo, files: &[CommitFile]) -> Result<Vec<String>> {
    let path = repo.git.path().join("index");
    let folder = TemporaryFolder::inside(repo.git.path())?;
    let copy = folder.path().join("index");
    copy_with_time(repo, folder.path()).cannot("copy", &path)?;
    let staged = |name: &str| match repo.index_by_git {
        true => staged_by_git(repo, Some(&copy), name),
        false => Ok(Index::open(&copy)
            .map_err(|error| unread(&path, error))?
            .get_path(Path::new(name), 0)
            .map(|entry| entry.id)),
    };
    let (mut changed, mut notes) = (Vec::new(), Vec::new());
    for file in files {
        let (staged, held) = (staged(&file.name)?, blob_in_head(repo, &file.name)?);
        if staged == file.id() || held.map(|(id, _)| id) != file.id() {
            continue;
        }
        if staged == file.before_id() {
            changed.push(file);
        } else {
            notes.push(format!(
                "you staged another version of {}: it is still staged",
                file.name
            ));
        }
    }
    if changed.is_empty() {
        return Ok(notes);
    }
    match repo.index_by_git {
        true => on_index(repo, Some(&copy), |git| {
            changed.iter().try_for_each(|file| git.set_entry(file))
        })?,
        false => set_entries(repo, &copy, &changed)?,
    }
    for file in changed {
        if staged(&file.name)? != file.id() {
            bail!("git reported no error, but it is not written: is the disk full?");
        }
    }
    rustix::fs::rename(&copy, &path).cannot("write", &path)?;
    Ok(notes)
}

/// The error of a copy that libgit2 cannot read. Its message would name the copy.
fn unread(path: &Path, error: git2::Error) -> anyhow::Error {
    match error.class() {
        ErrorClass::Index => anyhow!("{}: {}", path.display(), told::DAMAGED_INDEX),
        _ => error.into(),
    }
}

/// Sets the entries in this copy of the index.
fn set_entries(repo: &Repo, copy: &Path, files: &[&CommitFile]) -> Result<()> {
    let mut index = Index::open(copy)?;
    // libgit2 compares files that changed in the moment of their staging; for that it must know
    // their folder.
    let work_tree = repo.anew()?;
    work_tree.git.set_index(&mut index)?;
    for file in files {
        match file.id() {
            Some(blob) => index.add(&entry(file, blob))?,
            None => index.remove_path(Path::new(&file.name))?,
        }
    }
    Ok(index.write()?)
}

/// Copies the index into this folder, with the time of its last change: by that time git tells
/// which entries it must compare. Where there is no index, there will be none.
fn copy_with_time(repo: &Repo, folder: &Path) -> std::io::Result<()> {
    let (files, name) = (Root::new(repo.git.path()), Path::new("index"));
    let Some(bytes) = if_there(files.read(name, u64::MAX))? else {
        return Ok(());
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
