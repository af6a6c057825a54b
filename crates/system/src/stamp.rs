//! Finds out whether a file changed, without reading it.

use crate::root::{OpenFolder, Root};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use crate::root::Stamp;

/// Returns the stamp of a file or folder below `files`; `None` where there is nothing, or its
/// metadata cannot be read. A link has a stamp of its own.
pub fn stamp(files: &Root, path: &Path) -> Option<Stamp> {
    Some(of(&files.metadata(path).ok()?))
}

/// The stamp of a file or folder with this metadata.
pub fn of(about: &Metadata) -> Stamp {
    (about.ino(), about.size(), about.mtime(), about.mtime_nsec())
}

/// [`stamp`] of the file `name` in a folder of an open one, for callers that look at many.
pub fn stamp_in(open: &OpenFolder, folder: &OsStr, name: &OsStr) -> Option<Stamp> {
    open.stamp(folder, name).ok()
}
