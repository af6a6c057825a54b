//! The file of a kernel: how it is called, and which file a folder means.

use std::path::{Path, PathBuf};

/// The names of a kernel's file that a folder means without further words.
pub const NAMES: [&str; 2] = ["kernel.cu", "kernel.py"];

/// The kernel that a folder means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderKernel {
    One(PathBuf),
    /// It holds kernel.cu and kernel.py, so a command has to name one.
    Both,
    None,
}

/// The kernel.cu or the kernel.py of a folder. A link counts, also one that leads nowhere.
pub fn in_folder(folder: &Path) -> FolderKernel {
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| !about.is_dir());
    let mut found = NAMES.iter().map(|name| folder.join(name)).filter(is_file);
    match (found.next(), found.next()) {
        (Some(only), None) => FolderKernel::One(only),
        (Some(_), Some(_)) => FolderKernel::Both,
        (None, _) => FolderKernel::None,
    }
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

/// The .cu files of a folder, sorted, without reference.cu, which is no kernel to work on. A .py
/// file has many purposes, so that only kernel.py counts without being named.
pub fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        .filter(|path| path.file_name().is_none_or(|n| n != "reference.cu"))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_means_its_only_kernel_and_two_need_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        assert_eq!(in_folder(folder.path()), FolderKernel::None);
        std::fs::write(file("reference.py"), "").unwrap();
        std::fs::write(file("kernel.py"), "").unwrap();
        assert_eq!(
            in_folder(folder.path()),
            FolderKernel::One(file("kernel.py"))
        );
        std::os::unix::fs::symlink("nowhere", file("kernel.cu")).unwrap();
        assert_eq!(in_folder(folder.path()), FolderKernel::Both);
        std::fs::remove_file(file("kernel.py")).unwrap();
        assert_eq!(
            in_folder(folder.path()),
            FolderKernel::One(file("kernel.cu"))
        );
    }
}
