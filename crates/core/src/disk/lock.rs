//! Locks on files, by which processes of the lab wait for each other. The kernel releases a lock when its process ends,
//! however the process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens the file at `path` as `how` says and waits for its lock. Dropping the file releases the lock.
///
/// Another process may replace the file while this one waits. Its lock would then protect nothing, so the file is opened
/// and locked again.
pub fn wait(path: &Path, how: &OpenOptions) -> io::Result<File> {
    loop {
        let file = how.open(path)?;
        file.lock()?;
        if is_at(&file, path)? {
            return Ok(file);
        }
    }
}

/// [`wait`] without waiting: `None` where another process holds the lock.
pub fn take(path: &Path, how: &OpenOptions) -> io::Result<Option<File>> {
    loop {
        let file = how.open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path)? => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether a process holds the lock of this file. False where the file cannot be opened.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether `path` still names this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (held, named) = (file.metadata()?, std::fs::metadata(path));
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn one_process_holds_the_lock_until_it_drops_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let how = || File::options().create(true).append(true).clone();
        assert!(!is_held(&path));
        let held = wait(&path, &how()).unwrap();
        assert!(is_held(&path));
        assert!(take(&path, &how()).unwrap().is_none());
        drop(held);
        assert!(take(&path, &how()).unwrap().is_some());
        assert!(!is_held(&path));
    }

    #[test]
    fn who_waits_gets_the_file_that_has_the_name_by_then() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        fs::write(&path, "old").unwrap();
        let held = wait(&path, File::options().read(true)).unwrap();
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || wait(&path, File::options().read(true)).unwrap())
        };
        fs::write(temp.path().join("new"), "newer").unwrap();
        fs::rename(temp.path().join("new"), &path).unwrap();
        drop(held);
        assert_eq!(waiting.join().unwrap().metadata().unwrap().len(), 5);
    }
}
