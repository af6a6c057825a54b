//! A project: the git work tree, its lab.toml, and the one kernel that is worked on.

use crate::config::Config;
use anyhow::Result;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The git work tree.
    pub root: PathBuf,
    /// `root/.lab`.
    pub lab_dir: PathBuf,
    /// The folder of lab.toml, or `root` without one: an external harness starts here.
    pub home: PathBuf,
    pub config_file: Option<PathBuf>,
    /// Absolute path of the kernel.
    pub kernel: PathBuf,
    /// The same, relative to `root`, with `/`.
    pub kernel_name: String,
    /// The folder of the kernel; problem.toml and reference.cu lie here for the built-in harness.
    pub problem_dir: PathBuf,
    pub config: Config,
}

impl Project {
    /// Opens the project that `from` lies in. `kernel` overrides lab.toml: a file, or a folder
    /// that holds a kernel.cu. Errors say what to do.
    pub fn open(from: &Path, kernel: Option<&Path>) -> Result<Project> {
        let _ = (from, kernel);
        anyhow::bail!("not yet")
    }

    /// What the kernel goes by on the screen: the name of its folder.
    pub fn name(&self) -> String {
        let folder = self.problem_dir.file_name().unwrap_or(self.problem_dir.as_os_str());
        folder.to_string_lossy().into_owned()
    }

    /// Whether the harness is a command of the user's.
    pub fn external(&self) -> bool {
        self.config.harness.is_some()
    }
}
