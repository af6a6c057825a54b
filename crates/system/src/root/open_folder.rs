//! A folder that stays open, for looking at many files below it.

use super::Root;
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A folder below a [`Root`]. It stays the same folder, whatever gets its name.
#[derive(Debug)]
pub struct OpenFolder(OwnedFd);

/// Inode, size in bytes, and the time of the last write: seconds since 1970 and nanoseconds. Files
/// with the same stamp are taken to hold the same bytes.
pub type Stamp = (u64, u64, i64, i64);

impl Root {
    /// Opens a folder to look at many files in its folders: each is found without the folders
    /// above.
    pub fn open_to_look(&self, folder: &Path) -> io::Result<OpenFolder> {
        Ok(OpenFolder(self.folder(folder)?))
    }
}

impl OpenFolder {
    /// The stamp of the file `name` in the folder `folder` of this one. A link has a stamp of its
    /// own, and a link in place of the folder is an error.
    pub fn stamp(&self, folder: &OsStr, name: &OsStr) -> io::Result<Stamp> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(&self.0, folder, flags, Mode::empty())?;
        let about = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let nanoseconds = i64::try_from(about.st_mtime_nsec).unwrap_or(0);
        let size = about.st_size.unsigned_abs();
        Ok((about.st_ino, size, about.st_mtime, nanoseconds))
    }
}
