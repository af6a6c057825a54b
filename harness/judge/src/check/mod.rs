//! `lab check`: runs the kernel under tools that watch each memory access. It compares no results
//! and times nothing. Its findings are mistakes that a verdict on correctness may not see.
//!
//! Each [`Tool`] needs its own build of the kernel and its own way to start the worker. It writes
//! its findings to a file, which is read after the worker has ended (`sanitizer`, `asan`, `races`).
//! The problem makes its launches small (`Problem::watched`).

mod asan;
mod races;
pub mod sanitizer;
mod symbolize;
mod unwatched;

use crate::outcome::{OrLab, Result, Stop, verdict_of};
use crate::problem::{ProblemContext, Watched};
use crate::process::child::LineSink;
use crate::process::exec_wrapper;
use crate::process::private_folder::PrivateFolder;
use crate::profile::shown_files;
use crate::worker::{WatchingTool, Worker, WorkerProgram};
use lab_device::cpu::{self, Executed};
use lab_device::{DeviceInfo, Sanitizer};
use lab_protocol::JudgeRequest;
use lab_protocol::report::Writer;
use lab_protocol::{Target, Tool, tool_names};
use lab_system::root::Root;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
pub use unwatched::WatchedCode;

/// The instrumentation that a tool needs. A GPU's image always holds its source lines, so the tools
/// of a GPU need none.
pub fn instrumentation(tool: Tool) -> Option<Sanitizer> {
    match tool {
        Tool::Address => Some(Sanitizer::Address),
        Tool::Race => Some(Sanitizer::Thread),
        Tool::Memcheck | Tool::Racecheck | Tool::Initcheck | Tool::Synccheck => None,
    }
}

/// What this machine has for `lab check`: one finding for the cpu device, and one for CUDA if
/// `cuda` is set.
pub fn equipment(cuda: bool) -> Vec<lab_device::Finding> {
    let finding = |what: &str, is: Result<String>| lab_device::Finding {
        what: what.into(),
        // Only `lab check` needs these, so nothing counts as missing.
        ok: true,
        remedy: is.as_ref().err().map(ToString::to_string),
        public: match is {
            Ok(_) => "found",
            Err(_) => "missing",
        }
        .into(),
        says: is.unwrap_or_else(|_| "lab check lacks a program here".into()),
    };
    let on_cpu = asan::library().and_then(|_| symbolize::program());
    let mut all = vec![finding(
        "check, cpu",
        on_cpu.map(|()| tool_names(Tool::of(Target::Cpu))),
    )];
    if cuda {
        let found = sanitizer::find().ok_or_else(|| Stop::Lab(sanitizer::REMEDY.into()));
        all.push(finding(
            "check, cuda",
            found.map(|path| path.display().to_string()),
        ));
    }
    all
}

/// A mistake that a tool found, with its place in the source if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFinding {
    /// Where the mistake is; `None` if the tool does not say.
    pub place: Option<SourceLine>,
    /// What is wrong, as in `a write of size 4, 0 bytes after 1024-byte region`.
    pub what: String,
}

/// A line of a source file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// The path that is shown to the user.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// The limit for a launch. A kernel runs many times slower under a tool.
pub fn time_limit(options: &JudgeRequest) -> Duration {
    options.time_limit.max(Duration::from_secs(120))
}

/// How long a tool may take to write its findings.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

/// Most findings of a tool that are shown. Further ones are counted.
const SHOWN: usize = 20;

/// One tool, ready to watch a worker.
pub struct ToolRun<'a> {
    tool: Tool,
    options: &'a JudgeRequest,
    image: &'a Path,
    sanitizer: Option<&'a Path>,
    cache_dir: &'a Path,
    folder: PrivateFolder,
    /// The race detector looks at so many accesses of a launch; `None` for all.
    most_accesses: Option<u64>,
}

impl<'a> ToolRun<'a> {
    /// A tool that will watch a worker running `image`, and write its findings to a new folder in
    /// `cache_dir`. `sanitizer` is needed for the tools of compute-sanitizer.
    pub fn new(
        tool: Tool,
        options: &'a JudgeRequest,
        image: &'a Path,
        sanitizer: Option<&'a Path>,
        cache_dir: &'a Path,
    ) -> Result<Self> {
        Ok(ToolRun {
            tool,
            options,
            image,
            sanitizer,
            cache_dir,
            folder: PrivateFolder::for_tool(cache_dir)?,
            most_accesses: None,
        })
    }

