//! What a judge is told.

use crate::measure::plan::Plan;
use crate::process::child::Program;
use lab_protocol::Target;
use lab_protocol::Tool;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is judged, and how.
#[derive(Clone, Debug)]
pub struct JudgeOptions {
    /// The problem's folder.
    pub folder: PathBuf,
    /// The bytes to judge; `None` is `folder/kernel.cu`.
    pub kernel: Option<PathBuf>,
    /// The path that diagnostics show; `None` is the kernel's own.
    pub shown_as: Option<String>,
    /// Where the kernel's `#include "…"` is looked up, after the kernel's own folder and `folder`.
    pub include_dirs: Vec<PathBuf>,
    pub device: Target,
    /// Further options for the compiler.
    pub compile_options: Vec<String>,
    /// Architecture to build for; `None` is the device's own.
    pub arch: Option<String>,
    /// For what outlives a run; `None` is the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// Only the gates, on a start or on shapes that no run has shown: what `lab keep` asks for.
    pub held_out: bool,
    /// Instead of judging, run under these tools; none named are all of the device's.
    pub check: Option<Vec<Tool>>,
    /// The compute-sanitizer to use; `None` is the one that is found.
    pub sanitizer: Option<PathBuf>,
    /// Where to write every tensor as .npy.
    pub dump: Option<PathBuf>,
    /// For the build, and for each launch.
    pub time_limit: Duration,
    /// Fixes what the run draws, to repeat one; `None` draws anew.
    pub seed: Option<u64>,
    /// The kernel to compare with, or its folder; `None` compares with nothing.
    pub incumbent: Option<PathBuf>,
    /// How long is measured.
    pub plan: Plan,
    pub compiler: Program,
    pub worker: Program,
}

impl JudgeOptions {
    /// Everything but the folder as it is without a lab.toml.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        JudgeOptions {
            folder: folder.into(),
            kernel: None,
            shown_as: None,
            include_dirs: Vec::new(),
            device: Target::Auto,
            compile_options: Vec::new(),
            arch: None,
            cache_dir: None,
            held_out: false,
            check: None,
            sanitizer: None,
            dump: None,
            time_limit: Duration::from_secs(60),
            seed: None,
            incumbent: None,
            plan: Plan::default(),
            compiler: Program::this(&["harness-compiler"]),
            worker: Program::this(&["harness-worker"]),
        }
    }
    /// The file to judge.
    pub fn kernel(&self) -> PathBuf {
        self.kernel.clone().unwrap_or_else(|| self.folder.join("kernel.cu"))
    }

    /// Its name in diagnostics.
    pub fn shown_as(&self) -> String {
        self.shown_as.clone().unwrap_or_else(|| self.kernel().display().to_string())
    }

    /// A text about files of the problem, with their paths where the kernel's is shown: what is
    /// judged may be a copy, in a folder that nobody knows.
    pub fn as_shown(&self, text: &str) -> String {
        let Some(shown) = &self.shown_as else { return text.to_owned() };
        let own = |folder: &Path| folder.join("").display().to_string();
        text.replace(
            &own(&self.folder),
            &Path::new(shown).parent().filter(|p| !p.as_os_str().is_empty()).map_or_else(String::new, own),
        )
    }

    /// Every folder that its includes are looked up in.
    pub fn all_include_dirs(&self) -> Vec<PathBuf> {
        let kernel = self.kernel();
        let own = kernel.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut folders = vec![own.to_owned()];
        folders.extend(self.include_dirs_of_problem());
        folders.dedup();
        folders
    }

    /// Those that are the same for every kernel of the problem.
    pub fn include_dirs_of_problem(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone()];
        folders.extend(self.include_dirs.iter().cloned());
        folders
    }

    /// The incumbent's file: the option names the file or the folder that holds its kernel.cu. `None` without an incumbent.
    pub fn incumbent_source(&self) -> Option<PathBuf> {
        let given = self.incumbent.as_ref()?;
        Some(if given.is_dir() { given.join("kernel.cu") } else { given.clone() })
    }
}
