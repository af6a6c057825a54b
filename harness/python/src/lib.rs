//! The Python package `lab_harness`, as the program carries it: a harness of the user's own imports
//! it, and the worker that runs a Python kernel is a part of it. Its files are beside this crate,
//! in `lab_harness`.
//!
//! Python gets a copy of the files in a folder that is named in `PYTHONPATH`. So the package needs
//! no installation, and always fits this version of the program.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod search_path;

pub use search_path::{First, module_path, search_path, search_path_with};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file of the package: its path below the folder that Python searches, and its text.
pub type PackageFile = (&'static str, &'static str);

/// Every file of the package, in the order of their paths. The build script lists them.
pub const FILES: &[PackageFile] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The module that is a worker: `python -m lab_harness.worker`.
pub const WORKER: &str = "lab_harness.worker";

/// The files that a harness of the user's own imports. The others are the worker of a Python kernel
/// and its parent on standby; they import from these.
pub fn harness_files() -> impl Iterator<Item = &'static PackageFile> {
    const MODULES: [&str; 4] = ["__init__.py", "compare.py", "report.py", "turns.py"];
    FILES.iter().filter(|(path, _)| {
        path.strip_prefix("lab_harness/")
            .is_some_and(|module| MODULES.contains(&module))
    })
}

/// Writes the package into this folder, which exists. Returns the error with the path of the file
/// that it concerns.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// lab_python::write(folder.path())?;
/// assert!(folder.path().join("lab_harness/__init__.py").is_file());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(folder: &Path) -> io::Result<()> {
    for (name, text) in FILES {
        let path = folder.join(name);
        let parent = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("{} cannot be written: {e}", path.display()),
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeSet;

    fn python_files(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                python_files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "py") {
                found.insert(path);
            }
        }
    }

    #[test]
    fn every_file_of_the_package_is_carried_and_written() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let below = |root: &Path| {
            let mut found = BTreeSet::new();
            python_files(&root.join("lab_harness"), &mut found);
            let each = found.into_iter();
            each.map(|path| {
                let text = fs::read_to_string(&path).unwrap();
                (path.strip_prefix(root).unwrap().to_owned(), text)
            })
            .collect::<Vec<_>>()
        };
        let written = below(folder.path());
        assert!(written.len() >= 4 && written.iter().any(|(name, _)| name.ends_with("report.py")));
        assert_eq!(written, below(own));
    }

    #[test]
    fn a_harness_imports_nothing_that_it_does_not_get() {
        let harness: Vec<&PackageFile> = harness_files().collect();
        assert_eq!(harness.len(), 4);
        let has = |module: &str| {
            harness
                .iter()
                .any(|(path, _)| *path == format!("lab_harness/{module}.py"))
        };
        for (path, text) in &harness {
            let imported = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("from ."));
            for line in imported {
                let names = line
                    .trim_start_matches(" import ")
                    .split(',')
                    .map(str::trim);
                names.for_each(|name| assert!(has(name), "{path} imports {name}"));
            }
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write(&file).unwrap_err().to_string();
        assert!(
            error.contains("file/lab_harness/__init__.py cannot be written"),
            "{error}"
        );
    }
}
