//! One run, from the first result line to the verdict.
//!
//! Without standby the candidate is built first, because most failures are found there. On standby
//! everything that does not depend on the candidate is done before the start signal.

use super::candidate::CandidateBuild;
use super::confinement;
use super::device_access::{DeviceAccess, PATIENCE_OF_BENCH};
use super::discipline;
use super::incumbent::{self, Incumbent};
use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::launch_lines::write_launches;
use super::measuring::{self, Candidate};
use super::peers::{self, PeerFiles};
use super::probing;
use super::processes::{arch, auto_caveat, cache_dir, sandbox_of, start_compiler, start_worker};
use super::race_check::RaceCheck;
use super::run_environment::RunEnvironment;
use super::sealed_check::{SealedCheck, random_seed};
use super::start_signal::StartSignal;
use crate::compiler::{Compiler, SNAPSHOTS};
use crate::device_lock::DeviceUse;
use crate::measure::plan::Trials;
use crate::options::JudgeOptions;
use crate::outcome::{Correctness, Stop};
use crate::probe;
use crate::problem::{self, Problem, StockUse};
use crate::sink::SharedSink;
use crate::telemetry::TelemetryMonitor;
use crate::worker::compile_ahead::CompileAhead;
use crate::worker::{ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_protocol::Language;
use lab_protocol::report::{JudgedWorkloads, Report, Severity, Stage, Writer};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The name of the header that the judge makes of problem.toml.
const PROBLEM_HEADER: &str = "lab_problem.h";

/// Judges the candidate and returns the verdict on correctness. With a start signal, does what it
/// can ahead and waits for it.
pub fn run(
    options: &JudgeOptions,
    sink: &SharedSink,
    start: Option<&mut StartSignal>,
) -> Result<Correctness, Stop> {
    let out = &mut sink.writer();
    out.stage(Stage::Build)?;
    let mut problem = problem::open(&options.folder)?;
    problem.use_workloads(options.when);
    out.line("problem", problem.name())?;
    let (language, reference) = (options.language(), problem.reference());
    if let Some(why) = problem.refuses(language) {
        return Err(Stop::Problem(why));
    }
    confinement::require_trust_for_python(options, reference)?;
    let cache_dir = cache_dir(options)?;
    let target = lab_device::resolve(options.device);

    // The compiler loads its libraries while the worker opens its device. Where all is Python,
    // nothing is compiled.
    let compiled_peer = options.peers
        && problem
            .peers()
            .iter()
            .any(|peer| peer.language() == Language::Cuda);
    let compiles = language == Language::Cuda || reference == Some(Language::Cuda) || compiled_peer;
    let compiler = compiles
        .then(|| start_compiler(options, target, sink))
        .transpose()?;
    let starting = start_worker(options, language, target, sink)?;
    let mut incumbent_state = incumbent::start(options, target);
    let mut worker = starting.ready()?;
    let device = worker.info().clone();
    let mut builder = KernelBuilder {
        compiler,
        options,
        cache_dir: &cache_dir,
        arch: arch(options, &device),
    };
    write_device(&device, out)?;
    if let Some(caveat) = auto_caveat(options.device) {
        out.caveat(caveat)?;
    }
    if let Some(compiler) = &mut builder.compiler {
        out.line("compiler", compiler.version()?)?;
    }
    if language == Language::Python {
        out.line("python", options.interpreter())?;
    }
    let sandbox = sandbox_of(&worker, builder.compiler.as_ref());
    confinement::declare(options, &device, &sandbox, out)?;
    // A kernel that reads the cache folder would know the sealed inputs before their keep.
    if language == Language::Cuda && sandbox.missing().is_none() {
        problem.use_stock(if options.held_out {
            StockUse::Takes
        } else {
            StockUse::Makes
        });
    }
    let seed = options.seed.unwrap_or_else(random_seed);
    out.line("seed", seed)?;
    let needs = problem.build_needs(&device);

    let telemetry = TelemetryMonitor::open(&device)?;
    let access = DeviceAccess::of(&device, &cache_dir);
    let (device, cache_dir) = (&device, &*cache_dir);
    let figures = probe::load(cache_dir, device);
    let mut env = RunEnvironment {
        options,
        sink,
        target,
        device,
        cache_dir,
        seed,
        telemetry,
        access,
        figures,
    };
    let problem = &mut *problem;
    let held_out = if options.held_out {
        Some(problem.use_held_out_inputs(seed, options.sealed)?)
    } else {
        None
    };
    let on_standby = start.is_some();
    let mut race_check = RaceCheck::new(options, device, cache_dir, seed)?;
    let mut incumbent = None;
    if let Some(start) = start {
        // If somebody waits already, the build without precompiled headers is sooner done.
        if !start.received() {
            if language == Language::Cuda {
                builder.warm_up(&needs)?;
            }
            race_check = race_check.map(RaceCheck::warm_up).transpose()?;
        }
        env.prepare(problem, &mut builder, out, &mut worker)?;
        env.draw_ahead(problem, &mut builder, out, &mut worker, start)?;
        if problem.can_set_up_early() {
            let _access = env.access.wait_while_idle(|| start.received());
            if !start.received() {
                incumbent = incumbent_state.set_up(&env, problem, &mut builder, &needs, out);
            }
        }
        if env.figures.is_none() {
            env.figures = probing::probe_ahead(&env, &mut builder, out, start)?;
        }
        env.prepare_held_out(problem, &mut builder, out, start)?;
        start.wait();
        sink.clock.restart();
        let races_alive = race_check.as_mut().is_none_or(RaceCheck::is_alive);
        let compiler_alive = builder.compiler.as_mut().is_none_or(Compiler::is_alive);
        if !(worker.is_alive() && compiler_alive && races_alive) {
            // Something outside ended a child while this judge waited. The candidate did not run
            // yet, so start over.
            return self::run(options, sink, None);
        }
        out.stage(Stage::Build)?;
    }
    let snapshot = Arc::new(KernelSnapshot::take(options, &cache_dir.join(SNAPSHOTS))?);
    let peer_files = options
        .peers
        .then(|| PeerFiles::read(&options.folder, problem.peers()));
    let compiling = (language == Language::Python).then(|| {
        CompileAhead::start(
            &options.interpreter(),
            &snapshot.source(),
            &device.arch,
            &problem.calls(device),
        )
    });
    let race_check = race_check
        .map(|check| check.start(snapshot.clone()))
        .transpose()?;
    let candidate = CandidateBuild {
        env: &env,
        builder: &mut builder,
        incumbent: &mut incumbent,
    };
    let (image, module) = match language {
        Language::Cuda => {
            let built = candidate.build(&snapshot, &needs, out)?;
            if built.image.is_none() && fails_in_problem_header(&built.log) && !on_standby {
                // The header is made of problem.toml. If reference.cu does not build with it
                // either, problem.toml is wrong.
                if let Err(stop) = env.prepare(problem, &mut builder, out, &mut worker) {
                    out.text(&built.log)?;
                    return Err(stop);
                }
            }
            let image = builder.write_build(built, out)?;
            KernelBuilder::write_image(&image, out)?;
            let module = worker.load(&image.path)?;
            problem.require_entries(&mut worker, module)?;
            (image.path, module)
        }
        Language::Python => {
            let module = candidate.load(&snapshot, problem, &mut worker, out)?;
            (snapshot.source(), module)
        }
    };
    if !on_standby {
        env.prepare(problem, &mut builder, out, &mut worker)?;
    }
    out.stage(Stage::Verify)?;
    let mut verdict = env.verify(problem, &mut builder, out, &mut worker, module)?;
    // It must not work beside the measurement.
    drop(compiling);
    if let Some(JudgedWorkloads { judged, of, when }) = problem.judged_workloads() {
        out.line("workloads", format_args!("{judged} of={of} when={when}"))?;
    }
    if let Some(held_out) = held_out {
        let mut sealed = SealedCheck {
            env: &mut env,
            builder: &mut builder,
            worker: &mut worker,
            module,
        };
        let is_from_stock = problem.is_from_stock();
        verdict = sealed.check_again(held_out, is_from_stock, verdict, out)?;
    }
    if let Some(launched) = worker.launched() {
        write_launches(launched, out)?;
    }
    if verdict == Correctness::Pass
        && let Some(check) = race_check
    {
        verdict = check.write(out)?;
    }
    // What the cpu device takes says nothing about a GPU, so a keep is not timed there.
    if verdict == Correctness::Fail || (held_out.is_some() && device.emulated) {
        return Ok(verdict);
    }
    out.stage(Stage::Measure)?;
    if let Some(asked) = options.discipline {
        let candidate = Candidate {
            problem,
            worker: &mut worker,
            module,
            image: &image,
        };
        let verdict = env.measure_by(asked, candidate, &mut builder, out)?;
        let candidate = Candidate {
            problem,
            worker: &mut worker,
            module,
            image: &image,
        };
        return env.beside_peers(verdict, candidate, peer_files.as_ref(), &mut builder, out);
    }
    if incumbent.is_none() {
        let _access = env.access.wait(DeviceUse::Launching, out)?;
        incumbent = incumbent_state.set_up(&env, problem, &mut builder, &needs, out);
    }
    if let Some(caveat) = incumbent_state.caveat() {
        out.caveat(caveat)?;
    }
    let candidate = Candidate {
        problem,
        worker: &mut worker,
        module,
        image: &image,
    };
    let verdict = env.measure(candidate, &mut builder, out, &mut incumbent)?;
    drop(incumbent);
    let candidate = Candidate {
        problem,
        worker: &mut worker,
        module,
        image: &image,
    };
    env.beside_peers(verdict, candidate, peer_files.as_ref(), &mut builder, out)
}

/// Whether the compiler found an error in the header that the judge made of problem.toml.
fn fails_in_problem_header(log: &str) -> bool {
    let report = Report::read(log);
    let errors = report
        .diagnostics()
        .iter()
        .filter(|found| found.severity == Severity::Error);
    errors
        .map(|found| Path::new(&found.file))
        .any(|file| file.ends_with(PROBLEM_HEADER))
}

/// Writes `device:`, and `device_uuid:` and `driver:` if the device has them.
fn write_device(device: &DeviceInfo, out: &mut Writer) -> io::Result<()> {
    out.line("device", &device.name)?;
    for (key, value) in [("device_uuid", &device.uuid), ("driver", &device.driver)] {
        if !value.is_empty() {
            out.line(key, value)?;
        }
    }
    Ok(())
}

impl RunEnvironment<'_> {
    pub fn prepare(
        &self,
        problem: &mut dyn Problem,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        worker: &mut Worker,
    ) -> Result<(), Stop> {
        out.stage(Stage::Reference)?;
        self.with_context(builder, out, |cx| problem.prepare(cx, worker))
    }

    /// Draws inputs before the start signal. Takes the device's lock for each launch and gives it
    /// back after it, so that no launch runs beside another lab's measurement.
    fn draw_ahead(
        &self,
        problem: &mut dyn Problem,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        worker: &mut Worker,
        start: &mut StartSignal,
    ) -> Result<(), Stop> {
        let mut access = None;
        let mut is_idle = || {
            drop(access.take());
            access = self.access.wait_while_idle(|| start.received());
            !start.received()
        };
        self.with_context(builder, out, |cx| {
            problem.draw_ahead(cx, worker, &mut is_idle)
        })
    }

    /// Prepares the check before the next keep. Takes the device's lock as
    /// [`RunEnvironment::draw_ahead`] does, if that launches something.
    fn prepare_held_out(
        &self,
        problem: &mut dyn Problem,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        start: &mut StartSignal,
    ) -> Result<(), Stop> {
        let (mut access, launches) = (None, problem.launches_for_stock());
        let mut is_idle = || {
            drop(access.take());
            access = if launches {
                self.access.wait_while_idle(|| start.received())
            } else {
                None
            };
            !start.received()
        };
        self.with_context(builder, out, |cx| {
            problem.prepare_held_out(cx, &mut is_idle)
        })
    }

    pub fn verify(
        &self,
        problem: &mut dyn Problem,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop> {
        self.with_context(builder, out, |cx| {
            let _access = self.access.wait(DeviceUse::Launching, cx.out)?;
            let verdict = problem.verify(cx, worker, module)?;
            if let Some(folder) = &self.options.dump {
                std::fs::create_dir_all(folder).map_err(|e| {
                    Stop::Lab(format!(
                        "the dump folder {} cannot be made: {e}",
                        folder.display()
                    ))
                })?;
                problem.dump(cx, worker, module, folder)?;
            }
            Ok(verdict)
        })
    }

    fn measure(
        &self,
        candidate: Candidate,
        builder: &mut KernelBuilder,
        out: &mut Writer,
        incumbent: &mut Option<Incumbent>,
    ) -> Result<Correctness, Stop> {
        self.with_context(builder, out, |cx| {
            let _access = self.access.wait(DeviceUse::Measuring, cx.out)?;
            self.telemetry.start();
            let mut ended = |out: &mut Writer| self.telemetry.write(out);
            measuring::measure(cx, &self.options.plan, candidate, incumbent, &mut ended)
        })
    }

    /// Times the candidate beside the problem's peers, if it passed and they were asked for.
    fn beside_peers(
        &self,
        verdict: Correctness,
        candidate: Candidate,
        files: Option<&PeerFiles>,
        builder: &mut KernelBuilder,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        match (verdict, files) {
            (Correctness::Pass, Some(files)) => {
                peers::measure(self, builder, candidate, files, out)
            }
            (verdict, _) => Ok(verdict),
        }
    }

    /// Measures the candidate alone, by the discipline of `lab bench`.
    fn measure_by(
        &self,
        asked: Trials,
        candidate: Candidate,
        builder: &mut KernelBuilder,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        self.with_context(builder, out, |cx| {
            let _access = self
                .access
                .wait_for(PATIENCE_OF_BENCH, DeviceUse::Measuring, cx.out)?;
            self.telemetry.start();
            let verdict = discipline::measure(cx, asked, candidate)?;
            self.telemetry.write(cx.out)?;
            Ok(verdict)
        })
    }
}
