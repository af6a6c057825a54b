//! Whether git has refs in a folder.

use git2::Repository;
use lab_system::root::Root;
use std::path::Path;

/// Most bytes of git's packed refs that are looked through.
const PACKED_LIMIT: u64 = 1 << 30;

/// Whether a ref stands in this folder, as in `refs/lab/exact/`. It opens no ref: there may be 10,000.
pub(super) fn has_folder(git: &Repository, folder: &str) -> bool {
    let has_loose =
        || std::fs::read_dir(git.commondir().join(folder)).is_ok_and(|mut entries| entries.next().is_some());
    let is_packed = || {
        let packed =
            Root::new(git.commondir()).read(Path::new("packed-refs"), PACKED_LIMIT).unwrap_or_default();
        let needle = format!(" {folder}");
        packed
            .split(|b| *b == b'\n')
            .any(|line| line.get(40..).is_some_and(|name| name.starts_with(needle.as_bytes())))
    };
    has_loose() || is_packed()
}
