//! The file of a kernel: how it is called, and which file a folder means.

use super::canonical;
use super::config::{Config, FILE, Harness};
use anyhow::{Result, bail};
use lab_system::listing;
use std::path::{Path, PathBuf};

/// The names of a kernel's file that a folder means without further words.
pub const NAMES: [&str; 2] = ["kernel.cu", "kernel.py"];

/// Returns the kernel.cu or the kernel.py of a folder; `None` if it holds neither. A link counts,
/// also one that leads nowhere. The error is the two files of a folder that holds both: a command
/// has to name one of them.
pub fn in_folder(folder: &Path) -> Result<Option<PathBuf>, [PathBuf; 2]> {
    let files = NAMES.map(|name| folder.join(name));
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| !about.is_dir());
    if files.iter().all(is_file) {
        return Err(files);
    }
    Ok(files.into_iter().find(is_file))
}

/// Why a command that names only this folder cannot be carried out. `shown` is the folder's path
/// for the user; empty for the current folder.
pub fn both(shown: &Path) -> String {
    let [cuda, python] = NAMES.map(|name| shown.join(name).display().to_string());
    let place = if shown.as_os_str().is_empty() {
        "this folder".to_owned()
    } else {
        shown.display().to_string()
    };
    format!(
        "{place} holds kernel.cu and kernel.py: name one of them, {cuda} or {python}, or name one with `kernel = \"…\"` in \
         lab.toml"
    )
}

/// Whether a file is a kernel by its name: a .cu that is no reference.cu, or kernel.py. A .py file has
/// many purposes, so that no other one counts without being named.
pub(super) fn is_by_name(path: &Path) -> bool {
    let is_called = |name: &str| path.file_name().is_some_and(|own| own == name);
    let is_cuda = path.extension().is_some_and(|ending| ending == "cu");
    (is_cuda && !is_called("reference.cu")) || NAMES.into_iter().any(is_called)
}

/// The .cu files of a folder that are kernels by their names, sorted.
pub fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let entries = listing::entries(folder);
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "cu") && is_by_name(path))
        .collect();
    found.sort();
    found
}

/// Refuses to judge a file of the user's own harness as the kernel.
pub(super) fn refuse_of_harness(kernel: &Path, config: &Config, home: &Path) -> Result<()> {
    let (Some(harness), Some(named)) = (&config.harness, &config.kernel) else {
        return Ok(());
    };
    let is_it = |name: &String| canonical(&home.join(name)).is_ok_and(|file| file == kernel);
    let mut others = config.watch.extra.iter().chain(match harness {
        Harness::Python { python } => Some(python),
        Harness::Command(_) => None,
    });
    if !is_it(named) && others.any(is_it) {
        bail!(
            "{} is a file of the harness, as {} says, and no kernel: the kernel is {named}",
            kernel.display(),
            home.join(FILE).display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_means_its_only_kernel_and_two_need_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        assert_eq!(in_folder(folder.path()), Ok(None));
        std::fs::write(file("reference.py"), "").unwrap();
        std::fs::write(file("kernel.py"), "").unwrap();
        assert_eq!(in_folder(folder.path()), Ok(Some(file("kernel.py"))));
        std::os::unix::fs::symlink("nowhere", file("kernel.cu")).unwrap();
        assert_eq!(in_folder(folder.path()), Err(NAMES.map(file)));
        std::fs::remove_file(file("kernel.py")).unwrap();
        assert_eq!(in_folder(folder.path()), Ok(Some(file("kernel.cu"))));
    }
}
