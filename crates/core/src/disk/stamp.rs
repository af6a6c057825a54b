//! Finds out whether a file changed, without reading it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Inode, size in bytes, and the time of the last write: seconds since 1970 and nanoseconds. Files with the same stamp
/// are taken to hold the same bytes.
pub type Stamp = (u64, u64, i64, i64);

/// Returns the stamp of a file; `None` where there is no such file, or its metadata cannot be read.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let m = std::fs::metadata(path).ok()?;
    Some((m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}
