//! Whether a file is still the one that was looked at before, without reading it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Inode, size in bytes, and when it was last written: seconds since 1970 and nanoseconds.
pub type Stamp = (u64, u64, i64, i64);

/// `None` where there is no such file, or it cannot be looked at.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let m = std::fs::metadata(path).ok()?;
    Some((m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}
