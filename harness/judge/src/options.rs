//! What a judge is asked to do.

use crate::measure::plan::{Plan, Trials};
use crate::process::child::Program;
use crate::worker::Interpreter;
use lab_device::Sanitizer;
use lab_protocol::CompileOptions;
use lab_protocol::Language;
use lab_protocol::Target;
use lab_protocol::Tool;
use lab_protocol::When;
use lab_protocol::profile::ProfileSet;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The usual limit for the checks of a peer. With those before it, it is shorter than the limit of
/// a whole run, which would lose its verdict.
const PEER_LIMIT: Duration = Duration::from_secs(5 * 60);

/// What to judge, and how.
#[derive(Clone, Debug)]
pub struct JudgeOptions {
    /// The problem's folder.
    pub folder: PathBuf,
    /// The file to judge; `None` is kernel.cu in `folder`, or kernel.py if only that is there.
    pub kernel: Option<PathBuf>,
    /// The path that messages show for the kernel; `None` is the kernel's own path.
    pub shown_as: Option<String>,
    /// Folders in which the kernel's `#include "…"` is looked up, after the kernel's own folder and
    /// `folder`.
    pub include_dirs: Vec<PathBuf>,
    /// Folders that stand for the repository: the compiler may read them, so the kernel may include
    /// what is in them.
    pub roots: Vec<PathBuf>,
    /// Further files and folders that the compiler may read, because a trusted lab.toml names them.
    pub readable: Vec<PathBuf>,
    /// The folder is trusted: the kernel may run where no sandbox holds it back, and the compiler
    /// may come from the folder's own `.venv`.
    pub trusted: bool,
    /// The device to run on.
    pub device: Target,
    /// Further options for the compiler of the candidate.
    pub compile_options: CompileOptions,
    /// The instrumentation of the candidate, which a tool asks for.
    pub instrumentation: Option<Sanitizer>,
    /// The architecture to build for, as in `sm_90`; `None` is the device's own.
    pub arch: Option<String>,
    /// Folder for what outlives a run; `None` is `lab` in the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// The workloads that are checked and timed: those of this occasion and of the ones before it.
    /// With `held_out` all are checked, and these are timed.
    pub when: When,
    /// Judges on sealed inputs, which no run has launched: what `lab keep` asks for. A GPU is timed
    /// too, in turns with the incumbent if there is one.
    pub held_out: bool,
    /// Sealed inputs that the kernel must pass in a row; at least 1. Only for `held_out`.
    pub sealed: usize,
    /// Instead of judging, runs the kernel under these tools; an empty list is all tools of the
    /// device.
    pub check: Option<Vec<Tool>>,
    /// Instead of judging, profiles one launch of the kernel.
    pub profile: Option<ProfileRequest>,
    /// The compute-sanitizer to use; `None` searches for it.
    pub sanitizer: Option<PathBuf>,
    /// Folder into which every tensor is written as .npy; `None` writes none.
    pub dump: Option<PathBuf>,
    /// Limit for the build, and for each launch.
    pub time_limit: Duration,
    /// The seed of inputs, start states and orders, to repeat a run; `None` draws a seed.
    pub seed: Option<u64>,
    /// The kernel to compare with, or its folder; `None` compares with nothing.
    pub incumbent: Option<PathBuf>,
    /// Also times the candidate beside the problem's peers.
    pub peers: bool,
    /// How long a peer may take for its checks. A peer is left out if those before it took twice as
    /// long.
    pub peer_limit: Duration,
    /// How long to measure.
    pub plan: Plan,
    /// Measures the candidate alone, with exactly these launches, instead of by `plan`: what
    /// `lab bench` asks for.
    pub discipline: Option<Trials>,
    /// The Python that runs Python kernels and a reference.py: a path, or a name that PATH leads
    /// to; `None` is python3.
    pub python: Option<PathBuf>,
    /// The socket of a parent on standby that is this Python (`lab_harness.standby`); `None` starts
    /// each worker anew.
    pub python_standby: Option<PathBuf>,
    /// Limit for the start of that Python, and for executing a source, which imports its packages.
    pub load_limit: Duration,
    /// The program that is started as the compiler process.
    pub compiler: Program,
    /// The program that is started as the worker process.
    pub worker: Program,
}

