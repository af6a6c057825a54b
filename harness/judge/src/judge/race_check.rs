//! The race detector beside a run on the cpu device: threads run one after another there, so a lost
//! update gives the right result in every order that is tried.
//!
//! An instrumented build of the candidate launches small cases while the run builds and verifies the
//! candidate itself. The detector needs one core, and finds the same races in any order of threads.
//! Of larger cases it then looks at the accesses of some blocks.

use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::processes::{arch, no_output, start_compiler};
use super::session::Session;
use crate::check::{self, ToolFinding, ToolRun};
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, Watched};
use crate::sink::SharedSink;
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use lab_protocol::{Language, Target, Tool};
use lab_system::threads;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest launch under the detector. A kernel whose small case takes longer is not checked.
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);

/// Accesses of a launch of a larger case that the detector looks at.
const MOST_ACCESSES: u64 = 1 << 18;

/// The longest time for all larger cases together, so that no verdict waits long for them.
const PART_LIMIT: Duration = Duration::from_secs(3);

/// A compiler that is ready for instrumented builds, and what the check needs to know of the run.
pub struct RaceCheck {
    builder: KernelBuilder,
    device: DeviceInfo,
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
    pub fn new(session: &Session) -> Result<Option<RaceCheck>, Stop> {
        let (request, device) = (&session.request, &session.device);
        let is_sealed = request.sealed_runs().is_some();
        if !device.emulated || is_sealed || request.language() == Language::Python {
            return Ok(None);
        }
        // The run's own compiler prints the same.
        let silent = SharedSink::new(io::sink());
        let builder = KernelBuilder {
            compiler: Some(start_compiler(request, Target::Cpu, &silent)?),
            request: Arc::clone(request),
            cache_dir: session.cache_dir.clone(),
            arch: arch(request, device),
            sanitizer: check::instrumentation(Tool::Race),
        };
        Ok(Some(RaceCheck {
            builder,
            device: device.clone(),
            seed: session.seed,
        }))
    }

    /// Lets the compiler prepare for the build.
    pub fn warm_up(&mut self) -> Result<(), Stop> {
        let problem = problem::open(&self.builder.request.folder)?;
        let problem = problem.watched(&self.device);
        self.builder.warm_up(&problem.build_needs(&self.device))
    }

    /// Returns whether the compiler's process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.builder.is_alive()
    }

    /// Begins the check of this kernel.
    pub fn start(self, snapshot: Arc<KernelSnapshot>) -> Result<RunningRaceCheck, Stop> {
        let thread = threads::start("races", move || self.find(&snapshot)).map_err(|e| {
            Stop::Lab(format!(
                "a thread for the race detector cannot be started: {e}"
            ))
        })?;
        Ok(RunningRaceCheck { thread })
    }

    /// Builds the kernel, launches the small case, and returns the races.
    fn find(mut self, snapshot: &KernelSnapshot) -> Result<Vec<ToolFinding>, Stop> {
        let request = Arc::clone(&self.builder.request);
        let mut problem = problem::open(&request.folder)?;
        problem.use_workloads(request.when);
        let problem = problem.watched(&self.device);
        let size = &problem.size;
        problem.require_memory_for_races(&self.device, true)?;
        let needs = problem.build_needs(&self.device);
        let built = self.builder.candidate(snapshot, &needs)?;
        let image = built
            .image
            .ok_or_else(|| Stop::Build(format!("it does not build for {size}")))?;
        let cache_dir = &self.builder.cache_dir;
        let watched = ToolRun::new(Tool::Race, &request, &image.path, None, cache_dir)?;
        let limit = request.time_limit.min(LAUNCH_LIMIT);
        // The run's own worker prints the same.
        let start = |tool: &ToolRun| tool.start(Target::Cpu, limit, no_output());
        let find = |tool: &ToolRun, problem: &Watched, worker| {
            tool.find_beside(problem, &self.device, self.seed, worker)
        };
        let found = find(&watched, &problem, start(&watched)?)?;
        let mut problem = problem::open(&request.folder)?;
        problem.use_workloads(request.when);
        let larger = problem.watched_in_part(&self.device);
        let Some(larger) = larger.filter(|_| found.is_empty()) else {
            return Ok(found);
        };
        let in_part = ToolRun::new(Tool::Race, &request, &image.path, None, cache_dir)?;
        let in_part = in_part.in_part(MOST_ACCESSES);
        // A larger case may take too long under the detector, or too much memory. If it crashes, the
        // run's own worker says so.
        let fits = larger.require_memory_for_races(&self.device, true);
        let found = fits.and_then(|()| {
            let mut worker = start(&in_part)?;
            worker.limit_altogether(Some(PART_LIMIT));
            find(&in_part, &larger, worker)
        });
        Ok(found.unwrap_or_default())
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
