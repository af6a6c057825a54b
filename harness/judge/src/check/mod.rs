//! `lab check`: the kernel under tools that watch each access to memory while it runs. It compares no result and times
//! nothing: what it says is not a verdict on correctness but what such a verdict cannot see.
//!
//! Each [`Tool`] wants the kernel built its way and the worker started its way, and leaves what it found in a file of its own,
//! which is read when the worker has ended ([`sanitizer`], [`asan`], [`races`]). The problem launches small ([`Problem::launch_for_check`]).

mod asan;
mod races;
pub mod sanitizer;
mod symbolize;

use crate::options::JudgeOptions;
use crate::outcome::{Correctness, Stop};
use crate::problem::{Problem, ProblemContext};
use crate::process::exec_wrapper;
use crate::worker::Worker;
use lab_device::cpu;
use lab_protocol::report::Writer;
use lab_protocol::{Target, Tool, tool_names};
use sanitizer::Sanitizer;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options that a tool's build adds. A cubin always knows its lines.
pub fn compile_options(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Address => &[cpu::ADDRESS_SANITIZER],
        Tool::Race => &[cpu::THREAD_SANITIZER],
        _ => &[],
    }
}

/// What this machine has for `lab check`, for each device that is here.
pub fn equipment(cuda: bool) -> Vec<lab_device::Finding> {
    let finding = |what: &str, is: Result<String, Stop>| lab_device::Finding {
        what: what.into(),
        // Nothing but `lab check` needs it.
        ok: true,
        remedy: is.as_ref().err().map(ToString::to_string),
        says: is.unwrap_or_else(|_| "lab check lacks something here".into()),
    };
    let on_cpu = asan::library().and_then(|_| symbolize::program());
    let mut all = vec![finding("check, cpu", on_cpu.map(|()| tool_names(Tool::of(Target::Cpu))))];
    if cuda {
        let found = Sanitizer::find().ok_or_else(|| Stop::Lab(sanitizer::REMEDY.into()));
        all.push(finding("check, cuda", found.map(|s| s.path.display().to_string())));
    }
    all
}

/// What a tool found: one mistake, at its place in the source where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFinding {
    pub place: Option<SourceLine>,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    pub file: String,
    pub line: u32,
}

/// A kernel runs so many times slower under a tool that the time limit of a launch is another.
pub fn time_limit(options: &JudgeOptions) -> Duration {
    options.time_limit.max(Duration::from_secs(120))
}

/// Tools take their time to write what they found.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// More findings of one tool are counted, not told.
const TOLD: usize = 20;

/// A tool that is ready to watch a worker.
pub struct ToolRun<'a> {
    tool: Tool,
    options: &'a JudgeOptions,
    image: &'a Path,
    sanitizer: Option<&'a Sanitizer>,
    folder: tempfile::TempDir,
}

impl<'a> ToolRun<'a> {
    pub fn new(
        tool: Tool,
        options: &'a JudgeOptions,
        image: &'a Path,
        sanitizer: Option<&'a Sanitizer>,
    ) -> Result<Self, Stop> {
        let folder = tempfile::tempdir().map_err(|e| Stop::Lab(format!("a temporary folder: {e}")))?;
        Ok(ToolRun { tool, options, image, sanitizer, folder })
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("found")
    }

    /// What the worker's environment must hold.
    pub fn environment(&self) -> Result<Vec<(OsString, OsString)>, Stop> {
        match (self.tool, self.sanitizer) {
            (Tool::Address, _) => asan::environment(&self.log()),
            (Tool::Race, _) => Ok(vec![(cpu::RACE_LOG_VARIABLE.into(), self.log().into())]),
            (tool, Some(sanitizer)) => Ok(vec![exec_wrapper::wrap(&sanitizer.command(tool, &self.log()))]),
            (tool, None) => Err(Stop::Lab(format!("{}: {}", tool.name(), sanitizer::REMEDY))),
        }
    }

    /// Runs the problem's launches on a watched worker, writes what the tool found, and says whether that is nothing.
    pub fn run(
        self,
        problem: &mut dyn Problem,
        cx: &mut ProblemContext,
        worker: Worker,
    ) -> Result<Correctness, Stop> {
        let ran = launch_for_check(problem, cx, worker, self.image);
        let mut read = self.read()?;
        read.findings.sort_by(|a, b| a.place.cmp(&b.place));
        let count = read.findings.len() as u64;
        tell(self.tool, &read.findings, cx.out)?;
        // A kernel that dies of what was found has been found.
        if count == 0 {
            ran.map_err(|stop| self.unfinished(&stop.to_string()))?;
            if let Some(why) = read.unfinished {
                return Err(self.unfinished(&why));
            }
        }
        cx.out.count_gate(&format!("{}_findings", self.tool.name()), count, 0)?;
        Ok(if count == 0 { Correctness::Pass } else { Correctness::Fail })
    }

    fn unfinished(&self, why: &str) -> Stop {
        Stop::Crash(format!("{} did not finish: {why}", self.tool.name()))
    }

    fn read(&self) -> Result<ToolReport, Stop> {
        match self.tool {
            Tool::Address => asan::read(self.folder.path(), self.image),
            Tool::Race => races::read(&self.log(), self.image).map(ToolReport::from),
            _ => {
                let text = fs::read(self.log()).unwrap_or_default();
                let mut read = sanitizer::read(&String::from_utf8_lossy(&text));
                read.findings.iter_mut().flat_map(|f| &mut f.place).for_each(|p| {
                    p.file = as_shown(&p.file, self.options);
                });
                Ok(read)
            }
        }
    }
}

/// What a tool's file says.
#[derive(Debug, Default, PartialEq)]
pub struct ToolReport {
    pub findings: Vec<ToolFinding>,
    /// Why what is missing there means nothing.
    pub unfinished: Option<String>,
}

impl From<Vec<ToolFinding>> for ToolReport {
    fn from(findings: Vec<ToolFinding>) -> Self {
        ToolReport { findings, unfinished: None }
    }
}

fn launch_for_check(
    problem: &mut dyn Problem,
    cx: &mut ProblemContext,
    mut worker: Worker,
    image: &Path,
) -> Result<(), Stop> {
    let module = worker.load(image)?;
    let ran = problem.launch_for_check(cx, &mut worker, module);
    worker.close_and_wait(LAST_WORDS);
    ran
}

/// The built file lies in a snapshot, which nobody knows.
fn as_shown(file: &str, options: &JudgeOptions) -> String {
    let path = Path::new(file);
    let snapshot = path.file_name().is_some_and(|name| name == "kernel.cu") && file.contains("/snapshots/");
    if snapshot { options.shown_as() } else { options.as_shown(file) }
}

/// In the compilers' form, so that whoever finds theirs finds these.
fn tell(tool: Tool, findings: &[ToolFinding], out: &mut Writer) -> Result<(), Stop> {
    for ToolFinding { place, what } in findings.iter().take(TOLD) {
        let name = tool.name();
        match place {
            Some(SourceLine { file, line }) => {
                out.text(&format!("{file}({line}): error: [{name}] {what}"))?
            }
            None => out.text(&format!("error: [{name}] {what} (at a place that the tool does not name)"))?,
        }
    }
    if findings.len() > TOLD {
        out.text(&format!("{} findings of {} more", findings.len() - TOLD, tool.name()))?;
    }
    Ok(())
}