impl JudgeOptions {
    /// The options that hold without a lab.toml.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        JudgeOptions {
            folder: folder.into(),
            kernel: None,
            shown_as: None,
            include_dirs: Vec::new(),
            roots: Vec::new(),
            readable: Vec::new(),
            trusted: false,
            device: Target::Auto,
            compile_options: CompileOptions::default(),
            instrumentation: None,
            arch: None,
            cache_dir: None,
            when: When::Save,
            held_out: false,
            sealed: 1,
            check: None,
            profile: None,
            sanitizer: None,
            dump: None,
            time_limit: Duration::from_secs(60),
            seed: None,
            incumbent: None,
            peers: false,
            peer_limit: PEER_LIMIT,
            plan: Plan::default(),
            discipline: None,
            python: None,
            python_standby: None,
            load_limit: Duration::from_secs(60),
            compiler: Program::this(&["harness-compiler"]),
            worker: Program::this(&["harness-worker"]),
        }
    }

    /// The file to judge.
    pub fn kernel(&self) -> PathBuf {
        self.kernel
            .clone()
            .unwrap_or_else(|| only_kernel(&self.folder))
    }

    /// The language of the kernel.
    pub fn language(&self) -> Language {
        Language::of(self.kernel())
    }

    /// The Python for a worker.
    pub fn interpreter(&self) -> Interpreter {
        let named = self.python.clone().unwrap_or_else(|| "python3".into());
        // A worker has another current folder. A link stays what it is: it may be the Python of a
        // virtual environment.
        let is_path = named.components().count() > 1;
        let absolute = is_path.then(|| std::path::absolute(&named).ok()).flatten();
        let modules = self.module_folders();
        Interpreter {
            program: absolute.unwrap_or(named),
            load_limit: self.load_limit,
            modules,
            standby: self.python_standby.clone(),
        }
    }

    /// The folders in which Python finds the modules of the repository: the kernel's, and those
    /// that stand for the repository, or else the git work tree around the problem.
    fn module_folders(&self) -> Vec<PathBuf> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut folders: Vec<PathBuf> = absolute(&self.kernel())
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .collect();
        folders.extend(self.roots.iter().map(|root| absolute(root)));
        if self.roots.is_empty() {
            let folder = absolute(&self.folder);
            folders.extend(
                folder
                    .ancestors()
                    .find(|above| above.join(".git").exists())
                    .map(Path::to_owned),
            );
        }
        folders.dedup();
        folders
    }

    /// The kernel's path in messages.
    pub fn shown_as(&self) -> String {
        self.shown_as
            .clone()
            .unwrap_or_else(|| self.kernel().display().to_string())
    }

    /// Replaces the problem folder's path in `text` by the folder that is shown. What is judged may
    /// be a copy in a folder that the user does not know.
    pub fn as_shown(&self, text: &str) -> String {
        let Some(shown) = &self.shown_as else {
            return text.to_owned();
        };
        // The text of a folder such as `.` stands for much else.
        if !self
            .folder
            .components()
            .any(|part| matches!(part, Component::Normal(_)))
        {
            return text.to_owned();
        }
        let own = |folder: &Path| folder.join("").display().to_string();
        let folder = Path::new(shown)
            .parent()
            .filter(|p| !p.as_os_str().is_empty());
        let files = text.replace(&own(&self.folder), &folder.map_or_else(String::new, own));
        // The folder itself, with no file after it.
        let itself = folder
            .unwrap_or(Path::new("this folder"))
            .display()
            .to_string();
        files.replace(&self.folder.display().to_string(), &itself)
    }

    /// Every folder in which the kernel's includes are looked up.
    pub fn all_include_dirs(&self) -> Vec<PathBuf> {
        let kernel = self.kernel();
        let own = kernel
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut folders = vec![own.to_owned()];
        folders.extend(self.include_dirs_of_problem());
        folders.dedup();
        folders
    }

    /// The include folders that are the same for every kernel of the problem.
    pub fn include_dirs_of_problem(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone()];
        folders.extend(self.include_dirs.iter().cloned());
        folders
    }

    /// The incumbent's file. The option names the file, or the folder that holds a kernel of the
    /// candidate's language. `None` without an incumbent.
    pub fn incumbent_source(&self) -> Option<PathBuf> {
        let given = self.incumbent.as_ref()?;
        Some(if given.is_dir() {
            given.join(self.language().kernel_name())
        } else {
            given.clone()
        })
    }
}

