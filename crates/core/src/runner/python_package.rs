//! The Python package `lab_harness` for a harness of the user's own: a copy in the run's folder, on the search path of
//! Python. So `from lab_harness import report` works without an installation, and fits this version of `lab`.

use lab_system::root::Root;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// The folder of the package and its files.
const PACKAGE: &str = "lab_harness";
const FILES: [(&str, &str); 4] = [
    ("__init__.py", include_str!("../../../../harness/python/lab_harness/__init__.py")),
    ("compare.py", include_str!("../../../../harness/python/lab_harness/compare.py")),
    ("report.py", include_str!("../../../../harness/python/lab_harness/report.py")),
    ("turns.py", include_str!("../../../../harness/python/lab_harness/turns.py")),
];

/// Writes the package into this new folder below the root.
pub fn write(files: &Root, folder: &Path) -> io::Result<()> {
    let package = folder.join(PACKAGE);
    files.create_dir_all(&package)?;
    FILES.iter().try_for_each(|(name, text)| files.create(&package.join(name))?.write_all(text.as_bytes()))
}

/// The value of PYTHONPATH with which Python finds the package: the user's own folders come first.
pub fn search_path(folder: &Path) -> OsString {
    let mut path = env::var_os("PYTHONPATH").unwrap_or_default();
    if !path.is_empty() {
        path.push(":");
    }
    path.push(folder);
    path
}
