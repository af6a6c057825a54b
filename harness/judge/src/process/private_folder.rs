//! A folder of one judge or of one of its children: for the copy of a kernel, for what a confined
//! compiler writes, for images that a confined worker reads.
//!
//! It is removed with its value, and when a signal ends the judge. The folder of a judge that was
//! killed is removed by whoever comes next: the killed one no longer holds the lock in it.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The folder in the cache folder for what children write and read.
pub const PARENT: &str = "private";

/// Folder in the cache folder for copies of kernels that are built.
pub const SNAPSHOTS: &str = "snapshots";

/// The lock's file: beside the folder that the child sees, and in each parent, where it is held
/// while a folder is made or looked for.
const LOCK: &str = "lock";

/// The folder that the child sees.
const CONTENT: &str = "files";

/// A younger folder without a lock is left alone: another version of the lab may be about to lock
/// it.
const UNLOCKED: Duration = Duration::from_secs(60);

/// How often a folder is removed in which a process that is being killed still writes.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// The folders of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Locks the list. A list of paths is never half changed, so a panic of another thread does no
/// harm.
fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A private folder.
pub struct PrivateFolder {
    folder: PathBuf,
    content: PathBuf,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl PrivateFolder {
    /// Makes a new folder in the cache folder, and removes those that nobody uses any more.
    pub fn new(cache_dir: &Path) -> io::Result<Self> {
        Self::new_in(&cache_dir.join(PARENT))
    }

    /// The same in this parent folder.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        // Held to the end of this function: nobody takes the new folder for one that nobody uses.
        let _parent_lock = lock_parent(parent)?;
        remove_unlocked(parent);
        let folder = tempfile::tempdir_in(parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let content = folder.path().join(CONTENT);
        fs::create_dir(&content)?;
        let folder = folder.keep();
        own().push(folder.clone());
        Ok(PrivateFolder {
            folder,
            content,
            _lock: lock,
        })
    }

    /// The folder for the child.
    pub fn path(&self) -> &Path {
        debug_assert!(self.content.starts_with(&self.folder));
        &self.content
    }

    /// A folder that the child's sandbox does not open, on the same file system.
    pub fn closed(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm. Whoever comes next tries again.
        let _ = fs::remove_dir_all(&self.folder);
        own().retain(|folder| *folder != self.folder);
    }
}

/// Removes the folders of this process, which is about to end and whose children have been killed.
pub fn remove_own() {
    own().iter().for_each(|folder| remove(folder));
}

/// Removes the folders in the cache folder whose judges have ended.
pub fn remove_unused(cache_dir: &Path) {
    for parent in [PARENT, SNAPSHOTS].map(|name| cache_dir.join(name)) {
        if let Ok(_lock) = lock_parent(&parent) {
            remove_unlocked(&parent);
        }
    }
}

fn lock_parent(parent: &Path) -> io::Result<File> {
    let lock = File::create(parent.join(LOCK))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}

fn remove_unlocked(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_unused(&entry) {
            remove(&entry.path());
        }
    }
}

fn is_unused(entry: &fs::DirEntry) -> bool {
    match File::open(entry.path().join(LOCK)) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        Err(_) => {
            let made = entry.metadata().and_then(|about| about.modified());
            made.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > UNLOCKED))
        }
    }
}

/// A process that was just killed may write another file meanwhile.
fn remove(folder: &Path) {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::sleep(PAUSE);
            }
            // What cannot be removed does no harm and stays.
            Ok(()) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_folder_lives_as_long_as_its_value_and_one_without_an_owner_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let used = PrivateFolder::new(cache.path()).unwrap();
        let parent = cache.path().join(PARENT);
        let [killed, unlocked] = ["killed", "unlocked"].map(|name| parent.join(name));
        for left in [&killed, &unlocked] {
            fs::create_dir_all(left.join(CONTENT)).unwrap();
        }
        fs::write(killed.join(LOCK), "").unwrap();
        let new = PrivateFolder::new(cache.path()).unwrap();
        assert!(!killed.exists(), "its judge was killed a moment ago");
        assert!(unlocked.exists(), "its judge may be about to take the lock");
        File::open(&unlocked)
            .unwrap()
            .set_modified(SystemTime::now() - 2 * UNLOCKED)
            .unwrap();
        remove_unused(cache.path());
        assert!(used.path().is_dir() && new.path().is_dir() && !unlocked.exists());
        let path = used.closed().to_owned();
        drop(used);
        assert!(!path.exists() && new.path().is_dir());
    }

    #[test]
    fn an_empty_cache_has_nothing_to_remove() {
        let cache = tempfile::tempdir().unwrap();
        remove_unused(cache.path());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }
}
