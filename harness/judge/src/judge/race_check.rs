//! The race detector beside a run on the cpu device: threads run one after another there, so a lost
//! update gives the right result in every order that is tried.
//!
//! An instrumented build of the candidate launches one small case while the run builds and verifies
//! the candidate itself. The detector needs one core, and finds the same races in any order of
//! threads.

use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::processes::{arch, start_compiler};
use crate::check::{self, ToolFinding, ToolRun};
use crate::compiler::Compiler;
use crate::options::JudgeOptions;
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, ProblemContext};
use crate::process::child::LineSink;
use crate::sink::SharedSink;
use crate::worker::Worker;
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use lab_protocol::{Language, Target, Tool};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest launch under the detector. A kernel whose small case takes longer is not checked.
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);

/// A compiler that is ready for instrumented builds.
pub struct RaceCheck {
    compiler: Compiler,
    case: RaceCase,
}

/// What the check needs to know of the run.
#[derive(Clone)]
struct RaceCase {
    options: JudgeOptions,
    device: DeviceInfo,
    cache_dir: PathBuf,
    seed: u64,
}

/// A check that is running on its own thread.
pub struct RunningRaceCheck {
    thread: JoinHandle<Result<Vec<ToolFinding>, Stop>>,
}

impl RaceCheck {
    /// Starts the compiler's process. `None` on a GPU, where compute-sanitizer's racecheck takes
    /// seconds: `lab check` runs it. `None` for a kernel in Python, which has no threads of a
    /// block.
    pub fn new(
        options: &JudgeOptions,
        device: &DeviceInfo,
        cache_dir: &Path,
        seed: u64,
    ) -> Result<Option<RaceCheck>, Stop> {
        if !device.emulated || options.held_out || options.language() == Language::Python {
            return Ok(None);
        }
        let mut options = options.clone();
        options.instrumentation = check::instrumentation(Tool::Race);
        // The run's own compiler prints the same.
        let silent = SharedSink::new(io::sink());
        let compiler = start_compiler(&options, Target::Cpu, &silent)?;
        let case = RaceCase {
            options,
            device: device.clone(),
            cache_dir: cache_dir.to_owned(),
            seed,
        };
        Ok(Some(RaceCheck { compiler, case }))
    }

    /// Lets the compiler prepare for the build.
    pub fn warm_up(self) -> Result<RaceCheck, Stop> {
        let RaceCheck { compiler, case } = self;
        let mut problem = problem::open(&case.options.folder)?;
        problem.shrink_for_races(&case.device)?;
        let needs = problem.build_needs(&case.device);
        let mut builder = case.builder(compiler);
        builder.warm_up(&needs)?;
        let compiler = builder
            .compiler
            .ok_or_else(|| Stop::Lab("the compiler process has ended".into()))?;
        Ok(RaceCheck { compiler, case })
    }

    /// Returns whether the compiler's process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.compiler.is_alive()
    }

    /// Begins the check of this kernel.
    pub fn start(self, snapshot: Arc<KernelSnapshot>) -> Result<RunningRaceCheck, Stop> {
        let RaceCheck { compiler, case } = self;
        let thread = std::thread::Builder::new()
            .name("races".into())
            .spawn(move || case.find(compiler, &snapshot))
            .map_err(|e| {
                Stop::Lab(format!(
                    "a thread for the race detector cannot be started: {e}"
                ))
            })?;
        Ok(RunningRaceCheck { thread })
    }
}

impl RaceCase {
    fn builder(&self, compiler: Compiler) -> KernelBuilder<'_> {
        let arch = arch(&self.options, &self.device);
        KernelBuilder {
            compiler: Some(compiler),
            options: &self.options,
            cache_dir: &self.cache_dir,
            arch,
        }
    }

    /// Builds the kernel, launches the small case, and returns the races.
    fn find(
        &self,
        compiler: Compiler,
        snapshot: &KernelSnapshot,
    ) -> Result<Vec<ToolFinding>, Stop> {
        let mut problem = problem::open(&self.options.folder)?;
        problem.use_workloads(self.options.when);
        let size = problem.shrink_for_races(&self.device)?;
        problem.require_memory_for_races(&self.device, true)?;
        let built = self
            .builder(compiler)
            .candidate(snapshot, &problem.build_needs(&self.device))?;
        let image = built
            .image
            .ok_or_else(|| Stop::Build(format!("it does not build for {size}")))?;
        let watched = ToolRun::new(
            Tool::Race,
            &self.options,
            &image.path,
            None,
            &self.cache_dir,
        )?;
        let limit = self.options.time_limit.min(LAUNCH_LIMIT);
        // The run's own worker prints the same.
        let silent: LineSink = Arc::new(|_| {});
        let worker = Worker::start_under_tool(
            &self.options.worker,
            &watched.watching()?,
            Target::Cpu,
            limit,
            &self.cache_dir,
            silent,
        )?;
        let sink = SharedSink::new(io::sink());
        let mut cx = ProblemContext {
            device: &self.device,
            cache_dir: &self.cache_dir,
            seed: self.seed,
            seed_is_fixed: self.options.seed.is_some(),
            out: &mut sink.writer(),
            figures: None,
            spawn_worker: &mut |_| {
                Err(Stop::Lab(
                    "the race detector starts no further worker".into(),
                ))
            },
            build: &mut |_, _| Err(Stop::Lab("the race detector builds no reference".into())),
        };
        watched.find(&mut *problem, &mut cx, worker.ready()?)
    }
}

impl RunningRaceCheck {
    /// Waits for the check's end, and writes the races and the gate `races:`. A check that did not
    /// finish is a caveat.
    pub fn write(self, out: &mut Writer) -> Result<Correctness, Stop> {
        let found = self
            .thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let findings = match found {
            Ok(findings) => findings,
            Err(stop) => {
                let why = stop.to_string();
                let why = why.lines().next().unwrap_or("").trim_end_matches(':');
                out.caveat(format_args!("the kernel was not checked for races: {why}"))?;
                return Ok(Correctness::Pass);
            }
        };
        check::write_findings(Tool::Race, &findings, out)?;
        let count = findings.len() as u64;
        out.count_gate("races", count, 0)?;
        Ok(if count == 0 {
            Correctness::Pass
        } else {
            Correctness::Fail
        })
    }
}
