//! Folders below a root: made, listed and removed.

use super::Root;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Deepest folder that [`Root::remove_dir_all`] enters.
const DEPTH: usize = 256;

impl Root {
    /// Creates a folder. The error is `AlreadyExists` where the name is taken.
    pub fn create_dir(&self, folder: &Path) -> io::Result<()> {
        let (parent, name) = self.folder_of(folder)?;
        Ok(mkdirat(&parent, &name, Mode::from_raw_mode(0o777))?)
    }

    /// Creates a folder and those above it, as far as they are missing.
    pub fn create_dir_all(&self, folder: &Path) -> io::Result<()> {
        let names = self.names(folder)?;
        for end in 1..=names.len() {
            let (name, above) = (&names[end - 1], self.descend(&names[..end - 1])?);
            match mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
                // The next step checks that it is a folder.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.descend(&names).map(drop)
    }

    /// The names in a folder, in no order.
    pub fn entries(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        entries(self.open_folder(folder)?)
    }

    /// Opens a folder for listing and locking.
    pub(super) fn open_folder(&self, folder: &Path) -> io::Result<OwnedFd> {
        // The folder itself is open by its path alone, which Linux does not list.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(self.folder(folder)?, c".", flags, Mode::empty())?)
    }

    pub fn remove_file(&self, file: &Path) -> io::Result<()> {
        let (folder, name) = self.folder_of(file)?;
        Ok(unlinkat(&folder, &name, AtFlags::empty())?)
    }

    /// Removes a folder with all that is in it, or a link of that name. What a link leads to stays.
    /// Does nothing if nothing has that name. Returns an error for a file of that name, and for an
    /// error of the system.
    pub fn remove_dir_all(&self, folder: &Path) -> io::Result<()> {
        let removed = || {
            let (parent, name) = self.folder_of(folder)?;
            let about = statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(about.st_mode) {
                FileType::Directory | FileType::Symlink => remove(&parent, &name, DEPTH),
                _ => Err(Errno::NOTDIR.into()),
            }
        };
        match removed() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

fn entries(folder: OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn remove(parent: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
    let about = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::Directory {
        return Ok(unlinkat(parent, name, AtFlags::empty())?);
    }
    if depth == 0 {
        return Err(io::Error::other(
            "its folders are nested too deeply: remove it by hand",
        ));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(parent, name, flags, Mode::empty())?;
    for entry in entries(folder.try_clone()?)? {
        remove(&folder, &entry, depth - 1)?;
    }
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}
