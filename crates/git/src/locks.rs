//! Lock files of git that a killed process left.
//!
//! git and libgit2 lock a ref by creating `REF.lock`, and hold it for less than a millisecond.
//! Nothing removes the file of a killed process. The lab removes those of its own refs, and those
//! that its own decision left, while it holds the decision lock. All others belong to the user:
//! [`super::obstacle`] names them.

use super::{Repo, bounds};
use crate::CommitFile;
use anyhow::{Context, Result, bail};
use git2::Oid;
use lab_system::failure::Failure;
use lab_system::leftovers;
use lab_system::listing;
use lab_system::root::Root;
use rustix::fs::FileType;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A lock file that stays unchanged for so long is of no process that is at work.
const MOMENT: Duration = Duration::from_millis(200);

/// How often a lock file is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(5);

/// The content of an index.lock that the lab holds during a decision.
const HELD: &str = "held by lab during a decision; the next lab command removes it\n";

/// Most bytes of a lock that are read. A longer lock of the index holds a whole index, so git wrote
/// it and not the lab.
const READ_LIMIT: u64 = 4096;

impl Repo {
    /// The file of a loose ref: `refs/…` are shared between work trees, HEAD is not.
    pub(super) fn ref_file(&self, reference: &str) -> PathBuf {
        let is_shared = reference.starts_with("refs/");
        let folder = if is_shared {
            self.git.commondir()
        } else {
            self.git.path()
        };
        folder.join(reference)
    }

    /// The lock file of a ref.
    pub(super) fn ref_lock(&self, reference: &str) -> PathBuf {
        self.ref_file(&format!("{reference}.lock"))
    }
}

/// Removes the lock of a ref that only the lab writes, if it is left of a killed process, and the
/// ref itself if a power cut has left it empty: git would write no other one in its place.
pub fn clear_own_ref(repo: &Repo, reference: &str) -> Result<()> {
    let (lock, file) = (repo.ref_lock(reference), repo.ref_file(reference));
    if fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() == 0) {
        remove(&file)?;
    }
    if stays(&lock) { remove(&lock) } else { Ok(()) }
}

