//! Replaces a file in one step: a reader sees all of the old bytes or all of the new bytes, also
//! where this process is killed halfway. [`crate::leftovers`] removes the file that a killed
//! process leaves.

use crate::temporary;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::{NamedTempFile, TempPath};

/// Replaces the file at `target`, or creates it with the mode that the user's umask leaves of 666.
/// The bytes are on disk before this returns. On an error the old file is unchanged.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("record.json");
/// lab_system::atomic_file::replace(&path, b"{}")?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::beside(target)?;
    file.write_all(bytes)?;
    file.sync()?;
    file.replace(target)
}

/// [`replace`] for a file that can be made again: creates its folder too, and does not wait for the
/// disk. If the machine loses its power, the file may be damaged, so its reader must check it. Only
/// the user may read the file.
pub fn replace_in_cache(target: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder_of(target))?;
    let mut file = NewFile::beside(target)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.replace(target)
}

/// The folder of a file; `.` for a bare name.
fn folder_of(file: &Path) -> &Path {
    file.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A file without a name yet, in the folder of the file that it will replace. Dropping it removes
/// it.
#[derive(Debug)]
pub struct NewFile(NamedTempFile);

impl NewFile {
    /// Creates the file in the folder of `target`, which must exist.
    pub fn beside(target: &Path) -> io::Result<NewFile> {
        temporary::create(
            folder_of(target),
            &temporary::suffix(target),
            |builder, folder| {
                // Without this only the user could read the file.
                builder.permissions(Permissions::from_mode(0o666));
                let file = builder.tempfile_in(folder)?;
                let held = file.as_file().try_clone()?;
                Ok((NewFile(file), held))
            },
        )
        .map(|(file, _)| file)
    }

    /// Sets the mode, whatever the umask is.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file().set_permissions(permissions)
    }

    pub fn file(&self) -> &File {
        self.0.as_file()
    }

    /// Waits until the bytes are on disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file().sync_data()
    }

    /// Gives the file its name.
    pub fn replace(self, target: &Path) -> io::Result<()> {
        self.0
            .persist(target)
            .map(drop)
            .map_err(|error| error.error)
    }

    /// Gives the file its name and returns the path of the old file, which the caller may still
    /// read: it holds what was written last under that name. `None` where there was no old file or
    /// the file system cannot exchange two files; the new file has the name then too.
    pub fn exchange(self, target: &Path) -> io::Result<Option<TempPath>> {
        let new = self.0.into_temp_path();
        if renameat_with(CWD, &*new, CWD, target, RenameFlags::EXCHANGE).is_ok() {
            return Ok(Some(new));
        }
        new.persist(target)
            .map(|()| None)
            .map_err(|error| error.error)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn a_replaced_file_is_whole_and_leaves_nothing_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        for text in ["one", "another"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::create_dir(temp.path().join("folder")).unwrap();
        assert!(replace(&temp.path().join("folder"), b"x").is_err());
        assert!(replace(&temp.path().join("none/file"), b"x").is_err());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_of_a_cache_is_replaced_whole_and_its_folder_is_created() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("new").join("file");
        for text in ["first", "second"] {
            replace_in_cache(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let count = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(count, 1, "no temporary file is left");
        assert!(replace_in_cache(&path.join("below a file"), b"").is_err());
    }

    #[test]
    fn an_exchange_returns_what_had_the_name() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let exchange = |text: &str| {
            let mut file = NewFile::beside(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.exchange(&path).unwrap()
        };
        assert!(exchange("one").is_none());
        // Not every file system can exchange.
        if let Some(old) = exchange("another") {
            assert_eq!(fs::read_to_string(&old).unwrap(), "one");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "another");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
