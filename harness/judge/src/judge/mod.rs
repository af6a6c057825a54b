//! The judge: `lab harness`. Takes a snapshot of kernel.cu, has it built and run by two children,
//! lets the problem compare, and alone writes result lines.

mod checking;
mod incumbent;
mod kernel_builder;
pub(crate) mod measuring;

mod device_access;
pub mod probing;
mod snapshot;
mod standby;

use crate::options::JudgeOptions;

use crate::compiler::Compiler;
use crate::device_lock::DeviceUse;
use crate::outcome::{Correctness, Stop};
use crate::probe::{self, DeviceFigures};
use crate::problem::{self, BuildNeeds, Problem, ProblemContext};
use crate::process::child::LineSink;
use crate::process::lifetime;
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::{ModuleId, StartingWorker, Worker};
use device_access::DeviceAccess;
use incumbent::Incumbent;
use kernel_builder::KernelBuilder;
use lab_device::{Built, DeviceInfo, Occupancy, Shape};
use lab_protocol::Exit;
use lab_protocol::Target;
use lab_protocol::report::{Stage, Writer};
use measuring::Candidate;
use snapshot::KernelSnapshot;
use standby::StartSignal;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The judge process: dies with what started it, and ends its children when told to end. On
/// standby it does what it can ahead, and judges when the order comes on its stdin.
pub fn main(options: JudgeOptions, on_standby: bool) -> Exit {
    let leashed = lifetime::end_children_on_signals()
        .and_then(|()| lifetime::die_with_parent(rustix::process::Signal::TERM));
    if let Err(error) = leashed {
        eprintln!("lab harness: {error}");
        return Exit::Crashed;
    }
    if on_standby {
        standby::judge(&options, io::stdin(), io::stdout())
    } else {
        judge(options, io::stdout())
    }
}

/// Judges once and writes run.log's lines to `sink`.
pub fn judge(options: JudgeOptions, sink: impl Write + Send + 'static) -> Exit {
    let shared = SharedSink::new(sink);
    let verdict = match &options.check {
        Some(tools) => checking::check(&options, tools, &shared),
        None => run(&options, &shared, None),
    };
    conclude(&options, verdict, &mut shared.writer())
}

/// The last lines, and the exit code.
fn conclude(options: &JudgeOptions, verdict: Result<Correctness, Stop>, out: &mut Writer) -> Exit {
    let written = match &verdict {
        Ok(Correctness::Pass) => out.line("correctness", "pass"),
        Ok(Correctness::Fail) => out.line("correctness", "fail"),
        Err(stop) => stopped(out, &options.as_shown(&stop.to_string())),
    };
    if written.and_then(|()| out.stage(Stage::Done)).is_err() {
        // Nobody reads any more; the exit code still tells.
        return Exit::Crashed;
    }
    match verdict {
        Ok(Correctness::Pass) => Exit::Passed,
        Ok(Correctness::Fail) => Exit::Wrong,
        Err(Stop::Problem(_)) => Exit::Usage,
        Err(Stop::Build(_)) => Exit::NotBuilt,
        Err(Stop::Crash(_) | Stop::Lab(_)) => Exit::Crashed,
    }
}

/// One sentence as a result line; what has more lines is text before it.
fn stopped(out: &mut Writer, why: &str) -> io::Result<()> {
    let first = why.lines().next().unwrap_or("");
    if first != why {
        out.text(why)?;
    }
    out.line("stopped", first.trim_end_matches(':'))
}

