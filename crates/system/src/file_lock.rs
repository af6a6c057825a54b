//! Locks on files, by which processes of the lab wait for each other. The kernel releases a lock
//! when its process ends, however the process ends.
//!
//! Another process may replace or remove a file between its opening and its locking. The lock would
//! then protect nothing. So each function looks once it has the lock whether the name still belongs
//! to the locked file, and begins again if it does not.

use crate::listing::if_there;
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt;

/// Who else may hold the lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No other process.
    Exclusive,
    /// Every process that takes it with this value too.
    Shared,
}

/// A file whose lock this process holds. Dropping it releases the lock.
///
/// It releases the lock and does not only close the file. A process that another thread starts has
/// every file open until it runs its program, and closing alone would leave the lock with that
/// process for so long.
#[derive(Debug)]
pub struct LockedFile {
    file: File,
    is_shared: bool,
}

impl LockedFile {
    fn new(file: File) -> LockedFile {
        LockedFile {
            file,
            is_shared: false,
        }
    }

    /// The same lock for one child, which gets it as a stream (`Command::stdin`): it is released
    /// when this is dropped and that child, with all that it passes the stream to, has ended. A
    /// descriptor that every child inherits would be another matter: a child that another thread
    /// starts meanwhile would hold the lock as long as it lives.
    pub fn for_child(&mut self) -> io::Result<File> {
        let copy = self.file.try_clone()?;
        self.is_shared = true;
        Ok(copy)
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.file
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if !self.is_shared {
            // Closing the file releases it too, if later.
            let _ = self.file.unlock();
        }
    }
}

/// How often [`take`] tries a file that is removed each time.
const ATTEMPTS: usize = 8;

/// Opens a file and waits for its exclusive lock. `named` is the metadata of the file that has the
/// name by then.
pub(crate) fn wait(
    open: impl Fn() -> io::Result<File>,
    named: impl Fn() -> io::Result<Metadata>,
) -> io::Result<LockedFile> {
    loop {
        let file = open()?;
        match file.lock() {
            // By a signal, which is about something else.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            locked => locked?,
        }
        let file = LockedFile::new(file);
        if is_named(&file, named())? {
            return Ok(file);
        }
    }
}

/// Opens a file and takes its lock without waiting. `None` where another process holds the lock and
/// does not share it. `named` is the metadata of the file that has the name once it is locked.
///
/// ```
/// use lab_system::file_lock::{Sharing, take};
/// use std::fs::{File, metadata};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("lock");
/// let take = || take(Sharing::Exclusive, || File::create(&path), || metadata(&path));
/// let held = take()?;
/// assert!(held.is_some() && take()?.is_none());
/// drop(held);
/// assert!(take()?.is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn take(
    sharing: Sharing,
    open: impl Fn() -> io::Result<File>,
    named: impl Fn() -> io::Result<Metadata>,
) -> io::Result<Option<LockedFile>> {
    for _ in 0..ATTEMPTS {
        let file = open()?;
        let locked = match sharing {
            Sharing::Exclusive => file.try_lock(),
            Sharing::Shared => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => {
                let file = LockedFile::new(file);
                if is_named(&file, named())? {
                    return Ok(Some(file));
                }
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("it was removed each time it was opened"))
}

/// Whether another process, or another handle of this one, holds the lock of this open file. False
/// where that cannot be told.
pub fn is_held_by_others(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    }
}

/// Whether this file still has the name. An error is one of looking, as without a free descriptor:
/// to begin again would bring the same.
pub(crate) fn is_named(file: &File, named: io::Result<Metadata>) -> io::Result<bool> {
    let held = file.metadata()?;
    let is_same = |named: Metadata| (named.dev(), named.ino()) == (held.dev(), held.ino());
    Ok(if_there(named)?.is_some_and(is_same))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};

    fn open(path: &Path) -> io::Result<File> {
        File::options().create(true).append(true).open(path)
    }

    fn wait_for(path: &Path) -> LockedFile {
        wait(|| open(path), || path.metadata()).unwrap()
    }

    fn taken(path: &Path, sharing: Sharing) -> Option<LockedFile> {
        take(sharing, || open(path), || path.metadata()).unwrap()
    }

    fn is_held(path: &Path) -> bool {
        File::open(path).is_ok_and(|file| is_held_by_others(&file))
    }

    #[test]
    fn one_process_holds_the_lock_until_it_drops_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        assert!(!is_held(&path));
        let held = wait_for(&path);
        assert!(is_held(&path));
        assert!(taken(&path, Sharing::Exclusive).is_none());
        drop(held);
        assert!(taken(&path, Sharing::Exclusive).is_some());
        assert!(!is_held(&path));
    }

    /// A process that another thread starts at that moment has a copy of the file.
    #[test]
    fn a_dropped_lock_is_free_although_a_copy_of_the_file_is_open() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let held = wait_for(&path);
        let copy = held.try_clone().unwrap();
        drop(held);
        let held = taken(&path, Sharing::Exclusive).unwrap();
        drop(copy);
        assert!(is_held(&path));
        drop(held);
    }

    #[test]
    fn the_child_that_gets_the_lock_holds_it_and_no_other_child_does() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let mut held = wait_for(&path);
        let sleeping = |stdin: Stdio| {
            Command::new("sleep")
                .arg("600")
                .stdin(stdin)
                .spawn()
                .unwrap()
        };
        let mut child = sleeping(held.for_child().unwrap().into());
        let mut other = sleeping(Stdio::null());
        drop(held);
        assert!(is_held(&path));
        child.kill().unwrap();
        child.wait().unwrap();
        // It waits for children that other tests start: each has a copy until it runs its program.
        // The other child has none, and has not ended.
        drop(wait_for(&path));
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_shared_lock_keeps_only_an_exclusive_one_out() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let take = |sharing| taken(&path, sharing);
        let shared = (
            take(Sharing::Shared).unwrap(),
            take(Sharing::Shared).unwrap(),
        );
        assert!(take(Sharing::Exclusive).is_none());
        drop(shared);
        let exclusive = take(Sharing::Exclusive).unwrap();
        assert!(take(Sharing::Shared).is_none() && take(Sharing::Exclusive).is_none());
        drop(exclusive);
        assert!(take(Sharing::Shared).is_some());
    }

    #[test]
    fn who_waits_gets_the_file_that_has_the_name_by_then() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        fs::write(&path, "old").unwrap();
        let held = wait_for(&path);
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || wait_for(&path))
        };
        fs::write(temp.path().join("new"), "newer").unwrap();
        fs::rename(temp.path().join("new"), &path).unwrap();
        drop(held);
        assert_eq!(waiting.join().unwrap().metadata().unwrap().len(), 5);
    }

    #[test]
    fn who_cannot_look_at_the_name_does_not_try_for_ever() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let too_many = || -> io::Result<Metadata> {
            Err(io::Error::from_raw_os_error(
                rustix::io::Errno::MFILE.raw_os_error(),
            ))
        };
        let refused = wait(|| open(&path), too_many).unwrap_err();
        assert_eq!(
            refused.raw_os_error(),
            too_many().unwrap_err().raw_os_error()
        );
    }

    #[test]
    fn a_file_that_is_always_removed_is_an_error_after_some_attempts() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let opened = Cell::new(0);
        let open = || {
            opened.set(opened.get() + 1);
            let file = File::create(&path)?;
            fs::remove_file(&path).map(|()| file)
        };
        let taken = take(Sharing::Exclusive, open, || path.metadata());
        assert_eq!(
            (taken.unwrap_err().kind(), opened.get()),
            (io::ErrorKind::Other, ATTEMPTS)
        );
    }
}
