//! A folder of one judge or of one of its children: for the copy of a kernel, for what a confined
//! compiler writes, for images that a confined worker reads.
//!
//! It is removed with its value, and when a signal ends the judge. The folder of a judge that was
//! killed is removed by whoever comes next: the killed one no longer holds its lock.

use crate::outcome::{OrLab, Stop};
use lab_system::leftovers;
use lab_system::listing;
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use lab_system::threads::lock;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The folder in the cache folder for what children write and read.
pub const PARENT: &str = "private";

/// Folder in the cache folder for copies of kernels that are built.
pub const SNAPSHOTS: &str = "snapshots";

/// The folder that the child sees.
const CONTENT: &str = "files";

/// How often a folder is removed in which a process that is being killed still writes.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// The folders of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A private folder.
pub struct PrivateFolder {
    folder: TemporaryFolder,
    content: PathBuf,
}

impl PrivateFolder {
    /// Makes a new folder in the cache folder, and removes those that nobody uses any more.
    pub fn new(cache_dir: &Path) -> io::Result<Self> {
        Self::new_in(&cache_dir.join(PARENT))
    }

    /// [`PrivateFolder::new`] for what a tool or a profiler writes.
    pub fn for_tool(cache_dir: &Path) -> Result<Self, Stop> {
        let folder = cache_dir.display();
        Self::new(cache_dir).or_lab(|| format!("no temporary folder can be made in {folder}"))
    }

    /// The same in this parent folder.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        remove_unlocked(parent);
        let folder = TemporaryFolder::inside(parent)?;
        lock(&OWN).push(folder.path().to_owned());
        let content = folder.path().join(CONTENT);
        let made = PrivateFolder { folder, content };
        fs::create_dir(&made.content)?;
        Ok(made)
    }

    /// The folder for the child.
    pub fn path(&self) -> &Path {
        &self.content
    }

    /// A folder that the child's sandbox does not open, on the same file system.
    pub fn closed(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        lock(&OWN).retain(|folder| folder != self.folder.path());
        // A folder that cannot be removed does no harm. Whoever comes next tries again.
    }
}

/// Removes the folders of this process, which is about to end and whose children have been killed.
pub fn remove_own() {
    lock(&OWN).iter().for_each(|folder| remove(folder));
}

/// Removes the folders in the cache folder whose judges have ended.
pub fn remove_unused(cache_dir: &Path) {
    for parent in [PARENT, SNAPSHOTS] {
        remove_unlocked(&cache_dir.join(parent));
    }
}

fn remove_unlocked(parent: &Path) {
    leftovers::sweep(&Root::new(parent), Path::new(""));
}

/// A process that was just killed may write another file meanwhile.
fn remove(folder: &Path) {
    for _ in 0..ATTEMPTS {
        match listing::remove_dir_all(folder) {
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

    #[test]
    fn a_folder_lives_as_long_as_its_value_and_one_without_an_owner_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let used = PrivateFolder::new(cache.path()).unwrap();
        let killed = cache.path().join(PARENT).join(".lab-new-0123456789ab");
        fs::create_dir_all(killed.join(CONTENT)).unwrap();
        let new = PrivateFolder::new(cache.path()).unwrap();
        assert!(!killed.exists(), "its judge was killed a moment ago");
        fs::create_dir_all(killed.join(CONTENT)).unwrap();
        remove_unused(cache.path());
        assert!(used.path().is_dir() && new.path().is_dir() && !killed.exists());
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