/// Removes the locks that a killed git left on refs below a folder of the lab's own. Returns whether
/// there were any.
pub fn clear_own_folder(repo: &Repo, folder: &str) -> bool {
    let (mut folders, mut left) = (vec![repo.ref_file(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        left.extend(named(&folder, |name| name.ends_with(".lock")));
        let entries = listing::entries(folder);
        let below = entries.filter(|entry| entry.file_type().is_ok_and(FileType::is_dir));
        folders.extend(below.map(|entry| entry.path()));
    }
    let left = unchanged(left);
    left.iter().filter(|lock| remove(lock).is_ok()).count() > 0
}

/// Removes the locks of a branch and of HEAD that a decision left: they are empty, or name a commit
/// that is the decision's by `is_ours`.
pub fn clear_branch(repo: &Repo, reference: &str, is_ours: impl Fn(Oid) -> bool) -> Result<()> {
    for lock in [reference, "HEAD"].map(|reference| repo.ref_lock(reference)) {
        let Ok(text) = read_text(&lock) else { continue };
        let ours = match text.trim() {
            "" => true,
            id => Oid::from_str(id).is_ok_and(&is_ours),
        };
        if ours && stays(&lock) {
            remove(&lock)?;
        }
    }
    Ok(())
}

/// Whether a commit holds these files on top of `head`: a decision made it.
pub fn is_made_of(repo: &Repo, id: Oid, head: Option<Oid>, files: &[CommitFile]) -> bool {
    let Ok(commit) = bounds::commit(&repo.git, id) else {
        return false;
    };
    commit.parent_id(0).ok() == head && files.iter().all(|file| file.is_in(&repo.git, &commit))
}

/// Locks git's index, so that nothing is committed from an index that is older than HEAD. A lock
/// that a killed lab left is taken over.
pub fn lock_index(repo: &Repo) -> Result<()> {
    let lock = repo.git.path().join("index.lock");
    if is_held_by_lab(repo) {
        return Ok(());
    }
    // It has its content at once: a lab that is killed never leaves half of it.
    match Root::new(repo.git.path()).create_whole(Path::new("index.lock"), HELD.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{}", super::Obstacle::Locked(lock))
        }
        created => created.cannot("write", &lock),
    }
}

/// The text of a lock. git writes an id into it.
fn read_text(lock: &Path) -> std::io::Result<String> {
    Root::around(lock).read_text(lock, READ_LIMIT)
}

/// Releases the lock of [`lock_index`]. A lock of somebody else stays.
pub fn unlock_index(repo: &Repo) -> Result<()> {
    if is_held_by_lab(repo) {
        remove(&repo.git.path().join("index.lock"))
    } else {
        Ok(())
    }
}

/// Whether the lab holds the lock of the index.
pub fn is_held_by_lab(repo: &Repo) -> bool {
    read_text(&repo.git.path().join("index.lock")).is_ok_and(|text| text == HELD)
}

/// Removes locks of refs that only the lab writes, and its temporary files in `.git`. Call it under the
/// decision lock: nobody holds such a lock then, so it is left of a process that was killed, or a
/// disk refused to remove it.
pub fn remove_own_locks(repo: &Repo) {
    leftovers::sweep(&Root::new(repo.git.path()), Path::new(""));
    remove_unchanged(own_locks(repo));
}

fn own_locks(repo: &Repo) -> Vec<PathBuf> {
    let refs = repo.git.commondir().join("refs");
    let mut left = named(&refs.join("notes"), |name| name == "lab.lock");
    for kind in ["discarded", "undone", "saved", "exact", "raw"] {
        left.extend(named(&refs.join("lab").join(kind), |name| {
            name.ends_with(".lock")
        }));
    }
    left
}

/// Removes what killed processes left in git's folders: objects that were never named, and what
/// [`remove_own_locks`] removes. Call it under the decision lock, if the last one who held it did
/// not release it. `since` is when a decision began to commit, or to pack refs, with the git
/// program: that leaves further files, and no other command of git leaves them alone.
pub fn remove_leftovers(repo: &Repo, since: Option<SystemTime>) {
    leftovers::sweep(&Root::new(repo.git.path()), Path::new(""));
    let folder = repo.git.commondir();
    let mut left = own_locks(repo);
    // libgit2 writes into objects/, git into the folder of the object's first digits.
    left.extend(named(&folder.join("objects"), |name| {
        name.starts_with("tmp_object_git2_")
    }));
    for entry in listing::entries(folder.join("objects")) {
        if entry.file_name().len() == 2 {
            left.extend(named(&entry.path(), |name| name.starts_with("tmp_obj_")));
        }
    }
    if let Some(since) = since {
        let packed = ["packed-refs.lock", "packed-refs.new"].map(|name| folder.join(name));
        let locks = packed
            .into_iter()
            .chain([repo.git.path().join("AUTO_MERGE.lock")]);
        left.extend(locks.filter(|lock| is_newer(lock, since)));
    }
    remove_unchanged(left);
}

/// Removes the packs that a git which failed left half written since then: on a full disk they take
/// what was free.
pub fn remove_half_packs(repo: &Repo, since: SystemTime) {
    let mut left = named(&repo.git.commondir().join("objects/pack"), |name| {
        name.starts_with("tmp_") || name.starts_with(".tmp-")
    });
    left.retain(|file| is_newer(file, since));
    remove_unchanged(left);
}

/// Whether a file was written since then.
fn is_newer(file: &Path, since: SystemTime) -> bool {
    fs::metadata(file)
        .and_then(|about| about.modified())
        .is_ok_and(|at| at >= since)
}

/// When what is written from now on is newer: times of files are a little coarser than the clock.
pub fn now() -> SystemTime {
    SystemTime::now() - Duration::from_millis(20)
}

fn remove_unchanged(left: Vec<PathBuf>) {
    for file in unchanged(left) {
        // git's own clean-up removes an object later, and a later decision the lock that is in its
        // way.
        let _ = remove(&file);
    }
}

/// The plain files of a folder with such a name.
fn named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = listing::entries(folder);
    let wanted = entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_wanted));
    wanted
        .filter(|entry| entry.file_type().is_ok_and(FileType::is_file))
        .map(|entry| entry.path())
        .collect()
}

/// Whether a file is there and does not change for a moment.
fn stays(file: &Path) -> bool {
    !unchanged(vec![file.to_owned()]).is_empty()
}

/// The files that are there and do not change for a moment. No process that is at work leaves them
/// alone for so long.
fn unchanged(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let look = |file: &Path| {
        let about = file.symlink_metadata().ok()?;
        Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
    };
    let mut seen: Vec<_> = files.into_iter().map(|file| (look(&file), file)).collect();
    seen.retain(|(before, _)| before.is_some());
    let end = Instant::now() + MOMENT;
    while !seen.is_empty() && Instant::now() < end {
        std::thread::sleep(PAUSE);
        seen.retain(|(before, file)| look(file) == *before);
    }
    seen.into_iter().map(|(_, file)| file).collect()
}

fn remove(lock: &Path) -> Result<()> {
    Root::around(lock).remove_file(lock).with_context(|| {
        format!(
            "{} is left of a process that ended: remove it",
            lock.display()
        )
    })
}
