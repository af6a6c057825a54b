//! The race detector beside a run on the cpu device: threads run one after another there, so a lost
//! update gives the right result in every order that is tried.
//!
//! An instrumented build of the candidate launches small cases while the run builds and verifies the
//! candidate itself. The detector needs one core, and finds the same races in any order of threads.
//! Of larger cases it then looks at the accesses of some blocks. Where it has looked at no access of
//! some line by then, it launches all other cases too, and a caveat names the lines that are left.

use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::processes::{arch, no_output, start_compiler};
use super::session::Session;
use crate::check::{self, ToolFinding, ToolRun, WatchedCode};
use crate::outcome::{OrLab, Result, Stop, verdict_of};
use crate::problem::{self, Problem, Watched};
use crate::sink::SharedSink;
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use lab_protocol::{Language, Target, Tool};
use lab_system::threads;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest launch under the detector. A kernel whose small case takes longer is not checked.
const LAUNCH_LIMIT: Duration = Duration::from_secs(20);

/// Accesses of a launch of a larger case that the detector looks at.
const MOST_ACCESSES: u64 = 1 << 18;

/// The longest time for all larger cases together, so that no verdict waits long for them; and again
/// for all other cases.
const PART_LIMIT: Duration = Duration::from_secs(3);

/// A compiler that is ready for instrumented builds, and what the check needs to know of the run.
pub struct RaceCheck {
    builder: KernelBuilder,
    device: DeviceInfo,
    seed: u64,
}

/// A check that is running on its own thread.
pub struct RunningRaceCheck {
    thread: JoinHandle<Result<Found>>,
    /// Set once the smallest case is enough.
    is_enough: Arc<AtomicBool>,
}

/// What the detector found.
#[derive(Default)]
struct Found {
    races: Vec<ToolFinding>,
    /// Reads outside of tensors.
    outside: Vec<ToolFinding>,
    /// The lines at which it did not look, in words.
    unwatched: Option<String>,
}

impl RaceCheck {
    /// Starts the compiler's process. `None` on a GPU, where compute-sanitizer's racecheck takes
    /// seconds: `lab check` runs it. `None` for a kernel in Python, which has no threads of a
    /// block.
    pub fn new(session: &Session) -> Result<Option<RaceCheck>> {
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
    pub fn warm_up(&mut self) -> Result {
        let problem = problem::open(&self.builder.request.folder)?;
        let problem = problem.watched(&self.device);
        self.builder.warm_up(&problem.build_needs(&self.device))
    }

    /// Returns whether the compiler's process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.builder.is_alive()
    }

