//! Opens the files of a folder that somebody else may have filled: no link leads out of it, and
//! nothing but plain files is opened.
//!
//! A clone or an archive can hold links, pipes and very large files under any name. [`Root`] opens
//! each folder of a path on its own, without following a link, and the file in the folder that is
//! open by then. So it opens no path outside, even if somebody replaces a folder by a link in the
//! same moment.

mod lock;
mod open_folder;
mod refused;
mod resolve;
mod tree;

pub use crate::listing::if_there;
pub use open_folder::{OpenFolder, Stamp};
pub use refused::{Refused, refusal};

use crate::temporary;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, fdatasync, fstat, linkat,
    openat, openat2, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For reading; the file must exist.
    Read,
    /// For writing at its end; the file must exist.
    Append,
    /// For reading, and for writing at its end. Creates the file.
    ReadAppend,
    /// For reading and writing. Creates the file, and keeps its content.
    ReadWrite,
}

impl Access {
    fn flags(self) -> OFlags {
        match self {
            Access::Read => OFlags::RDONLY,
            Access::Append => OFlags::WRONLY | OFlags::APPEND,
            Access::ReadAppend => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
            Access::ReadWrite => OFlags::RDWR | OFlags::CREATE,
        }
    }
}

/// A folder, and the files below it. Every path is relative to it, or begins with its path.
///
/// ```
/// use lab_system::root::{Access, Root, refusal};
///
/// let folder = tempfile::tempdir()?;
/// let root = Root::new(folder.path());
/// root.create_dir_all("runs/1".as_ref())?;
/// root.replace("runs/1/record.json".as_ref(), b"{}")?;
/// assert_eq!(root.read("runs/1/record.json".as_ref(), 100)?, b"{}");
///
/// std::os::unix::fs::symlink("/etc", folder.path().join("runs/2"))?;
/// let error = root.read("runs/2/hostname".as_ref(), 100).unwrap_err();
/// assert!(refusal(&error).is_some(), "{error}");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// The folder at `path`. Links in `path` itself are followed.
    pub fn new(path: &Path) -> Root {
        Root {
            path: path.to_owned(),
        }
    }

    /// The folder that `path` lies in. An absolute path is a path of it.
    pub fn around(path: &Path) -> Root {
        match path.parent() {
            None => Root::new(Path::new("/")),
            Some(folder) if folder.as_os_str().is_empty() => Root::new(Path::new(".")),
            Some(folder) => Root::new(folder),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a plain file. A file that is written in place must have one name only: bytes written
    /// under one name would show under the others.
    pub fn open(&self, file: &Path, access: Access) -> io::Result<File> {
        let (folder, name) = self.folder_of(file)?;
        let open = || self.open_in(&folder, &name, file, access.flags());
        let opened = open()?;
        if access != Access::Read && fstat(&opened)?.st_nlink > 1 {
            return Err(Refused::SeveralNames(self.path.join(file)).into());
        }
        Ok(opened)
    }

    /// Opens an empty file of this name, for writing. An older file loses the name; its bytes stay
    /// as they are.
    pub fn create(&self, file: &Path) -> io::Result<File> {
        self.remove_file(file)?;
        self.create_new(file)
    }

    /// Creates a file. The error is `AlreadyExists` where the name is taken.
    pub fn create_new(&self, file: &Path) -> io::Result<File> {
        let (folder, name) = self.folder_of(file)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.open_in(&folder, &name, file, flags)
    }

    /// Creates a file that has its content at once, and does not wait for the disk. The error is
    /// `AlreadyExists` where the name is taken.
    pub fn create_whole(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.with_new_file(file, |new| {
            new.file.write_all(bytes)?;
            let (folder, temporary) = (&new.folder, &new.temporary);
            match renameat_with(folder, temporary, folder, &new.name, RenameFlags::NOREPLACE) {
                // Some file systems cannot rename so, but know a second name.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    linkat(folder, temporary, folder, &new.name, AtFlags::empty())?;
                    Ok(unlinkat(folder, temporary, AtFlags::empty())?)
                }
                renamed => Ok(renamed?),
            }
        })
    }

    /// Reads a plain file of at most `limit` bytes.
    pub fn read(&self, file: &Path, limit: u64) -> io::Result<Vec<u8>> {
        read_limited(
            &self.open(file, Access::Read)?,
            &self.path.join(file),
            limit,
        )
    }

    /// [`Root::read`] of UTF-8 text.
    pub fn read_text(&self, file: &Path, limit: u64) -> io::Result<String> {
        String::from_utf8(self.read(file, limit)?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Replaces a file in one step, as [`crate::atomic_file::replace`] does. A link of that name is
    /// replaced itself.
    pub fn replace(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.replace_by(file, |new| write_to_disk(new, bytes))
    }

    /// [`Root::replace`] by a file of this mode, whatever the umask is.
    pub fn replace_keeping_mode(
        &self,
        file: &Path,
        bytes: &[u8],
        mode: Permissions,
    ) -> io::Result<()> {
        self.replace_by(file, |new| {
            new.set_permissions(mode)?;
            write_to_disk(new, bytes)
        })
    }

    /// Replaces a file in one step by what `write` writes, and does not wait for the disk: for a
    /// file that can be made again.
    pub fn replace_with(
        &self,
        file: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.replace_by(file, |new| {
            let mut out = BufWriter::with_capacity(64 * 1024, new);
            write(&mut out)?;
            out.flush()
        })
    }

    /// Replaces a file in one step by one with these bytes and this mode, whatever the umask is.
    /// Returns the path of the old file, which the caller may still read and has to remove: it
    /// holds what was written last under that name. `None` where there was no old file or the file
    /// system cannot exchange two files; the new file has the name then too.
    pub fn exchange(
        &self,
        file: &Path,
        bytes: &[u8],
        mode: Permissions,
    ) -> io::Result<Option<PathBuf>> {
        self.with_new_file(file, |new| {
            new.file.set_permissions(mode)?;
            write_to_disk(&mut new.file, bytes)?;
            let (folder, temporary) = (&new.folder, &new.temporary);
            if renameat_with(folder, temporary, folder, &new.name, RenameFlags::EXCHANGE).is_ok() {
                return Ok(Some(self.path.join(file).with_file_name(temporary)));
            }
            renameat(folder, temporary, folder, &new.name)?;
            Ok(None)
        })
    }

    pub(crate) fn replace_by(
        &self,
        file: &Path,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.with_new_file(file, |new| {
            write(&mut new.file)?;
            Ok(renameat(
                &new.folder,
                &new.temporary,
                &new.folder,
                &new.name,
            )?)
        })
    }

    /// Makes a new file in the folder of the file `target`, under a name that nobody uses (see
    /// [`temporary`]), and removes it if `act` fails.
    fn with_new_file<T>(
        &self,
        target: &Path,
        act: impl FnOnce(&mut NewFile) -> io::Result<T>,
    ) -> io::Result<T> {
        const ATTEMPTS: usize = 16;
        let (folder, name) = self.folder_of(target)?;
        for _ in 0..ATTEMPTS {
            let temporary = temporary::name_for(Path::new(&name));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let file = match self.open_in(&folder, temporary.as_ref(), temporary.as_ref(), flags) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            if temporary::is_still_there(&file)? {
                let mut new = NewFile {
                    file,
                    folder,
                    temporary,
                    name,
                };
                let done = act(&mut new);
                if done.is_err() {
                    let _ = unlinkat(&new.folder, &new.temporary, AtFlags::empty());
                }
                return done;
            }
        }
        Err(io::Error::other("every name for a temporary file is taken"))
    }

    /// Gives a file or folder another name. Fails where a folder of that name holds something.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_folder, from_name) = self.folder_of(from)?;
        let (to_folder, to_name) = self.folder_of(to)?;
        Ok(renameat(&from_folder, &from_name, &to_folder, &to_name)?)
    }

    /// The metadata of a file or folder. A link has metadata of its own.
    pub fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let (folder, name) = self.folder_of(path)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(openat(&folder, &name, flags, Mode::empty())?).metadata()
    }

    /// Opens a plain file in an open folder. `shown` is its path, for errors.
    fn open_in(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        shown: &Path,
        flags: OFlags,
    ) -> io::Result<File> {
        open_plain(folder.as_fd(), name, flags | OFlags::NOFOLLOW, || {
            self.path.join(shown)
        })
    }

    /// Opens the folder of a path, and returns the last name of the path.
    fn folder_of(&self, path: &Path) -> io::Result<(OwnedFd, OsString)> {
        let mut names = self.names(path)?;
        let name = names.pop().ok_or_else(|| io::Error::from(Errno::ISDIR))?;
        Ok((self.descend(&names)?, name))
    }

    /// Opens a folder below the root.
    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        self.descend(&self.names(path)?)
    }

    fn descend(&self, names: &[OsString]) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = openat(CWD, &self.path, flags, Mode::empty())?;
        // Linux goes down the whole path at once, by the same rule. Where it cannot (a kernel
        // before 5.6, a process that is confined), or refuses, the folders are opened one after the
        // other, and the error names the folder that cannot be opened.
        if let [_, _, ..] = names {
            let below: PathBuf = names.iter().collect();
            let rule = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            if let Ok(folder) = openat2(
                &folder,
                &below,
                flags | OFlags::NOFOLLOW,
                Mode::empty(),
                rule,
            ) {
                return Ok(folder);
            }
        }
        for (at, name) in names.iter().enumerate() {
            folder = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|error| self.no_folder(&folder, &names[..=at], error))?;
        }
        Ok(folder)
    }

    /// Why a folder could not be opened: Linux reports a link as something that is no folder.
    fn no_folder(&self, parent: &OwnedFd, names: &[OsString], error: Errno) -> io::Error {
        let about = names
            .last()
            .map(|name| statat(parent.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW));
        match about {
            Some(Ok(about)) if FileType::from_raw_mode(about.st_mode) == FileType::Symlink => {
                Refused::Link(self.path.join(names.iter().collect::<PathBuf>())).into()
            }
            _ => error.into(),
        }
    }

    /// The names of a path below the root, without `.`.
    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let outside = || Refused::Outside {
            path: path.to_owned(),
            root: self.path.clone(),
        };
        let inside = match path.is_absolute() {
            true => path.strip_prefix(&self.path).map_err(|_| outside())?,
            false => path,
        };
        let mut names = Vec::new();
        for part in inside.components() {
            match part {
                Component::Normal(name) => names.push(name.to_owned()),
                Component::CurDir => {}
                _ => return Err(outside().into()),
            }
        }
        Ok(names)
    }
}

