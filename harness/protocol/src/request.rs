//! What a judge is asked to do. The lab sends a request as one line of JSON on the judge's stdin;
//! `lab harness FOLDER` makes one from what a person types. Its paths are UTF-8, as those that the
//! judge sends to its compiler.

use crate::compile_options::CompileOptions;
use crate::language::Language;
use crate::plan::{Discipline, Plan};
use crate::profile::ProfileSet;
use crate::target::Target;
use crate::tool::Tool;
use crate::when::When;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The usual limit for the checks of a peer. With those before it, it is shorter than the limit of
/// a whole run, which would lose its verdict.
const PEER_LIMIT: Duration = Duration::from_secs(5 * 60);

/// What to judge, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeRequest {
    pub kind: JudgeKind,
    /// The problem's folder.
    pub folder: PathBuf,
    /// The file to judge; `None` is kernel.cu in `folder`, or kernel.py if only that is there.
    pub kernel: Option<PathBuf>,
    /// The path that messages show for the kernel; `None` is the kernel's own path.
    pub shown_as: Option<String>,
    /// Folders that stand for the repository: the compiler may read them, so the kernel may include
    /// what is in them.
    pub roots: Vec<PathBuf>,
    /// Further files and folders that the compiler may read, because a trusted lab.toml names them.
    pub readable: Vec<PathBuf>,
    /// The folder is trusted: the kernel may run where no sandbox holds it back, and the compiler
    /// may come from the folder's own `.venv`.
    pub trusted: bool,
    pub device: Target,
    /// Further options for the compiler of the candidate.
    pub compile_options: CompileOptions,
    /// The architecture to build for, as in `sm_90`; `None` is the device's own.
    pub arch: Option<String>,
    /// Folder for what outlives a run; `None` is `lab` in the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// The workloads that are checked and timed: those of this occasion and of the ones before it.
    /// A check on sealed inputs checks all, and times these.
    pub when: When,
    /// Folder into which every tensor is written as .npy; `None` writes none.
    pub dump: Option<PathBuf>,
    /// Folder, which exists, for a file with all cells of each output that a run gets wrong
    /// ([`crate::report::all_cells`]); `None` writes none.
    pub cells: Option<PathBuf>,
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
    /// The Python that runs Python kernels and a reference.py: a path, or a name that PATH leads
    /// to.
    pub python: PathBuf,
    /// The socket of a parent on standby that is this Python (`lab_harness.standby`), which forks the
    /// workers; `None` starts a process for each worker.
    pub python_standby: Option<PathBuf>,
    /// Limit for the start of that Python, and for executing a source, which imports its packages.
    pub load_limit: Duration,
    /// The program that is started as the compiler process.
    pub compiler: Program,
    /// The program that is started as the worker process.
    pub worker: Program,
    /// The judge does what it can ahead, and judges when a second line arrives on its stdin.
    pub on_standby: bool,
    /// The kernel is a point of a sweep: another process builds it before that line arrives, and
    /// nothing is kept. So on standby nothing is made ready for a build or a later check, and the
    /// device is not probed. After a kernel that passes, the judge writes [`EXIT`] and stands by for
    /// the next one, which it judges on the same inputs. A line [`ENOUGH`] ends the measuring of the
    /// present one.
    pub is_swept: bool,
}

/// The key of the last line of a judge that stands by for another kernel: the exit code that it
/// would have ended with.
pub const EXIT: &str = "exit";

/// The order that ends the measuring of the present kernel.
pub const ENOUGH: &str = "enough";

/// The kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeKind {
    /// Judges the kernel and times it by the plan.
    Run,
    /// Judges on so many sealed inputs in a row, which no run has launched: what `lab keep` asks
    /// for. A GPU is timed too, in turns with the incumbent if there is one.
    SealedCheck { runs: usize },
    /// Judges the kernel and measures it alone, with exactly these launches: what `lab bench` asks
    /// for.
    Bench(Discipline),
    /// Builds the kernel once for each further line on stdin, as the file is then, so that a later
    /// judge finds the image in the build cache: what `lab sweep` asks for. After each build it
    /// writes `built: yes` or `built: no`. It launches nothing.
    Build,
    /// Runs the kernel under these tools; an empty list is all tools of the device.
    Check {
        tools: Vec<Tool>,
        /// The compute-sanitizer to use; `None` searches for it.
        sanitizer: Option<PathBuf>,
    },
    /// Profiles one launch of the kernel.
    Profile(ProfileRequest),
}

/// What to profile, and where the result goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileRequest {
    /// The counters.
    pub set: ProfileSet,
    /// The workload, by the problem's own words or by its number from 1; `None` is the largest
    /// timed one. `all` only reads the duration of every timed workload.
    pub workload: Option<String>,
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

impl ProfileRequest {
    /// How long ncu may usually take for the tiny kernel.
    pub const PROOF_LIMIT: Duration = Duration::from_secs(30);