    /// Makes the race detector look at so many accesses of each launch only, or at all.
    #[must_use]
    pub fn in_part(mut self, most_accesses: Option<u64>) -> Self {
        self.most_accesses = most_accesses;
        self
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("found")
    }

    /// Starts a worker that the tool watches. `limit` is for each of its launches.
    pub fn start(&self, target: Target, limit: Duration, output: LineSink) -> Result<Worker> {
        let tool = WatchingTool {
            environment: self.environment()?,
            folder: self.folder.path().to_owned(),
            is_foreign: self.tool != Tool::Race,
            is_profiler: false,
        };
        let program = WorkerProgram::Watched(&self.options.worker, &tool);
        Worker::start(program, target, limit, self.cache_dir, output)?.ready()
    }

    /// The environment variables for the worker.
    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        match (self.tool, self.sanitizer) {
            (Tool::Address, _) => asan::environment(&self.log()),
            (Tool::Race, _) => {
                let log = (cpu::RACE_LOG_VARIABLE.into(), self.log().into());
                let most = self.most_accesses.map(|most| most.to_string().into());
                let most = most.map(|most| (cpu::MOST_RACE_ACCESSES_VARIABLE.into(), most));
                Ok([log].into_iter().chain(most).collect())
            }
            (tool, Some(program)) => Ok(vec![exec_wrapper::wrap(&sanitizer::command(
                program,
                tool,
                &self.log(),
            ))]),
            (tool, None) => Err(Stop::Lab(format!("{}: {}", tool.name(), sanitizer::REMEDY))),
        }
    }

    /// Runs the problem's launches on a worker under the tool and writes the findings. Returns
    /// [`Stop::Wrong`] if there are any, and [`Stop::Crash`] if the tool did not finish and found
    /// nothing.
    pub fn run(self, problem: &Watched, cx: &mut ProblemContext, worker: Worker) -> Result {
        let findings = self.find(problem, cx, worker)?;
        write_verdict(self.tool, &findings, cx.out)
    }

    /// Runs the problem's launches on a worker under the tool, and returns what the tool found, in
    /// the order of lines. Returns [`Stop::Crash`] if the tool did not finish and found nothing.
    pub fn find(
        &self,
        problem: &Watched,
        cx: &mut ProblemContext,
        worker: Worker,
    ) -> Result<Vec<ToolFinding>> {
        let ran = launch_for_check(problem, cx, worker, self.image);
        let mut read = self.read()?;
        read.findings.sort_by(|a, b| a.place.cmp(&b.place));
        // A kernel that dies of the mistake that was found counts as a finding.
        if read.findings.is_empty() {
            ran.map_err(|stop| self.unfinished(&stop.to_string()))?;
            if let Some(why) = read.unfinished {
                return Err(self.unfinished(&why));
            }
        }
        Ok(read.findings)
    }

    /// [`ToolRun::find`] beside a run: the problem's lines go nowhere, and it starts and builds
    /// nothing further.
    pub fn find_beside(
        &self,
        problem: &Watched,
        device: &DeviceInfo,
        seed: u64,
        worker: Worker,
    ) -> Result<Vec<ToolFinding>> {
        let name = self.tool.name();
        let refuse = || Stop::Lab(format!("{name} starts and builds nothing further"));
        let mut cx = ProblemContext {
            memory: None,
            device,
            figures: None,
            cache_dir: self.cache_dir,
            seed,
            seed_is_fixed: self.options.seed.is_some(),
            is_swept: false,
            is_enough: &AtomicBool::new(false),
            out: &mut Writer::new(io::sink()),
            spawn_worker: &mut |_| Err(refuse()),
            build: &mut |_, _| Err(refuse()),
        };
        self.find(problem, &mut cx, worker)
    }

    /// What the launches under the race detector executed, if they ended.
    pub fn executed(&self) -> Result<Executed> {
        races::executed(&self.log())
    }

    /// What the launches under the race detector read outside of tensors.
    pub fn outside(&self, problem: &Watched) -> Result<Vec<ToolFinding>> {
        races::outside(&self.log(), self.image, problem)
    }

    fn unfinished(&self, why: &str) -> Stop {
        Stop::Crash(format!("{} did not finish: {why}", self.tool.name()))
    }

    fn read(&self) -> Result<ToolReport> {
        match self.tool {
            Tool::Address => asan::read(self.folder.path(), self.image),
            Tool::Race => races::read(&self.log(), self.image).map(ToolReport::from),
            Tool::Memcheck | Tool::Racecheck | Tool::Initcheck | Tool::Synccheck => {
                let text = read_if_there(&self.log())?;
                let mut read = sanitizer::read(&String::from_utf8_lossy(&text));
                for place in read.findings.iter_mut().flat_map(|f| &mut f.place) {
                    place.file = shown_files::shown(&place.file, self.options);
                }
                Ok(read)
            }
        }
    }
}

