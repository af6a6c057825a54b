//! `lab harness`: runs the built-in harness alone.

use super::{code, complain};
use clap::Args;
use lab_judge::judge;
use lab_project::{Project, kernel_file, python, trust};
use lab_protocol::plan::Plan;
use lab_protocol::{CompileOptions, Exit, JudgeKind, JudgeRequest, Target, When};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct HarnessArgs {
    /// Folder of the problem: problem.toml, kernel.cu or kernel.py, reference.cu or reference.py
    #[arg(required_unless_present = "request")]
    folder: Option<PathBuf>,
    /// Read what to do from stdin: a line of JSON, then the start signal of a judge on standby
    #[arg(long, hide = true, exclusive = true)]
    request: bool,
    /// Judge this file instead of the folder's kernel.cu, or kernel.py if only that is there; a .py
    /// file is Python
    #[arg(long)]
    kernel: Option<PathBuf>,
    /// A folder that stands for the repository: the kernel may include its files; may be given
    /// several times [default: the git work tree around FOLDER]
    #[arg(long = "root", value_name = "FOLDER")]
    roots: Vec<PathBuf>,
    /// Run the kernel also where Linux cannot confine it, as every Python kernel
    #[arg(long)]
    trusted: bool,
    /// The path to show in diagnostics
    #[arg(long, value_name = "PATH")]
    shown_as: Option<String>,
    /// auto, cpu, cuda, cuda:1
    #[arg(long, default_value = "auto")]
    device: Target,
    /// An option for the compiler; may be given several times
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Architecture to build for, as in sm_90
    #[arg(long)]
    arch: Option<String>,
    /// Seconds for the build, and for each launch
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    time_limit: Duration,
    /// The Python for Python kernels and a reference.py, with NumPy [default: LAB_PYTHON, else
    /// python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// The socket of a parent on standby that is this Python
    #[arg(long, value_name = "SOCKET", hide = true)]
    python_standby: Option<PathBuf>,
    /// Seconds for the start of Python, and for executing a Python kernel with its imports
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    load_limit: Duration,
    /// Write every tensor into this folder as .npy
    #[arg(long, value_name = "FOLDER")]
    dump: Option<PathBuf>,
    /// Check and time the workloads that problem.toml wants judged at this occasion, and at the
    /// ones before it: save, measure, keep
    #[arg(long, value_name = "OCCASION", default_value = "save")]
    when: When,
    /// Judge on sealed inputs, which no run has launched, as `lab keep` does
    #[arg(long)]
    held_out: bool,
    /// With --held-out: sealed inputs that the kernel must pass in a row
    #[arg(long, value_name = "N", default_value = "1", requires = "held_out", value_parser = sealed)]
    sealed: usize,
    /// Use the random inputs of the run with this seed
    #[arg(long)]
    seed: Option<u64>,
    /// Compare with this kernel, or with the kernel.cu or kernel.py of this folder
    #[arg(long, value_name = "PATH")]
    incumbent: Option<PathBuf>,
    /// Also time the kernel beside the problem's peers, `[[peer]]` in problem.toml
    #[arg(long)]
    peers: bool,
    /// Time for timed launches in milliseconds
    #[arg(long, value_name = "MS", default_value = "250")]
    budget_ms: u64,
    /// Prepare, then judge when a line arrives on stdin
    #[arg(long, hide = true)]
    standby: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a number of seconds above 0");
    let number: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|d| !d.is_zero())
        .ok_or_else(wrong)
}

fn sealed(text: &str) -> Result<usize, String> {
    let wrong = || format!("'{text}' is not a number from 1 to 64");
    text.parse()
        .ok()
        .filter(|n| (1..=64).contains(n))
        .ok_or_else(wrong)
}

pub fn main(given: HarnessArgs) -> ExitCode {
    let mut stdin = BufReader::new(io::stdin());
    let request = match given.request {
        true => sent(&mut stdin),
        false => given.into_request(),
    };
    match request {
        Ok(request) => code(judge::main(request, stdin)),
        Err(why) => {
            complain(&why);
            code(Exit::Usage)
        }
    }
}

/// The request of the lab that started this judge.
fn sent(stdin: &mut impl BufRead) -> Result<JudgeRequest, String> {
    let mut line = String::new();
    let read = stdin.read_line(&mut line).map_err(|e| e.to_string());
    let request = read.and_then(|_| serde_json::from_str(&line).map_err(|e| e.to_string()));
    request.map_err(|why| format!("the request cannot be read: {why}"))
}

impl HarnessArgs {
    /// What a person asks for.
    fn into_request(self) -> Result<JudgeRequest, String> {
        let folder = self.folder.unwrap_or_default();
        let kernel = match self.kernel {
            Some(kernel) => Some(kernel),
            None => kernel_of(&folder)?,
        };
        let incumbent = self
            .incumbent
            .map(|path| incumbent_of(path, kernel.as_deref()))
            .transpose()?;
        let kind = if self.held_out {
            JudgeKind::SealedCheck { runs: self.sealed }
        } else {
            JudgeKind::Run
        };
        let python = self.python.or_else(|| {
            let named = std::env::var_os(python::VARIABLE).filter(|named| !named.is_empty());
            named.map(PathBuf::from)
        });
        Ok(JudgeRequest {
            kind,
            kernel,
            incumbent,
            trusted: self.trusted || (self.roots.is_empty() && is_trusted(&folder)),
            roots: self.roots,
            shown_as: self.shown_as,
            device: self.device,
            compile_options: CompileOptions::parse(&self.options)
                .map_err(|refused| format!("--option: {refused}"))?,
            arch: self.arch,
            time_limit: self.time_limit,
            dump: self.dump,
            python: python.unwrap_or_else(|| python::USUAL.into()),
            load_limit: self.load_limit,
            when: self.when,
            seed: self.seed,
            peers: self.peers,
            plan: Plan {
                budget: Duration::from_millis(self.budget_ms),
                ..Plan::default()
            },
            python_standby: self.python_standby,
            on_standby: self.standby,
            ..JudgeRequest::new(folder)
        })
    }
}

/// The kernel of a folder, if it holds one. The error tells the user that it holds two.
fn kernel_of(folder: &Path) -> Result<Option<PathBuf>, String> {
    // Where there is none, the judge says what is missing.
    kernel_file::in_folder(folder).map_err(|both| {
        let [cuda, python] = both.map(|file| file.display().to_string());
        format!(
            "{} holds kernel.cu and kernel.py: name one of them with --kernel {cuda} or --kernel {python}",
            folder.display()
        )
    })
}

/// The file of an incumbent that is given by its path or by its folder: in a folder with two
/// kernels the one that is called as the candidate is.
fn incumbent_of(given: PathBuf, candidate: Option<&Path>) -> Result<PathBuf, String> {
    if !given.is_dir() {
        return Ok(given);
    }
    let same_name = candidate
        .and_then(Path::file_name)
        .map(|name| given.join(name));
    match same_name.filter(|file| file.is_file()) {
        Some(file) => Ok(file),
        None => Ok(kernel_of(&given)?.unwrap_or(given)),
    }
}

/// Whether the user trusts the repository that a folder lies in. False where there is none.
pub fn is_trusted(folder: &Path) -> bool {
    Project::of_any(folder).is_ok_and(|project| trust::is_granted(&project))
}
