//! One screen per kernel: the screen holds the lock on `.lab/screen-KEY.lock`.

use crate::project::Project;
use anyhow::{Context, Result, bail};
use lab_system::file_lock;
use std::fs::{self, File};
use std::io::Write;

/// Held as long as the screen is open.
#[derive(Debug)]
pub struct ScreenLock {
    _file: File,
}

/// Takes the lock. The error says which process holds it, and what to do.
pub fn take(project: &Project) -> Result<ScreenLock> {
    let path = project.lab_dir.join(format!("screen-{}.lock", project.kernel_key()));
    let failed = || format!("cannot write {}", path.display());
    fs::create_dir_all(&project.lab_dir).with_context(failed)?;
    let how = File::options().create(true).read(true).write(true).truncate(false).clone();
    let taken = file_lock::take(&path, &how).with_context(|| format!("cannot lock {}", path.display()))?;
    let Some(mut file) = taken else {
        let owner = fs::read_to_string(&path).unwrap_or_default();
        bail!(
            "a screen is open on {} already (process {}): use that one, or quit it. `lab run`, `lab keep` and the \
             others work beside it, and so does a screen on another kernel",
            project.kernel.display(),
            owner.trim()
        )
    };
    file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).with_context(failed)?;
    Ok(ScreenLock { _file: file })
}
