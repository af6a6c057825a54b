//! The compiled headers of the cpu device, which all test programs of this workspace share: they
//! are the same for each, and take seconds to make.
#![allow(clippy::unwrap_used)]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The cache folder that has them in `headers`: in the folder of what Cargo builds, so that the
/// next run finds them too. Not beside the test programs: Cargo names their folder and the one
/// above it in `LD_LIBRARY_PATH`, whose folders a confined kernel may read.
pub fn beside() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().unwrap();
    // `target/debug/deps`, or another folder with the program.
    let above = if folder.ends_with("deps") {
        folder.ancestors().nth(2).unwrap()
    } else {
        folder
    };
    above.join("cpu-device-cache")
}

/// Gives a cache folder these headers. The folder must be on their file system: a build moves
/// headers that are not there yet.
#[allow(dead_code, reason = "some test programs use the folder itself")]
pub fn share_with(cache: &Path) {
    let shared = beside().join("headers");
    for folder in [&*shared, cache] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let link = cache.join("headers");
    if std::fs::read_link(&link).is_ok_and(|old| old != shared) {
        // The link of earlier tests, whose headers were elsewhere. Another test may have removed it
        // already.
        let _ = std::fs::remove_file(&link);
    }
    match std::os::unix::fs::symlink(&shared, link) {
        // Another test was first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        linked => linked.unwrap(),
    }
}