/// A new file under a temporary name.
struct NewFile {
    file: File,
    folder: OwnedFd,
    temporary: String,
    /// The name in the folder that the file is to get.
    name: OsString,
}

/// Writes to a file, and waits until the bytes are on disk.
fn write_to_disk(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    Ok(fdatasync(file)?)
}

/// Opens a plain file in an open folder. `path` is its path, for errors.
fn open_plain(
    folder: BorrowedFd,
    name: &OsStr,
    flags: OFlags,
    path: impl Fn() -> PathBuf,
) -> io::Result<File> {
    let look = match flags.contains(OFlags::NOFOLLOW) {
        true => AtFlags::SYMLINK_NOFOLLOW,
        false => AtFlags::empty(),
    };
    // Opening a device can have effects, so its kind comes first. Without a writer a pipe would
    // wait.
    match statat(folder, name, look) {
        Ok(about) => refuse(FileType::from_raw_mode(about.st_mode), &path)?,
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let safe = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = match openat(folder, name, flags | safe, Mode::from_raw_mode(0o666)) {
        Err(Errno::LOOP) => return Err(Refused::Link(path()).into()),
        opened => opened?,
    };
    refuse(FileType::from_raw_mode(fstat(&opened)?.st_mode), path)?;
    Ok(File::from(opened))
}

/// Refuses what is no plain file.
fn refuse(kind: FileType, path: impl Fn() -> PathBuf) -> io::Result<()> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Refused::Link(path()).into()),
        FileType::Directory => Err(Errno::ISDIR.into()),
        _ => Err(Refused::NotPlain(path()).into()),
    }
}

/// Reads a plain file anywhere on this machine, of at most `limit` bytes. Follows links.
pub fn read_anywhere(file: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let opened = open_plain(CWD, file.as_os_str(), OFlags::RDONLY, || file.to_owned())?;
    read_limited(&opened, file, limit)
}

/// Reads an open file to its end. Also a file that grows meanwhile does not become more than
/// `limit` bytes.
fn read_limited(file: &File, shown: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = |bytes| Refused::TooLarge {
        path: shown.to_owned(),
        bytes,
        limit,
    };
    let size = file.metadata()?.len();
    if size > limit {
        return Err(too_large(size).into());
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64).into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
