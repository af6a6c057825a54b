//! Files that a harness of the user's own gets beside the kernel: the incumbent, and the Python
//! package `lab_harness`, so that `from lab_harness import report` works without an installation
//! and fits this version of `lab`.
//!
//! They stay in `.lab/harness` from run to run. A run writes only what is not there as it should
//! be, so most runs write nothing: making and removing a dozen files would take longer than the
//! rest of a short turn.

use anyhow::Result;
use lab_git::Repo;
use lab_project::Project;
use lab_python::PackageFile;
use lab_run::KernelBlob;
use lab_system::failure::Failure;
use lab_system::root::Root;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The folder in `.lab`.
const FOLDER: &str = "harness";

/// So many incumbents stay there, and so many versions of the package: one that a run in progress
/// reads is among them.
const KEPT: usize = 16;

/// The file of the kernel in HEAD, with the local includes of HEAD beside it; `None` if HEAD does
/// not hold the kernel. The bytes are those that git would put on disk. The second is the kernel's id.
pub fn incumbent(repo: &Repo, project: &Project) -> Result<Option<(PathBuf, Option<KernelBlob>)>> {
    let Some(incumbent) = lab_git::incumbent_bytes(repo)? else {
        return Ok(None);
    };
    let folder = project
        .lab_dir
        .join(FOLDER)
        .join("incumbent")
        .join(incumbent.commit);
    let files = project.files();
    for (file, bytes) in &incumbent.files {
        let path = folder.join(&file.path);
        put(&files, &folder, &path, bytes).cannot("write", &path)?;
    }
    let kernel = incumbent.files.first();
    let id = kernel.and_then(|(kernel, _)| KernelBlob::of(&kernel.blob));
    Ok(Some((folder.join(&project.kernel_name), id)))
}

/// The folder to search for the Python package. It holds what a harness imports, and no more.
pub fn python_package(files: &Root, lab_dir: &Path) -> io::Result<PathBuf> {
    let package: Vec<&PackageFile> = lab_python::harness_files().collect();
    let folder = lab_dir.join(FOLDER).join("python").join(name_of(&package));
    for (name, text) in package {
        put(files, &folder, &folder.join(name), text.as_bytes())?;
    }
    Ok(folder)
}

/// The same name for the same package only: labs of two versions do not write each other's files.
fn name_of(package: &[&PackageFile]) -> String {
    let mut hash = blake3::Hasher::new();
    for (name, text) in package {
        hash.update(&(text.len() as u64).to_le_bytes())
            .update(name.as_bytes())
            .update(text.as_bytes());
    }
    hash.finalize().to_hex()[..16].to_owned()
}

/// Puts a file there, unless these bytes are there already. Another run may do the same at the same
/// time. A file that a killed run left half written is written again by the next.
fn put(files: &Root, folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    const ATTEMPTS: usize = 8;
    let mut attempts = 0;
    while !files
        .read(path, bytes.len() as u64)
        .is_ok_and(|there| there == bytes)
    {
        if files.metadata(folder).is_err() {
            forget_the_oldest(files, folder);
        }
        attempts += 1;
        match files.write(path, bytes) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempts < ATTEMPTS => {}
            written => return written,
        }
    }
    Ok(())
}

/// Makes room for a new folder beside those that were made last. A folder that cannot be removed
/// stays.
fn forget_the_oldest(files: &Root, new: &Path) {
    let Some(parent) = new.parent() else { return };
    let made = |name| {
        let path = parent.join(name);
        Some((files.metadata(&path).ok()?.modified().ok()?, path))
    };
    let mut folders: Vec<_> = files
        .entries(parent)
        .unwrap_or_default()
        .into_iter()
        .filter_map(made)
        .collect();
    folders.sort_unstable();
    let superfluous = (folders.len() + 1).saturating_sub(KEPT);
    for (_, folder) in folders.into_iter().take(superfluous) {
        let _ = files.remove_dir_all(&folder);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn the_package_is_written_once_and_again_where_it_was_changed() {
        let temp = tempfile::tempdir().unwrap();
        let files = Root::new(temp.path());
        let lab_dir = temp.path().join(".lab");
        let folder = python_package(&files, &lab_dir).unwrap();
        let module = folder.join("lab_harness/report.py");
        let (text, made) = (
            fs::read(&module).unwrap(),
            fs::metadata(&module).unwrap().modified().unwrap(),
        );
        assert!(!folder.join("lab_harness/worker.py").exists());
        assert_eq!(python_package(&files, &lab_dir).unwrap(), folder);
        assert_eq!(
            fs::metadata(&module).unwrap().modified().unwrap(),
            made,
            "it was there"
        );
        for damaged in [
            &text[..text.len() / 2],
            b"",
            &[&text[..], b"# more\n"].concat(),
        ] {
            fs::write(&module, damaged).unwrap();
            python_package(&files, &lab_dir).unwrap();
            assert_eq!(fs::read(&module).unwrap(), text);
        }
    }

    #[test]
    fn so_many_folders_stay_as_runs_can_use() {
        let temp = tempfile::tempdir().unwrap();
        let files = Root::new(temp.path());
        let parent = temp.path().join(".lab/harness/incumbent");
        for commit in 0..KEPT + 5 {
            let folder = parent.join(format!("{commit:02}"));
            put(&files, &folder, &folder.join("src/kernel.cu"), b"// kept\n").unwrap();
            let second = std::time::UNIX_EPOCH + std::time::Duration::from_secs(commit as u64);
            fs::File::open(&folder)
                .unwrap()
                .set_modified(second)
                .unwrap();
        }
        let mut names = files.entries(&parent).unwrap();
        names.sort();
        assert_eq!((names.len(), names[0].to_str()), (KEPT, Some("05")));
    }
}
