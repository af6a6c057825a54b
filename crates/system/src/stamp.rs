//! Finds out whether a file changed, without reading it.

use crate::root::{OpenFolder, Root};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use crate::root::Stamp;

/// Returns the stamp of a file or folder below `files`; `None` where there is nothing, or its
/// metadata cannot be read. A link has a stamp of its own.
pub fn stamp(files: &Root, path: &Path) -> Option<Stamp> {
    let m = files.metadata(path).ok()?;
    Some((m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}

/// [`stamp`] of the file `name` in a folder of an open one, for callers that look at many.
pub fn stamp_in(open: &OpenFolder, folder: &OsStr, name: &OsStr) -> Option<Stamp> {
    open.stamp(folder, name).ok()
}
