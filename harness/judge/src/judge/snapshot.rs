//! The judged bytes, apart from the file that their user goes on editing.

use super::JudgeOptions;
use crate::outcome::Stop;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The judged bytes, where nobody edits them.
pub struct KernelSnapshot {
    folder: tempfile::TempDir,
}

impl KernelSnapshot {
    /// Copies the kernel into a new folder under `place`.
    pub fn take(options: &JudgeOptions, place: &Path) -> Result<Self, Stop> {
        let (kernel, shown_as) = (options.kernel(), options.shown_as());
        // Compared with a file's size first: a source is small, and 50 MB of anything is a mistake.
        const LIMIT: u64 = 8 << 20;
        let unreadable = |e: io::Error| Stop::Build(format!("{shown_as} cannot be read: {e}"));
        let meta = std::fs::metadata(&kernel).map_err(unreadable)?;
        if !meta.is_file() {
            return Err(Stop::Build(format!("{shown_as} is no file")));
        }
        if meta.len() > LIMIT {
            return Err(Stop::Build(format!(
                "{shown_as} has {} bytes; a kernel has at most {LIMIT}",
                meta.len()
            )));
        }
        let bytes = std::fs::read(&kernel).map_err(unreadable)?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Stop::Build(format!("{shown_as} is empty")));
        }
        let lab = |e: io::Error| Stop::Lab(format!("the snapshot in {}: {e}", place.display()));
        std::fs::create_dir_all(place).map_err(lab)?;
        forget_old(place);
        let folder = tempfile::tempdir_in(place).map_err(lab)?;
        std::fs::write(folder.path().join("kernel.cu"), bytes).map_err(lab)?;
        Ok(KernelSnapshot { folder })
    }

    /// The file that is built.
    pub fn source(&self) -> PathBuf {
        self.folder.path().join("kernel.cu")
    }
}

/// A judge that is killed, as one is by every newer save, leaves its snapshot: it goes with a later
/// run. What cannot be removed is no harm.
fn forget_old(place: &Path) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|m| m.modified());
        if made.is_ok_and(|t| t.elapsed().is_ok_and(|age| age > DAY)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
