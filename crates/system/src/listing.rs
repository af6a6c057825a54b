//! Lists folders, and removes them with all that is in them. `std::fs::read_dir` and
//! `std::fs::remove_dir_all` panic if the disk reports an error when a folder is closed, as a faulty
//! disk or a lost network drive does; nothing here does.

use crate::random;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, renameat, statat, unlinkat};
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

/// Deepest folder that is entered to be removed. One that lies deeper is moved up first.
const DEPTH: usize = 64;

/// An entry of a folder that cannot be removed.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be removed: {why}", .path.display())]
struct NotRemoved {
    /// The name of the folder first.
    path: PathBuf,
    why: io::Error,
}

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

/// Removes a folder or a link in an open folder. The error names the entry that cannot be removed.
pub(crate) fn remove_in(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let about = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory => {}
        FileType::Symlink => return Ok(unlinkat(parent, name, AtFlags::empty())?),
        _ => return Err(Errno::NOTDIR.into()),
    }
    let mut moved = 0;
    loop {
        let before = moved;
        let top = Top { parent, name };
        let removed = top.remove(parent, name, DEPTH, &mut moved);
        // What was moved up is in it now.
        if moved == before {
            return removed.map_err(|error| match error.path.parent() {
                Some(folder) if folder.as_os_str().is_empty() => error.why,
                _ => io::Error::new(error.why.kind(), error),
            });
        }
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

/// The folder that is removed.
struct Top<'a> {
    parent: &'a OwnedFd,
    name: &'a OsStr,
}

impl Top<'_> {
    /// Removes an entry of an open folder. Folders that lie too deep are moved into the top folder,
    /// and counted.
    fn remove(
        &self,
        parent: &OwnedFd,
        name: &OsStr,
        depth: usize,
        moved: &mut u64,
    ) -> Result<(), NotRemoved> {
        let failed = |why: io::Error| NotRemoved {
            path: name.into(),
            why,
        };
        let of_system = |why: Errno| failed(why.into());
        let about = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(of_system)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::Directory {
            return unlinkat(parent, name, AtFlags::empty()).map_err(of_system);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if depth == 0 {
            let top = openat(self.parent, self.name, flags, Mode::empty()).map_err(of_system)?;
            *moved += 1;
            let free = format!("{:016x}", random::number());
            return renameat(parent, name, &top, free).map_err(of_system);
        }
        let folder = openat(parent, name, flags, Mode::empty()).map_err(of_system)?;
        let entries = folder.try_clone().and_then(names).map_err(failed)?;
        for entry in entries {
            let removed = self.remove(&folder, &entry, depth - 1, moved);
            removed.map_err(|error| NotRemoved {
                path: Path::new(name).join(&error.path),
                ..error
            })?;
        }
        unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(of_system)
    }
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
    fn folders_are_removed_however_deep_they_are() {
        let temp = tempfile::tempdir().unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut folder = open(temp.path(), flags, Mode::empty()).unwrap();
        for _ in 0..1_000 {
            rustix::fs::mkdirat(&folder, "deep", Mode::RWXU).unwrap();
            folder = openat(&folder, "deep", flags, Mode::empty()).unwrap();
        }
        drop(folder);
        remove_dir_all(&temp.path().join("deep")).unwrap();
        assert_eq!(entries(temp.path()).count(), 0);
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