/// What a tool's file says.
#[derive(Debug, Default, PartialEq)]
pub struct ToolReport {
    /// What the tool found.
    pub findings: Vec<ToolFinding>,
    /// Why the absence of findings means nothing; `None` if the tool finished.
    pub unfinished: Option<String>,
}

impl From<Vec<ToolFinding>> for ToolReport {
    fn from(findings: Vec<ToolFinding>) -> Self {
        ToolReport {
            findings,
            unfinished: None,
        }
    }
}

/// Most bytes of a tool's findings that are read.
const FINDINGS_LIMIT: u64 = 64 << 20;

/// Reads a file of the folder that the kernel's process could write to: a plain file of at most so
/// many bytes, and no link.
pub(crate) fn read_findings(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    Root::new(folder).read(name.as_ref(), limit)
}

/// The bytes of a tool's file; empty if the tool wrote none. Any other error is an error: an
/// unreadable file must not count as one without findings.
fn read_if_there(path: &Path) -> Result<Vec<u8>> {
    match read_findings(path, FINDINGS_LIMIT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.or_lab(|| unreadable(path)),
    }
}

fn unreadable(findings: &Path) -> String {
    format!("the findings in {} cannot be read", findings.display())
}

fn launch_for_check(
    problem: &Watched,
    cx: &mut ProblemContext,
    mut worker: Worker,
    image: &Path,
) -> Result {
    let module = worker.load(image)?;
    let ran = problem.launch_for_check(cx, &mut worker, module);
    worker.close_and_wait(WRITE_LIMIT);
    ran
}

/// Writes findings, and the gate that counts them.
pub fn write_verdict(tool: Tool, findings: &[ToolFinding], out: &mut Writer) -> Result {
    write_findings(tool, findings, out)?;
    let count = findings.len() as u64;
    out.count_gate(&format!("{}_findings", tool.name()), count, 0)?;
    verdict_of(count == 0)
}

/// Writes findings in the form of compiler messages, so that whatever shows compiler errors at
/// their lines shows these too.
pub fn write_findings(tool: Tool, findings: &[ToolFinding], out: &mut Writer) -> Result {
    for ToolFinding { place, what } in findings.iter().take(SHOWN) {
        let name = tool.name();
        match place {
            Some(SourceLine { file, line }) => {
                out.text(&format!("{file}({line}): error: [{name}] {what}"))?;
            }
            None => out.text(&format!(
                "error: [{name}] {what} (the tool names no source line)"
            ))?,
        }
    }
    if findings.len() > SHOWN {
        out.text(&format!(
            "{} further findings of {} are not shown",
            findings.len() - SHOWN,
            tool.name()
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn findings_are_read_from_a_plain_file_of_a_limited_size_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("found"), "12345").unwrap();
        assert_eq!(read_findings(&path("found"), 5).unwrap(), b"12345");
        assert!(read_findings(&path("found"), 4).is_err());
        std::os::unix::fs::symlink(path("found"), path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        for name in ["link", "endless", "pipe"] {
            assert!(read_findings(&path(name), 5).is_err(), "{name}");
            assert!(read_if_there(&path(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn findings_that_cannot_be_read_are_an_error_and_missing_ones_are_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_if_there(&folder.path().join("missing")).unwrap(), b"");
        // A folder can be opened and not read, for root too.
        assert!(
            read_if_there(folder.path())
                .is_err_and(|stop| stop.to_string().contains("cannot be read"))
        );
        assert!(races::read(folder.path(), Path::new("image")).is_err());
    }
}
