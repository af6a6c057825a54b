//! Starting a worker that is a Python process, and what is known of its failures.
//!
//! The worker is the module `lab_harness.worker`. It speaks the protocol of the lab's own worker, on the socket that is its stdin.
//! Nothing confines it: a kernel in Python needs files, programs and libraries.

use super::images::Images;
use crate::process::child::{Child, LineSink};
use lab_device::sandbox::{MACHINE_MEMORY, limit_child};
use lab_protocol::Target;
use lab_python::First;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Why a Python worker has no sandbox.
pub const NO_SANDBOX: &str = "Python runs with your rights";

/// The oldest Python that the package works with.
pub const OLDEST: &str = "3.9";

/// The folder of the package's copy, in the folder of the worker.
const PACKAGE: &str = "package";

/// A Python to start as a worker.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The program: a path, or a name that PATH leads to.
    pub program: PathBuf,
    /// Limit for its start with its packages, and for loading a source.
    pub load_limit: Duration,
}

impl Interpreter {
    /// Starts the worker's process. `images` is its own folder, which gets a copy of the package: another kernel cannot change it.
    pub fn start(
        &self,
        target: Target,
        images: &Images,
        forward: LineSink,
    ) -> io::Result<(Child, UnixStream)> {
        let package = images.path().join(PACKAGE);
        std::fs::create_dir(&package)
            .map_err(|e| io::Error::new(e.kind(), format!("{} cannot be made: {e}", package.display())))?;
        lab_python::write(&package)?;
        let mut command = Command::new(&self.program);
        command
            .args(["-m", lab_python::WORKER])
            .env("PYTHONPATH", lab_python::search_path(&package, First::Package))
            // Lines come when they are printed, also before a crash.
            .env("PYTHONUNBUFFERED", "1")
            // No file of the current folder takes the name of a module.
            .env("PYTHONSAFEPATH", "1")
            .current_dir("/");
        let (child, stream) = Child::spawn(&mut command, forward)?;
        if target == Target::Cpu {
            // Else Linux would end another process where memory runs out.
            limit_child(child.id(), MACHINE_MEMORY);
        }
        Ok((child, stream))
    }

    /// What must be there, and how to name another one. The end of a message.
    pub fn remedy(&self) -> String {
        format!(
            "Python kernels need Python {OLDEST} or newer with NumPy. Name another interpreter with LAB_PYTHON, or with `python = \
             \"…\"` in lab.toml"
        )
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.display().fmt(f)
    }
}

/// Where a Python worker has its sources. A message shows a source without this folder.
pub fn without_folder(text: &str, folder: &Path) -> String {
    let mut rest = text;
    let mut shown = String::with_capacity(text.len());
    let folder = folder.join("").display().to_string();
    while let Some((before, after)) = rest.split_once(&folder) {
        shown.push_str(before);
        // Each source is in a folder that has a number.
        let number = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest = match after[number..].strip_prefix('/') {
            Some(file) if number > 0 => file,
            _ => after,
        };
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_shown_without_its_folder() {
        let folder = Path::new("/cache/private/x/files");
        let text = "File \"/cache/private/x/files/0/kernel.py\", line 3\n/cache/private/x/files/package/a.py /cache/x";
        assert_eq!(without_folder(text, folder), "File \"kernel.py\", line 3\npackage/a.py /cache/x");
    }
}
