//! Lists folders, and removes them with all that is in them. `std::fs::read_dir` and
//! `std::fs::remove_dir_all` panic if the disk reports an error when a folder is closed, as a faulty
//! disk or a lost network drive does; nothing here does.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    path: PathBuf,
    kind: FileType,
}

impl Entry {
    /// The folder's path, and the name.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    pub fn file_name(&self) -> OsString {
        self.path.file_name().unwrap_or_default().to_owned()
    }

    /// Whether it is a file, a folder or something else. Follows no link.
    pub fn file_type(&self) -> io::Result<FileType> {
        match self.kind {
            // Some file systems do not say.
            FileType::Unknown => Ok(FileType::from_raw_mode(
                rustix::fs::lstat(&self.path)?.st_mode,
            )),
            kind => Ok(kind),
        }
    }

    /// Follows no link.
    pub fn metadata(&self) -> io::Result<Metadata> {
        fs::symlink_metadata(&self.path)
    }
}

/// The entries of a folder, in no order; see [`read_dir`]. Ends after an error.
#[derive(Debug)]
pub struct Listing {
    folder: PathBuf,
    entries: Dir,
}

impl Iterator for Listing {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<io::Result<Entry>> {
        loop {
            let entry = match self.entries.read()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error.into())),
            };
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                return Some(Ok(Entry {
                    path: self.folder.join(OsStr::from_bytes(name)),
                    kind: entry.file_type(),
                }));
            }
        }
    }
}

/// Lists a folder. Links in its path are followed.
///
/// ```
/// use lab_system::listing::read_dir;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("kernel.cu"), "")?;
/// let entries: Vec<_> = read_dir(folder.path())?.collect::<Result<_, _>>()?;
/// assert_eq!(entries.len(), 1);
/// assert_eq!(entries[0].path(), folder.path().join("kernel.cu"));
/// assert!(entries[0].file_type()?.is_file());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_dir(folder: impl AsRef<Path>) -> io::Result<Listing> {
    let folder = folder.as_ref();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Listing {
        folder: folder.to_owned(),
        entries: Dir::new(open(folder, flags, Mode::empty())?)?,
    })
}

/// The entries of a folder that can be read; none of one that is not there. Follows a link to the
/// folder.
pub fn entries(folder: impl AsRef<Path>) -> impl Iterator<Item = Entry> {
    read_dir(folder).into_iter().flatten().flatten()
}

/// Deepest folder that is entered to be removed.
const DEPTH: usize = 256;

/// Removes a folder with all that is in it, or a link of that name; see
/// [`Root::remove_dir_all`](crate::root::Root::remove_dir_all). Links in the path of the folder
/// above it are followed.
pub fn remove_dir_all(folder: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(Errno::INVAL.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = open(parent, flags, Mode::empty()).map_err(io::Error::from);
    if_there(parent.and_then(|parent| remove_in(&parent, name))).map(drop)
}

/// `None` where nothing has the name.
pub fn if_there<T>(looked: io::Result<T>) -> io::Result<Option<T>> {
    match looked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Removes a folder or a link in an open folder.
pub(crate) fn remove_in(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let about = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory | FileType::Symlink => remove(parent, name, DEPTH),
        _ => Err(Errno::NOTDIR.into()),
    }
}

/// The names in an open folder, in no order.
pub(crate) fn names(folder: OwnedFd) -> io::Result<Vec<OsString>> {
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
    for entry in names(folder.try_clone()?)? {
        remove(&folder, &entry, depth - 1)?;
    }
    Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_entry_is_told_once_with_its_kind_and_no_link_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path();
        fs::create_dir(folder.join("below")).unwrap();
        symlink("below", folder.join("link")).unwrap();
        let names = (0..2_000).map(|n| format!("a file with a long name, number {n}"));
        names.for_each(|name| fs::write(folder.join(name), "text").unwrap());
        let (mut files, mut others) = (0, Vec::new());
        for entry in read_dir(folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            assert_eq!(kind.is_dir(), entry.metadata().unwrap().is_dir());
            if kind.is_file() {
                files += 1;
                assert_eq!(entry.metadata().unwrap().len(), 4);
            } else {
                others.push((entry.file_name(), kind));
            }
        }
        others.sort_by(|(a, _), (b, _)| a.cmp(b));
        let wanted = [("below", FileType::Directory), ("link", FileType::Symlink)];
        assert_eq!(files, 2_000);
        assert_eq!(others, wanted.map(|(name, kind)| (name.into(), kind)));
    }

    #[test]
    fn what_is_no_folder_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let kind = |path: &Path| read_dir(path).unwrap_err().kind();
        assert_eq!(kind(&file), io::ErrorKind::NotADirectory);
        assert_eq!(kind(&temp.path().join("none")), io::ErrorKind::NotFound);
        assert_eq!(kind("a\0b".as_ref()), io::ErrorKind::InvalidInput);
    }
}
