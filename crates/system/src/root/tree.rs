//! Folders below a root: made, listed and removed.

use super::{Root, if_there};
use crate::listing;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

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

    /// Creates a file with its content, and the folders above it as far as they are missing. A file
    /// that has the name loses it.
    pub fn write(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create_dir_all(file.parent().unwrap_or(file))?;
        self.create(file)?.write_all(bytes)
    }

    /// The names in a folder, in no order. A folder that is not there has none.
    pub fn entries(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let names = if_there(self.open_folder(folder))?.map(listing::names);
        names.unwrap_or_else(|| Ok(Vec::new()))
    }

    /// The numbers among the names in a folder, the greatest first.
    pub fn numbers(&self, folder: &Path) -> io::Result<Vec<u64>> {
        let names = self.entries(folder)?;
        let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    /// Opens a folder for listing and locking.
    pub(super) fn open_folder(&self, folder: &Path) -> io::Result<OwnedFd> {
        // The folder itself is open by its path alone, which Linux does not list.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(self.folder(folder)?, c".", flags, Mode::empty())?)
    }

    /// Removes a file. Does nothing if nothing has that name.
    pub fn remove_file(&self, file: &Path) -> io::Result<()> {
        let removed = self
            .folder_of(file)
            .and_then(|(folder, name)| Ok(unlinkat(&folder, &name, AtFlags::empty())?));
        if_there(removed).map(drop)
    }

    /// Removes a folder with all that is in it, or a link of that name. What a link leads to stays.
    /// Does nothing if nothing has that name. Returns an error for a file of that name, and for an
    /// error of the system.
    pub fn remove_dir_all(&self, folder: &Path) -> io::Result<()> {
        let parent = self.folder_of(folder);
        let removed = parent.and_then(|(parent, name)| listing::remove_in(&parent, &name));
        if_there(removed).map(drop)
    }
}