/// From the first line to the verdict. With an order to wait for, all that does not depend on the
/// candidate is done before it comes; else the candidate is built first, because most failures are
/// found there.
fn run(
    options: &JudgeOptions,
    shared: &SharedSink,
    order: Option<&mut StartSignal>,
) -> Result<Correctness, Stop> {
    let out = &mut shared.writer();
    out.stage(Stage::Build)?;
    let mut problem = problem::open(&options.folder)?;
    out.line("problem", problem.name())?;
    let cache_dir = cache_dir(options)?;
    let target = lab_device::resolve(options.device);

    // Side by side: the one loads its compiler while the other opens its device.
    let compiler =
        Compiler::start(&options.compiler, target, options.time_limit, text_of_compiler(shared.writer()))?;
    let starting = start_worker(options, target, shared)?;
    let mut incumbency = incumbent::start(options, target);
    let mut worker = starting.ready()?;
    let device = worker.info().clone();
    let mut build = KernelBuilder { compiler, options, cache_dir: &cache_dir, arch: arch(options, &device) };
    out.line("device", &device.name)?;
    if !device.uuid.is_empty() {
        out.line("device_uuid", &device.uuid)?;
    }
    if !device.driver.is_empty() {
        out.line("driver", &device.driver)?;
    }
    out.line("compiler", build.compiler.version()?)?;
    let seed = options.seed.unwrap_or_else(fresh_seed);
    out.line("seed", seed)?;
    let needs = problem.build_needs(&device);

    let telemetry = TelemetryMonitor::open(&device)?;
    let turns = DeviceAccess::on(&device, &cache_dir);
    let (device, cache_dir) = (&device, &*cache_dir);
    let figures = probe::load(cache_dir, device);
    let mut setting =
        JudgeRun { options, shared, target, device, cache_dir, seed, telemetry, turns, figures };
    let problem = &mut *problem;
    if options.held_out {
        problem.hold_out(seed)?;
    }
    let ahead = order.is_some();
    let mut incumbent = None;
    if let Some(order) = order {
        // Whoever waits already gets along faster without.
        if !order.is_here() {
            build.warm(&needs)?;
        }
        setting.prepare(problem, &mut build, out, &mut worker)?;
        setting.warm(problem, &mut build, out, order)?;
        if problem.at_hand() {
            let _turn = setting.turns.take_at_leisure(|| order.is_here());
            if !order.is_here() {
                incumbent = incumbency.settle(&setting, problem, &mut build, &needs, out);
            }
        }
        if setting.figures.is_none() {
            setting.figures = probing::ahead(&setting, &mut build, order);
        }
        setting.with_context(&mut build, out, |cx| problem.look_ahead(cx, &mut || !order.is_here()))?;
        order.wait();
        shared.clock.restart();
        if !(worker.lives() && build.compiler.lives()) {
            // Somebody ended them meanwhile, which is no fault of the candidate's.
            return run(options, shared, None);
        }
        out.stage(Stage::Build)?;
    }
    let snapshot = KernelSnapshot::take(options, &cache_dir.join("snapshots"))?;
    let built = setting.build(&mut build, &snapshot, &needs, &mut incumbent, out)?;
    let image = build.tell(built, out)?;
    if !ahead {
        setting.prepare(problem, &mut build, out, &mut worker)?;
    }
    out.stage(Stage::Verify)?;
    let module = worker.load(&image.path)?;
    let verdict = setting.verify(problem, &mut build, out, &mut worker, module)?;
    if let Some((shape, occupancy)) = worker.shape() {
        tell_launch(&shape, occupancy, out)?;
    }
    if verdict == Correctness::Fail || options.held_out {
        return Ok(verdict);
    }
    out.stage(Stage::Measure)?;
    if incumbent.is_none() {
        let _launching = setting.turns.take(DeviceUse::Launching, out)?;
        incumbent = incumbency.settle(&setting, problem, &mut build, &needs, out);
    }
    if let Some(caveat) = incumbency.caveat() {
        out.caveat(caveat)?;
    }
    let candidate = Candidate { problem, worker: &mut worker, module, image: &image.path };
    setting.measure(candidate, &mut build, out, &mut incumbent)
}

/// How the kernel was launched, and how full that makes a multiprocessor.
fn tell_launch(shape: &Shape, occupancy: Option<Occupancy>, out: &mut Writer) -> std::io::Result<()> {
    let by = |e: [u32; 3]| format!("{}x{}x{}", e[0], e[1], e[2]);
    let mut line = format!("{} block={}", by(shape.grid), by(shape.block));
    line.push_str(&format!(" shared_bytes={}", shape.shared_bytes));
    if shape.cooperative {
        line.push_str(" cooperative=yes");
    }
    if let Some(Occupancy { blocks_per_sm, threads_per_sm }) = occupancy.filter(|r| r.threads_per_sm > 0) {
        // The problem names the block: nothing bounds what it says.
        let threads: f64 = shape.block.map(f64::from).iter().product::<f64>() * f64::from(blocks_per_sm);
        let occupancy = threads / f64::from(threads_per_sm) * 100.0;
        line.push_str(&format!(" blocks_per_sm={blocks_per_sm} occupancy={occupancy:.0}"));
    }
    out.line("launch", line)
}

/// The clocks are up within some milliseconds and stay up for seconds; a turn that outlasts the build would be waited for.
const RAISING: Duration = Duration::from_millis(150);

/// What stays the same for a whole run.
struct JudgeRun<'a> {
    options: &'a JudgeOptions,
    shared: &'a SharedSink,
    target: Target,
    device: &'a DeviceInfo,
    cache_dir: &'a Path,
    seed: u64,
    telemetry: TelemetryMonitor,
    turns: DeviceAccess,
    /// What the device can do, where that was measured.
    figures: Option<DeviceFigures>,
}

