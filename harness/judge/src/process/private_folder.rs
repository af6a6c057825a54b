//! A folder of one child process: the only folder that a confined compiler writes to, or a confined worker reads images from.
//!
//! It is removed with its value. The folder of a judge that was killed is removed by a later judge: the killed one no longer holds
//! the lock in it.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder in the cache folder that holds all private folders.
pub const PARENT: &str = "private";

/// The lock's file beside the folder that the child sees.
const LOCK: &str = "lock";

/// The folder that the child sees.
const CONTENT: &str = "files";

/// A younger folder is left alone: its judge may be about to take the lock.
const UNLOCKED: Duration = Duration::from_secs(60);

/// A private folder.
pub struct PrivateFolder {
    folder: tempfile::TempDir,
    content: PathBuf,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl PrivateFolder {
    /// Makes a new folder in the cache folder, and removes those that nobody uses any more.
    pub fn new(cache_dir: &Path) -> io::Result<Self> {
        let parent = cache_dir.join(PARENT);
        fs::create_dir_all(&parent)?;
        remove_unused(&parent);
        let folder = tempfile::tempdir_in(&parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let content = folder.path().join(CONTENT);
        fs::create_dir(&content)?;
        Ok(PrivateFolder { folder, content, _lock: lock })
    }

    /// The folder for the child.
    pub fn path(&self) -> &Path {
        debug_assert!(self.content.starts_with(self.folder.path()));
        &self.content
    }
}

/// Removes the folders of judges that have ended. A folder that cannot be removed does no harm and stays.
fn remove_unused(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|about| about.modified());
        if !made.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > UNLOCKED)) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.map_or(true, |lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
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
        let left = cache.path().join(PARENT).join("left");
        fs::create_dir_all(left.join(CONTENT)).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        PrivateFolder::new(cache.path()).unwrap();
        assert!(left.exists(), "its judge may be about to take the lock");
        let long_ago = SystemTime::now() - 2 * UNLOCKED;
        for folder in fs::read_dir(cache.path().join(PARENT)).unwrap() {
            File::open(folder.unwrap().path()).unwrap().set_modified(long_ago).unwrap();
        }
        let new = PrivateFolder::new(cache.path()).unwrap();
        assert!(used.path().is_dir() && new.path().is_dir() && !left.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
