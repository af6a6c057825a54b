//! What stays the same for everything that one judge does: the request, the device, the folder for
//! what outlives a run. Every kind of judge is set up here.

use super::confinement;
use super::device_access::DeviceAccess;
use super::kernel_builder::KernelBuilder;
use super::processes::{
    arch, as_kernel_output, auto_caveat, cache_dir, sandbox_of, start_compiler, start_worker,
};
use crate::outcome::Stop;
use crate::probe::{self, DeviceFigures};
use crate::problem::{self, Problem, ProblemContext, WorkerFor};
use crate::process::child::LineSink;
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::{StartingWorker, WatchingTool, Worker};
use lab_device::DeviceInfo;
use lab_device::sandbox::SandboxState;
use lab_protocol::report::{Stage, Writer};
use lab_protocol::{JudgeRequest, Language, Target};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What stays the same for everything that one judge does.
pub struct Session {
    pub request: Arc<JudgeRequest>,
    pub sink: SharedSink,
    pub target: Target,
    pub device: DeviceInfo,
    pub cache_dir: PathBuf,
    /// What inputs, start states and launch orders are drawn from.
    pub seed: u64,
    pub telemetry: TelemetryMonitor,
    pub access: DeviceAccess,
    /// What the device can do; `None` if it was not probed.
    pub figures: Option<DeviceFigures>,
}

/// A session with its first children.
pub struct Opened {
    pub session: Session,
    pub builder: KernelBuilder,
    /// The worker that told which device it is.
    pub worker: Worker,
}

impl Session {
    /// Starts a worker for code in this language, and a compiler if something `compiles`: the
    /// compiler loads its libraries while the worker opens its device.
    pub fn open(
        request: &Arc<JudgeRequest>,
        sink: &SharedSink,
        language: Language,
        compiles: bool,
    ) -> Result<Opened, Stop> {
        let target = lab_device::resolve(request.device);
        let cache_dir = cache_dir(request)?;
        let compiler = compiles
            .then(|| start_compiler(request, target, sink))
            .transpose()?;
        let output = as_kernel_output(sink.writer());
        let worker = start_worker(request, language, target, output)?.ready()?;
        let device = worker.info().clone();
        let builder = KernelBuilder {
            compiler,
            request: Arc::clone(request),
            cache_dir: cache_dir.clone(),
            arch: arch(request, &device),
            sanitizer: None,
        };
        let session = Session {
            seed: request.seed.unwrap_or_else(random_seed),
            telemetry: TelemetryMonitor::open(&device)?,
            access: DeviceAccess::of(&device, &cache_dir),
            figures: probe::load(&cache_dir, &device),
            request: Arc::clone(request),
            sink: sink.clone(),
            target,
            device,
            cache_dir,
        };
        Ok(Opened {
            session,
            builder,
            worker,
        })
    }

    /// Opens a session for `lab check` and `lab profile`, which launch CUDA C++ in workers of their
    /// own, and the problem. The error for Python ends with `why_no_python`.
    pub fn open_for_tool(
        request: &Arc<JudgeRequest>,
        sink: &SharedSink,
        why_no_python: &str,
        out: &mut Writer,
    ) -> Result<(Session, KernelBuilder, Box<dyn Problem>), Stop> {
        out.stage(Stage::Build)?;
        if request.language() == Language::Python {
            return Err(Stop::Lab(format!(
                "{} is Python, and {why_no_python}",
                request.shown_as()
            )));
        }
        let problem = problem::open(&request.folder)?;
        out.line("problem", problem.name())?;
        let Opened {
            session,
            mut builder,
            worker,
        } = Session::open(request, sink, Language::Cuda, true)?;
        session.write_device(&[], out)?;
        builder.compiler()?.version()?;
        session.declare(&worker, &builder, out)?;
        Ok((session, builder, problem))
    }

    /// Writes `device:` and these further lines of the device, if they say something; and a caveat
    /// if it is not the device that the request prefers.
    pub fn write_device(&self, further: &[(&str, &str)], out: &mut Writer) -> Result<(), Stop> {
        out.line("device", &self.device.name)?;
        for (key, value) in further.iter().filter(|(_, value)| !value.is_empty()) {
            out.line(key, value)?;
        }
        match auto_caveat(self.request.device) {
            Some(caveat) => Ok(out.caveat(caveat)?),
            None => Ok(()),
        }
    }

    /// Writes what confines the children. Returns [`Stop::Lab`] if the request needs a sandbox and
    /// there is none.
    pub fn declare(
        &self,
        worker: &Worker,
        builder: &KernelBuilder,
        out: &mut Writer,
    ) -> Result<SandboxState, Stop> {
        let state = sandbox_of(worker, builder.compiler.as_ref());
        confinement::declare(&self.request, &self.device, &state, out)?;
        Ok(state)
    }

    /// Starts a worker whose output is written behind `| `.
    pub fn start_worker(&self, language: Language) -> Result<Worker, Stop> {
        let output = as_kernel_output(self.sink.writer());
        start_worker(&self.request, language, self.target, output)?.ready()
    }

    /// Starts a worker for CUDA C++ under a tool. `limit` is for each of its launches.
    pub fn start_under_tool(
        &self,
        tool: &WatchingTool,
        limit: Duration,
        output: LineSink,
    ) -> Result<StartingWorker, Stop> {
        Worker::start_under_tool(
            &self.request.worker,
            tool,
            self.target,
            limit,
            &self.cache_dir,
            output,
        )
    }

    /// Calls `act` with what a problem may use.
    pub fn with_context<T>(
        &self,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        act: impl FnOnce(&mut ProblemContext) -> T,
    ) -> T {
        act(&mut ProblemContext {
            device: &self.device,
            figures: self.figures,
            cache_dir: &self.cache_dir,
            seed: self.seed,
            seed_is_fixed: self.request.seed.is_some(),
            out,
            spawn_worker: &mut |wanted| {
                self.start_worker(match wanted {
                    WorkerFor::Candidate => self.request.language(),
                    WorkerFor::Reference(language) => language,
                })
            },
            build: &mut |source, header| builder.reference(source, header),
        })
    }

    /// Calls `act` with what a problem may use for launches on a single worker, in `what`: a check
    /// or a profile. Their inputs are the same each time.
    pub fn with_one_worker<T>(
        &self,
        what: &str,
        out: &mut Writer,
        act: impl FnOnce(&mut ProblemContext) -> T,
    ) -> T {
        let seed = self.request.seed.unwrap_or(1);
        with_one_worker(&self.device, &self.cache_dir, (seed, true), what, out, act)
    }
}

/// [`Session::with_one_worker`] without a session. `seed` comes with whether the user fixed it.
pub fn with_one_worker<T>(
    device: &DeviceInfo,
    cache_dir: &Path,
    (seed, seed_is_fixed): (u64, bool),
    what: &str,
    out: &mut Writer,
    act: impl FnOnce(&mut ProblemContext) -> T,
) -> T {
    act(&mut ProblemContext {
        device,
        figures: None,
        cache_dir,
        seed,
        seed_is_fixed,
        out,
        spawn_worker: &mut |_| Err(Stop::Lab(format!("{what} starts no further worker"))),
        build: &mut |_, _| Err(Stop::Lab(format!("{what} builds no reference"))),
    })
}

/// A random seed, from the standard library's source of random hash keys.
pub fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed")
}
