//! What stays the same for everything that one judge does: the request, the device, the compiler,
//! the log, the folder for what outlives a run. Every kind of judge is set up here.

use super::confinement;
use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::processes::{
    arch, auto_caveat, cache_dir, part_of_a_card_caveat, sandbox_of, start_compiler, start_shown,
};
use crate::compiler::SNAPSHOTS;
use crate::device_lock::{DeviceLock, DeviceUse, LockGuard, PATIENCE};
use crate::outcome::{Result, Stop};
use crate::probe::{self, DeviceFigures};
use crate::problem::{self, Problem, ProblemContext, WorkerFor};
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::{JudgeMemory, StartingWorker, Worker, cells};
use lab_device::DeviceInfo;
use lab_device::sandbox::SandboxState;
use lab_protocol::report::{Log, Stage, Writer};
use lab_protocol::{JudgeRequest, Language, Target};
use lab_system::random;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What stays the same for everything that one judge does.
pub struct Session {
    pub request: Arc<JudgeRequest>,
    pub sink: SharedSink,
    /// Takes the result lines.
    pub out: Writer,
    pub target: Target,
    pub device: DeviceInfo,
    pub cache_dir: PathBuf,
    pub builder: KernelBuilder,
    /// What inputs, start states and launch orders are drawn from.
    pub seed: u64,
    pub telemetry: TelemetryMonitor,
    pub access: DeviceLock,
    /// What the device can do; `None` if it was not probed.
    pub figures: Option<DeviceFigures>,
    /// The judge's own worker, which has the buffers of the others: on the cpu device a thread of
    /// this process.
    pub memory: Option<Arc<JudgeMemory>>,
    /// A reference's worker in Python that was started before it is needed.
    pub reference: Option<StartingWorker>,
    /// Workers of the candidate for further trials, which have opened the device before anything is
    /// timed.
    pub further: Vec<Worker>,
    /// Whether nothing more need be measured of this kernel.
    pub is_enough: Arc<AtomicBool>,
}

impl Session {
    /// Waits for a worker that tells which device it is, and returns it too: `started`, or one for
    /// code in this language. Starts a compiler if something `compiles`: it loads its libraries while
    /// the worker opens its device.
    pub fn open(
        request: &Arc<JudgeRequest>,
        sink: &SharedSink,
        (language, started): (Language, Option<StartingWorker>),
        compiles: bool,
    ) -> Result<(Session, Worker)> {
        let target = lab_device::resolve(request.device);
        let cache_dir = cache_dir(request)?;
        let compiler = compiles
            .then(|| start_compiler(request, target, sink))
            .transpose()?;
        let started = match started {
            Some(started) => started,
            None => start_shown(request, language, target, sink)?,
        };
        let worker = started.ready()?;
        let device = worker.info().clone();
        let builder = KernelBuilder {
            compiler,
            request: Arc::clone(request),
            cache_dir: cache_dir.clone(),
            arch: arch(request, &device),
            sanitizer: None,
        };
        let session = Session {
            seed: request.seed.unwrap_or_else(random::number),
            telemetry: TelemetryMonitor::open(&device)?,
            access: DeviceLock::of(&device, &cache_dir),
            figures: probe::load(&cache_dir, &device),
            memory: matches!(target, Target::Cpu)
                .then(memory_of_cpu)
                .transpose()?,
            reference: None,
            further: Vec::new(),
            is_enough: Arc::default(),
            request: Arc::clone(request),
            out: sink.writer(),
            sink: sink.clone(),
            target,
            device,
            cache_dir,
            builder,
        };
        Ok((session, worker))
    }

    /// Opens a session for `lab check` and `lab profile`, which launch CUDA C++ in workers of their
    /// own, and the problem. The error for Python ends with `why_no_python`.
    pub fn open_for_tool(
        request: &Arc<JudgeRequest>,
        sink: &SharedSink,
        why_no_python: &str,
    ) -> Result<(Session, Problem)> {
        let out = &mut sink.writer();
        out.stage(Stage::Build)?;
        if request.language() == Language::Python {
            return Err(Stop::Lab(format!(
                "{} is Python, and {why_no_python}",
                request.shown_as()
            )));
        }
        let problem = problem::open(&request.folder)?;
        out.line("problem", problem.name())?;
        let (mut session, worker) = Session::open(request, sink, (Language::Cuda, None), true)?;
        session.write_device(&[])?;
        session.builder.compiler()?.version()?;
        session.declare(&worker)?;
        Ok((session, problem))
    }

    /// Writes `device:` and these further lines of the device, if they say something; and a caveat
    /// if it is not the device that the request prefers, or only a part of one.
    pub fn write_device(&mut self, further: &[(&str, &str)]) -> Result {
        self.out.line("device", &self.device.name)?;
        for (key, value) in further.iter().filter(|(_, value)| !value.is_empty()) {
            self.out.line(key, value)?;
        }
        let caveats = [
            auto_caveat(self.request.device),
            part_of_a_card_caveat(&self.device.name),
        ];
        for caveat in caveats.into_iter().flatten() {
            self.out.caveat(caveat)?;
        }
        Ok(())
    }

    /// Writes what confines the children. Returns [`Stop::Lab`] if the request needs a sandbox and
    /// there is none.
    pub fn declare(&mut self, worker: &Worker) -> Result<SandboxState> {
        let state = sandbox_of(worker, self.builder.compiler.as_ref());
        confinement::declare(&self.request, &self.device, &state, &mut self.out)?;
        Ok(state)
    }

