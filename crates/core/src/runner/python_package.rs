//! The Python package `lab_harness` for a harness of the user's own: a copy in the run's folder, on the search path of
//! Python. So `from lab_harness import report` works without an installation, and fits this version of `lab`.

use lab_python::{FILES, First, PackageFile, harness_files};
use lab_system::root::Root;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Writes what a harness imports into this new folder below the root. Each run has a copy of its own, so no more is written than
/// that.
pub fn write_for_harness(files: &Root, folder: &Path) -> io::Result<()> {
    write_each(files, folder, harness_files())
}

/// Writes the whole package into this new folder below the root.
pub fn write(files: &Root, folder: &Path) -> io::Result<()> {
    write_each(files, folder, FILES.iter())
}

fn write_each<'f>(
    files: &Root,
    folder: &Path,
    package: impl Iterator<Item = &'f PackageFile>,
) -> io::Result<()> {
    let mut made = None;
    for (name, text) in package {
        let path = folder.join(name);
        // The files of a folder stand one after the other.
        let parent = path.parent().map(Path::to_owned);
        if parent != made {
            files.create_dir_all(parent.as_deref().unwrap_or(folder))?;
            made = parent;
        }
        files.create(&path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// The value of PYTHONPATH with which Python finds the package: the user's own folders come first.
pub fn search_path(folder: &Path) -> OsString {
    lab_python::search_path(folder, First::Users)
}
