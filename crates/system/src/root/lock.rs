//! Locks on files below a root. See [`crate::file_lock`].

use super::{Access, Root};
use crate::file_lock::{self, LockedFile, Sharing};
use std::fs::File;
use std::io;
use std::path::Path;

impl Root {
    /// Opens a file below the root and waits for its exclusive lock.
    pub fn wait_for_lock(&self, file: &Path, access: Access) -> io::Result<LockedFile> {
        file_lock::wait(|| self.open(file, access), || self.metadata(file))
    }

    /// [`Root::wait_for_lock`] without waiting: `None` where another process holds the lock.
    pub fn take_lock(&self, file: &Path, access: Access) -> io::Result<Option<LockedFile>> {
        let open = || self.open(file, access);
        file_lock::take(Sharing::Exclusive, open, || self.metadata(file))
    }

    /// [`Root::take_lock`] for a plain file or a folder that exists.
    pub(crate) fn take_lock_of_any(&self, path: &Path) -> io::Result<Option<LockedFile>> {
        let open = || match self.open_folder(path) {
            Ok(folder) => Ok(File::from(folder)),
            Err(_) => self.open(path, Access::Read),
        };
        file_lock::take(Sharing::Exclusive, open, || self.metadata(path))
    }

    /// Whether `file` is the name of this locked file still: somebody may have removed or replaced
    /// it, and locked another one.
    pub fn is_name_of(&self, file: &Path, lock: &LockedFile) -> bool {
        file_lock::is_named(lock, self.metadata(file)).unwrap_or(false)
    }

    /// Whether a process holds the lock of this file. False where the file cannot be opened.
    pub fn is_locked(&self, file: &Path) -> bool {
        self.open(file, Access::Read)
            .is_ok_and(|file| file_lock::is_held_by_others(&file))
    }
}
