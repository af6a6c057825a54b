//! One screen per repository: a lock on `.lab/screen.lock`, which ends with its process.

use crate::project::Project;
use anyhow::{Context, Result, bail};
use std::fs::{self, File, TryLockError};
use std::io::Write;

/// Held as long as the screen is open.
#[derive(Debug)]
pub struct ScreenLock {
    _file: File,
}

pub fn take(project: &Project) -> Result<ScreenLock> {
    let path = project.lab_dir.join("screen.lock");
    let failed = || format!("cannot write {}", path.display());
    fs::create_dir_all(&project.lab_dir).with_context(failed)?;
    let mut file = File::options()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .open(&path)
        .with_context(failed)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).with_context(failed)?;
            Ok(ScreenLock { _file: file })
        }
        Err(TryLockError::WouldBlock) => {
            let owner = fs::read_to_string(&path).unwrap_or_default();
            bail!(
                "a screen is open on {} already (process {}): use that one, or quit it. `lab run`, `lab keep` and \
                 the others work beside it",
                project.root.display(),
                owner.trim()
            )
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}