    /// Begins the check of this kernel.
    pub fn start(self, snapshot: Arc<KernelSnapshot>) -> Result<RunningRaceCheck> {
        let is_enough = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_enough);
        let thread = threads::start("races", move || self.find(&snapshot, &told))
            .or_lab(|| "a thread for the race detector cannot be started".into())?;
        Ok(RunningRaceCheck { thread, is_enough })
    }

    /// Builds the kernel and launches cases until a race is found or there are no others.
    fn find(mut self, snapshot: &KernelSnapshot, is_enough: &AtomicBool) -> Result<Found> {
        let problem = self.problem()?.watched(&self.device);
        let size = &problem.size;
        problem.require_memory_for_races(&self.device, true)?;
        let needs = problem.build_needs(&self.device);
        let built = self.builder.candidate(snapshot, &needs)?;
        let image = built
            .image
            .ok_or_else(|| Stop::Build(format!("it does not build for {size}")))?;
        let mut code = WatchedCode::of(&image)?;
        let mut outside = Vec::new();
        let mut races = self.launch((&problem, &image), None, (&mut code, &mut outside))?;
        let mut are_complete = true;
        for is_rest in [false, true] {
            let is_done = !races.is_empty() || is_enough.load(Ordering::Relaxed);
            if is_done || is_rest && code.unwatched_lines(false)?.is_none() {
                break;
            }
            let larger = self.problem()?;
            let Some(larger) = larger.watched_in_part(&self.device, is_rest) else {
                continue;
            };
            // A larger case may take too long under the detector, or too much memory. If it crashes,
            // the run's own worker says so.
            let fits = larger.require_memory_for_races(&self.device, true);
            let most = Some(MOST_ACCESSES);
            let found =
                fits.and_then(|()| self.launch((&larger, &image), most, (&mut code, &mut outside)));
            are_complete &= found.is_ok();
            races = found.unwrap_or_default();
        }
        let unwatched = if races.is_empty() {
            code.unwatched_lines(are_complete)?
        } else {
            None
        };
        Ok(Found {
            races,
            outside,
            unwatched,
        })
    }

    fn problem(&self) -> Result<Problem> {
        let request = &self.builder.request;
        let mut problem = problem::open(&request.folder)?;
        problem.use_workloads(request.when);
        Ok(problem)
    }

    /// Launches a problem's cases under the detector, which looks at so many accesses of each, or at
    /// all. Returns the races, tells `code` what the launches executed, and adds to `outside` what
    /// they read outside of tensors, if no other launch did at that line.
    fn launch(
        &self,
        (problem, image): (&Watched, &Path),
        most_accesses: Option<u64>,
        (code, outside): (&mut WatchedCode, &mut Vec<ToolFinding>),
    ) -> Result<Vec<ToolFinding>> {
        let request = &*self.builder.request;
        let tool = ToolRun::new(Tool::Race, request, image, None, &self.builder.cache_dir)?;
        let tool = tool.in_part(most_accesses);
        let limit = request.time_limit.min(LAUNCH_LIMIT);
        // The run's own worker prints the same.
        let mut worker = tool.start(Target::Cpu, limit, no_output())?;
        worker.limit_altogether(most_accesses.map(|_| PART_LIMIT));
        let found = tool.find_beside(problem, &self.device, self.seed, worker);
        code.add(&tool.executed()?);
        for read in tool.outside(problem)? {
            if outside.iter().all(|known| known.place != read.place) {
                outside.push(read);
            }
        }
        found
    }
}

impl RunningRaceCheck {
    /// Waits for the check's end, and writes the races and the gate `races:`. A check that did not
    /// finish is a caveat.
    pub fn write(self, out: &mut Writer) -> Result {
        let Found {
            races,
            outside,
            unwatched,
        } = match self.join() {
            Ok(found) => found,
            Err(stop) => {
                let why = stop.first_line();
                out.caveat(format_args!("the kernel was not checked for races: {why}"))?;
                return Ok(());
            }
        };
        check::write_findings(Tool::Race, &races, out)?;
        write_outside(&outside, out)?;
        let count = races.len() as u64;
        out.count_gate("races", count, 0)?;
        if let Some(lines) = unwatched {
            out.caveat(format_args!(
                "{lines} ran in no case that the race detector watched: add a small workload that takes them"
            ))?;
        }
        verdict_of(count == 0)
    }

    /// Writes the races of a candidate whose results are wrong, and the gate if there are any. Waits
    /// for the launch in progress, and for no further case.
    pub fn write_races(self, out: &mut Writer) -> Result {
        self.is_enough.store(true, Ordering::Relaxed);
        let Found { races, outside, .. } = self.join().unwrap_or_default();
        write_outside(&outside, out)?;
        if races.is_empty() {
            return Ok(());
        }
        check::write_findings(Tool::Race, &races, out)?;
        Ok(out.count_gate("races", races.len() as u64, 0)?)
    }

    fn join(self) -> Result<Found> {
        let joined = self.thread.join();
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes a caveat for each of the first lines that read outside of a tensor. The result may not
/// depend on it, but a GPU may end the launch there.
fn write_outside(outside: &[ToolFinding], out: &mut Writer) -> Result {
    const SHOWN: usize = 5;
    for ToolFinding { place, what } in outside.iter().take(SHOWN) {
        let at = place.as_ref();
        let at = at.map_or_else(String::new, |at| format!("{}:{}: ", at.file, at.line));
        out.caveat(format_args!(
            "{at}{what}. `lab check` lists such reads; on a GPU they may end the launch"
        ))?;
    }
    Ok(())
}
