//! The names of files and folders that a process needs only for a while.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the name of every such entry begins with; [`RANDOM`] letters and digits follow, and for a file a dot and the name of
/// the file that it will replace.
pub const PREFIX: &str = ".lab-new-";

/// How many random letters and digits follow the prefix.
pub const RANDOM: usize = 12;

/// The end of a temporary name: the name of the file that is replaced. `None` for any other name.
pub fn target(name: &str) -> Option<&str> {
    let (random, rest) = name.strip_prefix(PREFIX)?.split_at_checked(RANDOM)?;
    let is_ours = random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(if rest.is_empty() { rest } else { rest.strip_prefix('.')? }).filter(|_| is_ours)
}

/// A name for a file that is to replace the file `target`. Whoever creates the file locks it, and then calls
/// [`is_still_there`].
pub fn name_for(target: &Path) -> String {
    let number = RandomState::new().hash_one(std::process::id());
    format!("{PREFIX}{:012x}{}", number >> 16, suffix(target))
}

/// Whether a file that was created and then locked has its name still: a sweep may have come in between.
pub fn is_still_there(file: &File) -> io::Result<bool> {
    // A file system without locks has none for a sweep either, which then leaves the entry alone.
    let _ = file.lock();
    Ok(file.metadata()?.nlink() > 0)
}

/// What the name of a new file ends with: a dot and the name of the file that it will replace, which may be cut short.
pub fn suffix(target: &Path) -> String {
    const LONGEST: usize = 100;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}", name.chars().take(LONGEST / 4).collect::<String>())
}