    /// Starts a worker whose output is written behind `| `.
    pub fn start_worker(&self, language: Language) -> Result<Worker> {
        let starting = start_shown(&self.request, language, self.target, &self.sink)?;
        self.with_memory(starting.ready()?)
    }

    /// The problem once more, with the workloads of the run.
    pub fn open_problem(&self) -> Result<Problem> {
        let mut problem = problem::open(&self.request.folder)?;
        problem.use_workloads(self.request.when);
        Ok(problem)
    }

    /// A copy of the candidate as it is now.
    pub fn snapshot(&self) -> Result<KernelSnapshot> {
        KernelSnapshot::take(&self.request, &self.cache_dir.join(SNAPSHOTS))
    }

    /// Lets a worker that has allocated nothing yet map what the judge's own worker allocates.
    pub fn with_memory(&self, worker: Worker) -> Result<Worker> {
        with_memory(worker, self.memory.as_ref(), &self.telemetry)
    }

    /// Takes the judge's own worker, and builds the kernels that it computes with. Where it cannot be
    /// used, a caveat says why.
    pub fn take_memory(&mut self, worker: Worker) -> Result {
        let kernels = self.builder.own_source("cells.cu", cells::SOURCE, "");
        let why = match kernels {
            _ if !worker.maps_memory() => NOT_SHARED.to_owned(),
            Ok(kernels) => {
                self.memory = Some(worker.into_memory(&kernels)?);
                return Ok(());
            }
            // A run of Python needs NVRTC for nothing else.
            Err(stop) if self.request.language() == Language::Python => {
                self.memory = Some(worker.into_memory_without_cells());
                stop.first_line()
            }
            Err(stop) => return Err(stop),
        };
        Ok(self.out.caveat(format_args!(
            "{why}: the judge copies inputs and results over the host, which takes long for large tensors"
        ))?)
    }

    /// [`DeviceLock::wait_for`] 60 s at most.
    pub fn wait(&mut self, wanted: DeviceUse) -> Result<Option<LockGuard>> {
        self.wait_for(PATIENCE, wanted)
    }

    /// [`DeviceLock::wait_for`], with what it says in run.log.
    pub fn wait_for(&mut self, patience: Duration, wanted: DeviceUse) -> Result<Option<LockGuard>> {
        self.access.wait_for(patience, wanted, &mut self.out)
    }

    /// Calls `act` with what a problem may use.
    pub fn with<T>(&mut self, act: impl FnOnce(&mut ProblemContext) -> T) -> T {
        let (request, target, sink) = (&self.request, self.target, &self.sink);
        let (builder, memory) = (&mut self.builder, self.memory.as_ref());
        let telemetry = &self.telemetry;
        let (reference, further) = (&mut self.reference, &mut self.further);
        act(&mut ProblemContext {
            device: &self.device,
            figures: self.figures,
            cache_dir: &self.cache_dir,
            memory: memory.filter(|memory| memory.has_cells()),
            seed: self.seed,
            seed_is_fixed: request.seed.is_some(),
            is_swept: request.is_swept,
            is_enough: &self.is_enough,
            out: &mut self.out,
            spawn_worker: &mut |wanted| {
                if wanted == WorkerFor::Candidate
                    && let Some(worker) = further.pop()
                {
                    return Ok(worker);
                }
                let language = match wanted {
                    WorkerFor::Candidate => request.language(),
                    WorkerFor::Reference { language, .. } => language,
                };
                let on_host = matches!(wanted, WorkerFor::Reference { on_host: true, .. });
                let target = if on_host { Target::Cpu } else { target };
                let starting = match (wanted, reference.take()) {
                    (WorkerFor::Reference { .. }, Some(starting)) => starting,
                    (_, started) => {
                        *reference = started;
                        start_shown(request, language, target, sink)?
                    }
                };
                let of_host = on_host.then(memory_of_cpu).transpose()?;
                with_memory(starting.ready()?, of_host.as_ref().or(memory), telemetry)
            },
            build: &mut |source, header| builder.reference(source, header),
        })
    }

    /// [`Session::with`] where the lines that it writes are returned, and not written into run.log.
    pub fn capture<T>(&mut self, act: impl FnOnce(&mut ProblemContext) -> T) -> (T, String) {
        let log = Log::default();
        let out = std::mem::replace(&mut self.out, log.writer());
        let done = self.with(act);
        self.out = out;
        (done, log.text())
    }

    /// Calls `act` with what a problem may use for the launches of a check or a profile. Their
    /// inputs are the same each time.
    pub fn with_fixed_inputs<T>(&mut self, act: impl FnOnce(&mut ProblemContext) -> T) -> T {
        let seed = self.request.seed.unwrap_or(1);
        self.with(|cx| {
            (cx.seed, cx.seed_is_fixed) = (seed, true);
            act(cx)
        })
    }
}

/// The memory of the cpu device, which the judge itself has.
fn memory_of_cpu() -> Result<Arc<JudgeMemory>> {
    Ok(JudgeMemory::here(lab_device::cpu::open_memory()?))
}

const NOT_SHARED: &str = "this driver cannot share device memory between processes";

fn with_memory(
    worker: Worker,
    memory: Option<&Arc<JudgeMemory>>,
    telemetry: &TelemetryMonitor,
) -> Result<Worker> {
    if let Some(id) = worker.id() {
        telemetry.note_own(id);
    }
    match memory.filter(|_| worker.maps_memory()) {
        None if worker.is_python() => Err(Stop::Lab(format!(
            "{NOT_SHARED}, and a kernel in Python is judged only on memory that it shares with the judge"
        ))),
        memory => Ok(worker.with_memory(memory)),
    }
}