    /// A profile of the largest timed workload, with the usual limits and the ncu of the
    /// environment.
    pub fn new(set: ProfileSet, out: PathBuf) -> Self {
        ProfileRequest {
            set,
            workload: None,
            out,
            keeps_report: false,
            writes_text: false,
            ncu: Self::ncu_of_environment(),
            limit: Duration::from_secs(300),
            proof_limit: Self::PROOF_LIMIT,
        }
    }

    /// The ncu that LAB_NCU names.
    pub fn ncu_of_environment() -> Option<PathBuf> {
        let named = std::env::var_os("LAB_NCU").filter(|named| !named.is_empty());
        named.map(PathBuf::from)
    }

    /// Whether every workload is timed instead of one profiled.
    pub fn is_of_all_workloads(&self) -> bool {
        self.workload.as_deref() == Some("all")
    }
}

/// A program with the arguments that make it a child of the judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    pub args: Vec<String>,
}

impl Program {
    /// This executable itself, under a name that still works after the file was rebuilt or deleted.
    pub fn this(arg: &str) -> Self {
        Program {
            path: PathBuf::from("/proc/self/exe"),
            args: vec![arg.to_owned()],
        }
    }
}

impl JudgeRequest {
    /// A run of the kernel in this folder, as without a lab.toml.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        JudgeRequest {
            kind: JudgeKind::Run,
            folder: folder.into(),
            kernel: None,
            shown_as: None,
            roots: Vec::new(),
            readable: Vec::new(),
            trusted: false,
            device: Target::Auto,
            compile_options: CompileOptions::default(),
            arch: None,
            cache_dir: None,
            when: When::Save,
            dump: None,
            cells: None,
            time_limit: Duration::from_secs(60),
            seed: None,
            incumbent: None,
            peers: false,
            peer_limit: PEER_LIMIT,
            plan: Plan::default(),
            python: "python3".into(),
            python_standby: None,
            load_limit: Duration::from_secs(60),
            compiler: Program::this("harness-compiler"),
            worker: Program::this("harness-worker"),
            on_standby: false,
            is_swept: false,
        }
    }

    /// How many sealed inputs the kernel must pass; `None` where it is judged on others.
    pub fn sealed_runs(&self) -> Option<usize> {
        match self.kind {
            JudgeKind::SealedCheck { runs } => Some(runs),
            _ => None,
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

    /// The incumbent's file. The request names the file, or the folder that holds a kernel of the
    /// candidate's language. `None` without an incumbent.
    pub fn incumbent_source(&self) -> Option<PathBuf> {
        let given = self.incumbent.as_ref()?;
        Some(if given.is_dir() {
            given.join(self.language().kernel_name())
        } else {
            given.clone()
        })
    }

    /// The folders that stand for the repository, or else the git work tree around the problem.
    /// `absolute` makes a path absolute.
    pub fn repository(&self, absolute: fn(&Path) -> PathBuf) -> Vec<PathBuf> {
        if !self.roots.is_empty() {
            return self.roots.iter().map(|root| absolute(root)).collect();
        }
        let folder = absolute(&self.folder);
        let work_tree = folder.ancestors().find(|above| above.join(".git").exists());
        work_tree.map(Path::to_owned).into_iter().collect()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_with_only_a_kernel_in_python_means_it() {
        let folder = tempfile::tempdir().unwrap();
        let request = JudgeRequest::new(folder.path());
        assert_eq!(request.kernel(), folder.path().join("kernel.cu"));
        std::fs::write(folder.path().join("kernel.py"), "").unwrap();
        assert_eq!(
            (request.kernel(), request.language()),
            (folder.path().join("kernel.py"), Language::Python)
        );
        let beside = JudgeRequest {
            incumbent: Some(folder.path().to_owned()),
            ..request.clone()
        };
        assert_eq!(
            beside.incumbent_source(),
            Some(folder.path().join("kernel.py"))
        );
        std::fs::write(folder.path().join("kernel.cu"), "").unwrap();
        assert_eq!(
            (request.kernel(), request.language()),
            (folder.path().join("kernel.cu"), Language::Cuda)
        );
    }

    #[test]
    fn a_request_is_one_line_and_is_read_as_it_was_sent() {
        let odd = PathBuf::from("odd \n folder");
        let options = ["-O3".to_owned(), "-DTILE=32".to_owned()];
        let request = JudgeRequest {
            kind: JudgeKind::Profile(ProfileRequest::new(ProfileSet::Full, odd.join("out"))),
            kernel: Some(odd.join("kernel.cu")),
            roots: vec![odd.clone(), "plain".into()],
            compile_options: CompileOptions::parse(&options).unwrap(),
            device: Target::Cuda(1),
            seed: Some(u64::MAX),
            ..JudgeRequest::new(odd)
        };
        let sent = serde_json::to_string(&request).unwrap();
        assert!(!sent.contains('\n') && sent.contains("\"plain\""), "{sent}");
        assert_eq!(
            serde_json::from_str::<JudgeRequest>(&sent).unwrap(),
            request
        );
    }
}