impl JudgeRun<'_> {
    fn prepare(
        &self,
        problem: &mut dyn Problem,
        build: &mut KernelBuilder,
        out: &mut Writer,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        out.stage(Stage::Reference)?;
        self.with_context(build, out, |cx| problem.prepare(cx, worker))
    }

    /// Each launch ahead takes its turn, so that it never runs beside another lab's measurement.
    fn warm(
        &self,
        problem: &mut dyn Problem,
        build: &mut KernelBuilder,
        out: &mut Writer,
        order: &mut StartSignal,
    ) -> Result<(), Stop> {
        let mut turn = None;
        let mut nobody_waits = || {
            drop(turn.take());
            turn = self.turns.take_at_leisure(|| order.is_here());
            !order.is_here()
        };
        self.with_context(build, out, |cx| problem.warm(cx, &mut nobody_waits))
    }

    /// Builds the candidate, while the incumbent runs for a while: that raises the clocks, and its figure is fresh.
    fn build(
        &self,
        build: &mut KernelBuilder,
        snapshot: &KernelSnapshot,
        needs: &BuildNeeds,
        incumbent: &mut Option<Incumbent>,
        out: &mut Writer,
    ) -> Result<Built, Stop> {
        // Building waits for no turn, so the incumbent runs only where nobody else measures.
        let turn = self.turns.take_if_free(DeviceUse::Launching)?;
        let Some(running) = incumbent.as_mut().filter(|_| turn.is_some()) else {
            return build.candidate(snapshot, needs);
        };
        let (built, turns) = std::thread::scope(|scope| {
            let building = scope.spawn(|| build.candidate(snapshot, needs));
            let began = Instant::now();
            let turns = running.run_while(|| !building.is_finished() && began.elapsed() < RAISING);
            (building.join(), turns)
        });
        match turns {
            Ok(turns) => {
                if let Some(rate) = running.throughput(&turns) {
                    out.line("incumbent_sps", problem::in_digits(&rate, 1))?;
                }
            }
            Err(why) => {
                *incumbent = None;
                out.caveat(incumbent::no_comparison(&why))?;
            }
        }
        built.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn verify(
        &self,
        problem: &mut dyn Problem,
        build: &mut KernelBuilder,
        out: &mut Writer,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        self.with_context(build, out, |cx| {
            let _launching = self.turns.take(DeviceUse::Launching, cx.out)?;
            let verdict = problem.verify(cx, worker, module)?;
            if let Some(folder) = &self.options.dump {
                dump(problem, cx, worker, module, folder)?;
            }
            Ok(verdict)
        })
    }

    fn measure(
        &self,
        candidate: Candidate,
        build: &mut KernelBuilder,
        out: &mut Writer,
        incumbent: &mut Option<Incumbent>,
    ) -> Result<Correctness, Stop> {
        self.with_context(build, out, |cx| {
            let _turn = self.turns.take(DeviceUse::Measuring, cx.out)?;
            self.telemetry.start();
            let verdict = measuring::measure(cx, &self.options.plan, candidate, incumbent)?;
            self.telemetry.write(cx.out)?;
            Ok(verdict)
        })
    }

    fn with_context<T>(
        &self,
        build: &mut KernelBuilder,
        out: &mut Writer,
        act: impl FnOnce(&mut ProblemContext) -> T,
    ) -> T {
        act(&mut ProblemContext {
            device: self.device,
            figures: self.figures,
            cache_dir: self.cache_dir,
            seed: self.seed,
            out,
            spawn_worker: &mut || start_worker(self.options, self.target, self.shared)?.ready(),
            build: &mut |source, header| build.reference(source, header),
        })
    }
}

/// The standard library's source of unpredictable hashes is one of unpredictable numbers.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed")
}

fn dump(
    problem: &mut dyn Problem,
    cx: &mut ProblemContext,
    worker: &mut Worker,
    module: ModuleId,
    folder: &Path,
) -> Result<(), Stop> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Stop::Lab(format!("the dump folder {}: {e}", folder.display())))?;
    problem.dump(cx, worker, module, folder)
}

fn cache_dir(options: &JudgeOptions) -> Result<PathBuf, Stop> {
    use etcetera::BaseStrategy;
    let folder = match &options.cache_dir {
        Some(folder) => folder.clone(),
        None => etcetera::choose_base_strategy()
            .map_err(|e| Stop::Lab(format!("no home folder, so no cache folder: {e}")))?
            .cache_dir()
            .join("lab"),
    };
    std::fs::create_dir_all(&folder)
        .map_err(|e| Stop::Lab(format!("the cache folder {}: {e}", folder.display())))?;
    // Children have their own idea of the current folder only by accident: make it absolute.
    folder.canonicalize().map_err(|e| Stop::Lab(format!("the cache folder {}: {e}", folder.display())))
}

fn arch(options: &JudgeOptions, device: &DeviceInfo) -> String {
    options.arch.clone().unwrap_or_else(|| device.arch.clone())
}

fn start_worker(options: &JudgeOptions, target: Target, shared: &SharedSink) -> Result<StartingWorker, Stop> {
    Worker::start(&options.worker, target, options.time_limit, kernel_output(shared.writer()))
}

/// What a worker prints is the kernel's: behind `| ` it can never begin a result line.
fn kernel_output(out: Writer) -> LineSink {
    let out = Mutex::new(out);
    Arc::new(move |line| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        // Where nobody reads run.log any more, the judge's own next line finds out.
        let _ = out.kernel_output(line.as_bytes());
    })
}

fn text_of_compiler(out: Writer) -> LineSink {
    let out = Mutex::new(out);
    Arc::new(move |line| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.text(line);
    })
}
