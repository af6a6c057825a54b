//! Files and folders that a killed process left under a temporary name. [`sweep`] removes them, and
//! never one that is in use: see [`crate::temporary`].

use crate::file_lock::LockedFile;
use crate::root::Root;
use crate::temporary::{suffix, target};
use std::io;
use std::path::{Path, PathBuf};

/// An entry of a process that ended. While this value lives, nobody else sweeps the entry away.
#[derive(Debug)]
pub struct Leftover {
    files: Root,
    path: PathBuf,
    /// Name of the file that it was to replace, which may be cut short; empty for a folder.
    target: String,
    _lock: LockedFile,
}

impl Leftover {
    /// Whether it was to replace the file at this path.
    pub fn is_of(&self, path: &Path) -> bool {
        suffix(path).strip_prefix('.') == Some(&self.target)
    }

    /// Its path below the root.
    pub fn name(&self) -> &Path {
        &self.path
    }

    /// Removes the entry. An entry that is gone already is no error.
    pub fn remove(self) -> io::Result<()> {
        let is_folder = self
            .files
            .metadata(&self.path)
            .is_ok_and(|about| about.is_dir());
        if is_folder {
            self.files.remove_dir_all(&self.path)
        } else {
            self.files.remove_file(&self.path)
        }
    }
}

/// The entries of this folder below a root whose creators have ended. A folder that is not there
/// has none.
pub fn find(files: &Root, folder: &Path) -> io::Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for name in files.entries(folder)? {
        let Some(target) = name.to_str().and_then(target) else {
            continue;
        };
        let path = folder.join(&name);
        // This program makes no link, pipe or device with such a name.
        if let Ok(Some(lock)) = files.take_lock_of_any(&path) {
            found.push(Leftover {
                files: files.clone(),
                path,
                target: target.to_owned(),
                _lock: lock,
            });
        }
    }
    Ok(found)
}

/// Removes the entries of this folder whose creators have ended. Returns how many they were; one
/// that cannot be removed stays.
pub fn sweep(files: &Root, folder: &Path) -> usize {
    let found = find(files, folder).unwrap_or_default();
    found
        .into_iter()
        .filter_map(|leftover| leftover.remove().ok())
        .count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::temporary::TemporaryFolder;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_stays() {
        let temp = tempfile::tempdir().unwrap();
        let left = [".lab-new-0123456789ab", ".lab-new-folder678901"];
        fs::write(temp.path().join(left[0]), "half").unwrap();
        fs::create_dir(temp.path().join(left[1])).unwrap();
        fs::write(temp.path().join(left[1]).join("inside"), "x").unwrap();
        let folder = TemporaryFolder::inside(temp.path()).unwrap();
        let root = Root::new(temp.path());
        root.replace_with(Path::new("record.json"), |out| {
            out.write_all(b"in use")?;
            assert_eq!(names(temp.path()).len(), 4);
            assert_eq!(sweep(&root, Path::new("")), 2);
            assert_eq!(names(temp.path()).len(), 2, "{:?}", names(temp.path()));
            Ok(())
        })
        .unwrap();
        assert!(folder.path().is_dir());
        drop(folder);
        assert_eq!(names(temp.path()), ["record.json"]);
        assert_eq!(sweep(&Root::new(temp.path()), Path::new("none")), 0);
    }

    #[test]
    fn a_new_folder_stays_while_others_sweep() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::new(temp.path());
        let ended = AtomicBool::new(false);
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        sweep(&root, Path::new(""));
                    }
                });
            }
            let makers = [(); 2].map(|()| {
                threads.spawn(|| {
                    (0..2000).try_for_each(|_| {
                        let folder = TemporaryFolder::inside(temp.path())?;
                        fs::create_dir(folder.path().join("inside"))
                    })
                })
            });
            let made = makers.map(|maker| maker.join().unwrap());
            ended.store(true, Ordering::Relaxed);
            made.into_iter().for_each(|made| made.unwrap());
        });
    }

    #[test]
    fn files_of_the_user_stay_whatever_they_are_called() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("target"), "mine").unwrap();
        let users = [
            ".lab-notes",
            ".lab-new-",
            ".lab-new-short",
            ".lab-new-0123456789a.b",
            ".lab-new-0123456789abc",
        ];
        users
            .iter()
            .for_each(|name| fs::write(temp.path().join(name), "mine").unwrap());
        symlink("target", temp.path().join(".lab-new-0123456789ab")).unwrap();
        assert_eq!(sweep(&Root::new(temp.path()), Path::new("")), 0);
        assert_eq!(names(temp.path()).len(), users.len() + 2);
        assert_eq!(
            fs::read_to_string(temp.path().join("target")).unwrap(),
            "mine"
        );
    }
}
