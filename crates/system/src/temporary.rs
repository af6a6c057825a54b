//! Creates files and folders under a name of its own.
//!
//! Their creator holds a lock on each of them, which the Linux kernel releases when the process
//! ends, however it ends. So an entry with such a name and without a lock belongs to nobody, and
//! [`crate::leftovers`] removes it.

use crate::{listing, random};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::Builder;

/// What the name of every such entry begins with; [`RANDOM`] letters and digits follow, and for a
/// file a dot and the name of the file that it will replace.
const PREFIX: &str = ".lab-new-";

/// How many random letters and digits follow the prefix.
const RANDOM: usize = 12;

/// How often an entry is created that a sweep removes before its lock is taken.
const ATTEMPTS: usize = 32;

/// A folder for files that are needed only for a while. Dropping it removes it with everything in
/// it.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: PathBuf,
    _lock: File,
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed stays for a sweep.
        let _ = listing::remove_dir_all(&self.folder);
    }
}

impl TemporaryFolder {
    /// Creates an empty folder inside `parent`, which must exist. Only the user may open it.
    pub fn inside(parent: &Path) -> io::Result<TemporaryFolder> {
        for _ in 0..ATTEMPTS {
            let mut builder = Builder::new();
            let folder = builder
                .prefix(PREFIX)
                .rand_bytes(RANDOM)
                .tempdir_in(parent)?
                .keep();
            let lock = match File::open(&folder) {
                // A sweep came before the lock could be taken.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.inspect_err(|_| drop(std::fs::remove_dir(&folder)))?,
            };
            if is_still_there(&lock)? {
                return Ok(TemporaryFolder {
                    folder,
                    _lock: lock,
                });
            }
        }
        Err(io::Error::other(
            "a new folder was removed each time it was created",
        ))
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }
}

/// The end of the name of such an entry: the name of the file that is replaced; empty for a folder. `None` for any
/// other name.
pub(crate) fn target(name: &str) -> Option<&str> {
    let (random, rest) = name.strip_prefix(PREFIX)?.split_at_checked(RANDOM)?;
    let is_ours = random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(if rest.is_empty() {
        rest
    } else {
        rest.strip_prefix('.')?
    })
    .filter(|_| is_ours)
}

/// A name for a file that is to replace the file `target`. Whoever creates the file locks it, and
/// then calls [`is_still_there`].
pub(crate) fn name_for(target: &Path) -> String {
    format!("{PREFIX}{:012x}{}", random::number() >> 16, suffix(target))
}

/// Whether a file that was created and then locked has its name still: a sweep may have come in
/// between.
pub(crate) fn is_still_there(file: &File) -> io::Result<bool> {
    // A file system without locks has none for a sweep either, which then leaves the entry alone.
    let _ = file.lock();
    Ok(file.metadata()?.nlink() > 0)
}

/// What the name of a new file ends with: a dot and the name of the file that it will replace,
/// which may be cut short.
pub(crate) fn suffix(target: &Path) -> String {
    const LONGEST: usize = 100;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}", name.chars().take(LONGEST / 4).collect::<String>())
}
