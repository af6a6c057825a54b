//! One screen judges each kernel: it holds the lock on `.lab/screen-KEY.lock`. Further screens of the
//! kernel only show it.

use crate::Project;
use anyhow::Result;
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::root::Access;
use std::io::Write;
use std::path::PathBuf;

/// Held as long as the screen is open.
#[derive(Debug)]
pub enum ScreenLock {
    /// This screen judges the kernel.
    Held(LockedFile),
    /// Another screen judges the kernel: its process, if the lock's file tells it.
    Other(Option<u32>),
}

impl ScreenLock {
    /// The screen that judges the kernel in the place of this one, for a sentence.
    pub fn other(&self) -> Option<String> {
        let ScreenLock::Other(process) = self else {
            return None;
        };
        let process = process.map(|process| format!(" (process {process})"));
        Some(format!("another screen{}", process.unwrap_or_default()))
    }
}

fn path_of(project: &Project) -> PathBuf {
    project
        .lab_dir
        .join(format!("screen-{}.lock", project.kernel_key()))
}

/// Takes the lock, or says which screen holds it.
pub fn take(project: &Project) -> Result<ScreenLock> {
    let path = path_of(project);
    let files = project.files();
    let lock = || -> Result<_> {
        files
            .create_dir_all(&project.lab_dir)
            .cannot("write", &path)?;
        let taken = files.take_lock(&path, Access::ReadWrite);
        taken.cannot("lock", &path)
    };
    let taken = lock().and_so("no screen was opened; `lab log` only reads");
    let Some(mut file) = taken? else {
        // The file may hold anything; a process is a number.
        let owner = files
            .read_text(&path, 64)
            .ok()
            .and_then(|text| text.trim().parse::<u32>().ok());
        return Ok(ScreenLock::Other(owner));
    };
    file.set_len(0)
        .and_then(|()| write!(file, "{}", std::process::id()))
        .cannot("write", &path)?;
    Ok(ScreenLock::Held(file))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// `repo` beside a file `bashrc`.
    fn project() -> (tempfile::TempDir, Project) {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("bashrc"), "# mine").unwrap();
        let repo = temp.path().join("repo");
        git2::Repository::init(&repo).unwrap();
        fs::write(repo.join("kernel.cu"), "// x").unwrap();
        let project = Project::open(&repo, None).unwrap();
        (temp, project)
    }

    #[test]
    fn one_screen_has_the_lock_and_others_are_told_its_process() {
        let (_temp, project) = project();
        let held = take(&project).unwrap();
        assert_eq!(held.other(), None);
        let second = take(&project).unwrap().other();
        let owner = format!("another screen (process {})", std::process::id());
        assert_eq!(second, Some(owner));
        drop(held);
        assert_eq!(take(&project).unwrap().other(), None);
    }

    #[test]
    fn a_lock_that_is_a_link_or_a_second_name_is_not_written() {
        let (temp, project) = project();
        let (lock, outside) = (path_of(&project), temp.path().join("bashrc"));
        fs::create_dir(&project.lab_dir).unwrap();
        symlink("../../bashrc", &lock).unwrap();
        let refused = format!("{:#}", take(&project).unwrap_err());
        assert!(
            refused.contains(".lock is a link, and lab follows no link there: remove it"),
            "{refused}"
        );
        fs::remove_file(&lock).unwrap();
        fs::hard_link(&outside, &lock).unwrap();
        let refused = format!("{:#}", take(&project).unwrap_err());
        assert!(refused.contains(".lock is a hard link"), "{refused}");
        fs::remove_dir_all(&project.lab_dir).unwrap();
        symlink(temp.path(), &project.lab_dir).unwrap();
        let refused = format!("{:#}", take(&project).unwrap_err());
        assert!(refused.contains(".lab is a link"), "{refused}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "# mine");
    }
}
