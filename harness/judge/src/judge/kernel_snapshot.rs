//! The copy of the kernel that is judged, while the user goes on editing the file.

use crate::outcome::{OrLab, Result, Stop};
use crate::process::private_folder::PrivateFolder;
use lab_protocol::JudgeRequest;
use lab_protocol::Language;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Longest kernel, in bytes. A kernel's source is small; somebody named a larger file by mistake.
const MAX_BYTES: u64 = 8 << 20;

/// A copy of the kernel in a temporary folder, which is removed with this value.
pub struct KernelSnapshot {
    folder: PrivateFolder,
    /// The copy's name, which says its language.
    name: OsString,
}

impl KernelSnapshot {
    /// Copies the kernel into a new folder under `parent`.
    ///
    /// Returns [`Stop::Build`] if the kernel is missing, unreadable, empty or larger than 8 MiB,
    /// and [`Stop::Lab`] if the copy cannot be written.
    pub fn take(request: &JudgeRequest, parent: &Path) -> Result<Self> {
        Self::copy(&request.kernel(), &request.shown_as(), parent)
    }

    /// [`KernelSnapshot::take`] for another file than the candidate.
    pub fn copy(kernel: &Path, shown_as: &str, parent: &Path) -> Result<Self> {
        Self::write(
            &read(kernel, shown_as)?,
            Language::of(kernel).kernel_name(),
            shown_as,
            parent,
        )
    }

    /// Writes a source that was [`read`] into a new folder under `parent`. `name` is a file's name,
    /// and says the language.
    pub fn write(
        bytes: &[u8],
        name: impl AsRef<OsStr>,
        shown_as: &str,
        parent: &Path,
    ) -> Result<Self> {
        let name = name.as_ref().to_owned();
        let written = PrivateFolder::new_in(parent).and_then(|folder| {
            std::fs::write(folder.path().join(&name), bytes)?;
            Ok(KernelSnapshot { folder, name })
        });
        written.or_lab(|| {
            let parent = parent.display();
            format!("the copy of {shown_as} in {parent} cannot be written")
        })
    }

    /// The file that is built, or executed if it is Python.
    pub fn source(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// The bytes of a source. Returns [`Stop::Build`] if it is missing, unreadable, empty or larger
/// than 8 MiB.
pub fn read(source: &Path, shown_as: &str) -> Result<Vec<u8>> {
    let unreadable = |e: io::Error| Stop::Build(format!("{shown_as} cannot be read: {e}"));
    let meta = std::fs::metadata(source).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Stop::Build(format!("{shown_as} is not a file")));
    }
    if meta.len() > MAX_BYTES {
        return Err(Stop::Build(format!(
            "{shown_as} has {} bytes; a kernel has at most {MAX_BYTES}",
            meta.len()
        )));
    }
    let bytes = std::fs::read(source).map_err(unreadable)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Stop::Build(format!("{shown_as} is empty")));
    }
    Ok(bytes)
}