/// The kernel.py of a folder that has no kernel.cu, else its kernel.cu, which may be missing.
fn only_kernel(folder: &Path) -> PathBuf {
    let [cuda, python] = [Language::Cuda, Language::Python].map(|of| folder.join(of.kernel_name()));
    if python.exists() && !cuda.exists() {
        python
    } else {
        cuda
    }
}

/// What to profile, and where the result goes.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The counters.
    pub set: ProfileSet,
    /// The workload, by the problem's own words or by its number from 1; `None` is the largest
    /// timed one.
    pub workload: Option<String>,
    /// Every timed workload, of which only the duration is read.
    pub all_workloads: bool,
    /// The folder for profile.json, which exists.
    pub out: PathBuf,
    /// Also writes ncu's report into that folder.
    pub keeps_report: bool,
    /// Also writes ncu's own text into that folder.
    pub writes_text: bool,
    /// The ncu to use, on any device; `None` searches for one where the device is a GPU.
    pub ncu: Option<PathBuf>,
    /// How long ncu may take for its launch.
    pub limit: Duration,
    /// How long ncu may take for the tiny kernel that proves that counters can be read.
    pub proof_limit: Duration,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_with_only_a_kernel_in_python_means_it() {
        let folder = tempfile::tempdir().unwrap();
        let options = JudgeOptions::new(folder.path());
        assert_eq!(options.kernel(), folder.path().join("kernel.cu"));
        std::fs::write(folder.path().join("kernel.py"), "").unwrap();
        assert_eq!(
            (options.kernel(), options.language()),
            (folder.path().join("kernel.py"), Language::Python)
        );
        let beside = JudgeOptions {
            incumbent: Some(folder.path().to_owned()),
            ..options.clone()
        };
        assert_eq!(
            beside.incumbent_source(),
            Some(folder.path().join("kernel.py"))
        );
        std::fs::write(folder.path().join("kernel.cu"), "").unwrap();
        assert_eq!(
            (options.kernel(), options.language()),
            (folder.path().join("kernel.cu"), Language::Cuda)
        );
    }

    #[test]
    fn a_relative_path_of_python_holds_in_another_folder_and_a_name_is_looked_up() {
        let named = |python: &str| {
            let options = JudgeOptions {
                python: Some(python.into()),
                ..JudgeOptions::new("x")
            };
            options.interpreter().program
        };
        assert_eq!(named("python3.12"), Path::new("python3.12"));
        assert!(named(".venv/bin/python").is_absolute() && named("./python").is_absolute());
        assert_eq!(
            JudgeOptions::new("x").interpreter().program,
            Path::new("python3")
        );
    }

    #[test]
    fn modules_are_those_of_the_kernels_folder_and_of_the_repository() {
        let repo = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(repo.path().join("k/deep")).unwrap();
        std::fs::create_dir(repo.path().join(".git")).unwrap();
        let mut options = JudgeOptions::new(repo.path().join("k"));
        assert_eq!(
            options.interpreter().modules,
            [repo.path().join("k"), repo.path().to_owned()]
        );
        options.kernel = Some(repo.path().join("k/deep/kernel.py"));
        options.roots = vec!["/copy".into()];
        assert_eq!(
            options.interpreter().modules,
            [repo.path().join("k/deep"), "/copy".into()]
        );
    }
}
