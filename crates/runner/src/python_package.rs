//! Copies of the Python package `lab_harness`, and how Python finds them.

use lab_python::{FILES, First};
use lab_system::root::Root;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Writes the whole package into this new folder below the root.
pub fn write(files: &Root, folder: &Path) -> io::Result<()> {
    let mut made = None;
    for (name, text) in FILES {
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

/// The value of PYTHONPATH with which a harness finds the package: the user's own folders come
/// first.
pub fn search_path(folder: &Path) -> OsString {
    lab_python::search_path(folder, First::Users)
}
