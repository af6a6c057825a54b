//! One run, from the first result line to the verdict.
//!
//! Without standby the candidate is built first, because most failures are found there. On standby
//! everything that does not depend on the candidate is done before the start signal.

use super::candidate::CandidateBuild;
use super::confinement;
use super::device_access::PATIENCE_OF_BENCH;
use super::discipline;
use super::incumbent::{self, Incumbent, IncumbentState};
use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::launch_lines::write_launches;
use super::measuring::{self, Candidate};
use super::peers::{self, PeerFiles};
use super::probing;
use super::race_check::RaceCheck;
use super::sealed_check::SealedCheck;
use super::session::{Opened, Session};
use super::start_signal::StartSignal;
use crate::compiler::SNAPSHOTS;
use crate::device_lock::DeviceUse;
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, BuildNeeds, HeldOutUse, Problem, StockUse};
use crate::sink::SharedSink;
use crate::worker::compile_ahead::CompileAhead;
use crate::worker::{Interpreter, ModuleId, Worker};
use lab_protocol::plan::Discipline;
use lab_protocol::report::{JudgedWorkloads, Report, Severity, Stage, Writer};
use lab_protocol::{JudgeKind, JudgeRequest, Language};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the header that the judge makes of problem.toml.
const PROBLEM_HEADER: &str = "lab_problem.h";

/// Judges the candidate and returns the verdict on correctness. With a start signal, does what it
/// can ahead and waits for it.
pub fn run(
    request: &Arc<JudgeRequest>,
    sink: &SharedSink,
    start: Option<&mut StartSignal>,
) -> Result<Correctness, Stop> {
    let out = &mut sink.writer();
    let mut run = Run::open(request, sink, out)?;
    let on_standby = start.is_some();
    if let Some(start) = start {
        run.stand_by(start, out)?;
        sink.clock.restart();
        if !run.is_alive() {
            // Something outside ended a child while this judge waited. The candidate did not run
            // yet, so start over.
            return self::run(request, sink, None);
        }
        out.stage(Stage::Build)?;
    }
    run.judge(on_standby, out)
}

/// A run, with everything that does not depend on the candidate.
struct Run {
    session: Session,
    builder: KernelBuilder,
    /// The candidate's worker.
    worker: Worker,
    problem: Box<dyn Problem>,
    needs: BuildNeeds,
    incumbent_state: IncumbentState,
    /// The incumbent, once it is set up.
    incumbent: Option<Incumbent>,
    race_check: Option<RaceCheck>,
    /// Only of a check on sealed inputs.
    held_out: Option<HeldOutUse>,
}

impl Run {
    /// Opens the problem and the device, and writes what they are.
    fn open(
        request: &Arc<JudgeRequest>,
        sink: &SharedSink,
        out: &mut Writer,
    ) -> Result<Self, Stop> {
        out.stage(Stage::Build)?;
        let mut problem = problem::open(&request.folder)?;
        problem.use_workloads(request.when);
        out.line("problem", problem.name())?;
        let (language, reference) = (request.language(), problem.reference());
        if let Some(why) = problem.refuses(language) {
            return Err(Stop::Problem(why));
        }
        confinement::require_trust_for_python(request, reference)?;
        let has_compiled_peer = || {
            let mut peers = problem.peers().iter();
            request.peers && peers.any(|peer| peer.language() == Language::Cuda)
        };
        // Where all is Python, nothing is compiled.
        let compiles = [Some(language), reference].contains(&Some(Language::Cuda));
        let incumbent_state = incumbent::start(request);
        let Opened {
            session,
            mut builder,
            worker,
        } = Session::open(request, sink, language, compiles || has_compiled_peer())?;
        let device = &session.device;
        session.write_device(
            &[("device_uuid", &device.uuid), ("driver", &device.driver)],
            out,
        )?;
        if builder.compiler.is_some() {
            out.line("compiler", builder.compiler()?.version()?)?;
        }
        if language == Language::Python {
            out.line("python", Interpreter::of(request))?;
        }
        let sandbox = session.declare(&worker, &builder, out)?;
        // A kernel that reads the cache folder would know the sealed inputs before their keep.
        if language == Language::Cuda && sandbox.missing().is_none() {
            problem.use_stock(match request.sealed_runs() {
                Some(_) => StockUse::Takes,
                None => StockUse::Makes,
            });
        }
        out.line("seed", session.seed)?;
        let needs = problem.build_needs(device);
        let held_out = request
            .sealed_runs()
            .map(|runs| problem.use_held_out_inputs(session.seed, runs))
            .transpose()?;
        Ok(Run {
            race_check: RaceCheck::new(&session)?,
            session,
            builder,
            worker,
            problem,
            needs,
            incumbent_state,
            incumbent: None,
            held_out,
        })
    }

    /// Does ahead what does not depend on the candidate, and waits for the start signal.
    fn stand_by(&mut self, start: &mut StartSignal, out: &mut Writer) -> Result<(), Stop> {
        // If somebody waits already, the build without precompiled headers is sooner done.
        if !start.received() {
            if self.session.request.language() == Language::Cuda {
                self.builder.warm_up(&self.needs)?;
            }
            self.race_check
                .as_mut()
                .map_or(Ok(()), RaceCheck::warm_up)?;
        }
        self.prepare(out)?;
        let (session, builder, problem) = (&mut self.session, &mut self.builder, &mut self.problem);
        session.draw_ahead(&mut **problem, builder, out, &mut self.worker, start)?;
        if problem.can_set_up_early() {
            let _access = session.access.wait_while_idle(|| start.received());
            if !start.received() {
                self.incumbent =
                    self.incumbent_state
                        .set_up(session, &mut **problem, builder, &self.needs, out);
            }
        }
        if session.figures.is_none() {
            session.figures = probing::probe_ahead(session, builder, out, start)?;
        }
        session.prepare_held_out(&mut **problem, builder, out, start)?;
        start.wait();
        Ok(())
    }

    /// Whether no child has ended.
    fn is_alive(&mut self) -> bool {
        let races = self.race_check.as_mut().is_none_or(RaceCheck::is_alive);
        self.worker.is_alive() && self.builder.is_alive() && races
    }

    /// Builds or loads the candidate, verifies it and times it.
    fn judge(mut self, on_standby: bool, out: &mut Writer) -> Result<Correctness, Stop> {
        let request = Arc::clone(&self.session.request);
        let snapshots = self.session.cache_dir.join(SNAPSHOTS);
        let snapshot = Arc::new(KernelSnapshot::take(&request, &snapshots)?);
        let peer_files = request
            .peers
            .then(|| PeerFiles::read(&request.folder, self.problem.peers()));
        let is_python = request.language() == Language::Python;
        let compiling = is_python.then(|| {
            CompileAhead::start(
                &Interpreter::of(&request),
                &snapshot.source(),
                &self.session.device.arch,
                &self.problem.calls(&self.session.device),
            )
        });
        let compiling = compiling.flatten();
        let race_check = self.race_check.take();
        let race_check = race_check
            .map(|check| check.start(Arc::clone(&snapshot)))
            .transpose()?;
        let (image, module) = self.build(&snapshot, on_standby, out)?;
        if !on_standby {
            self.prepare(out)?;
        }
        let mut verdict = self.verify(module, compiling, out)?;
        if verdict == Correctness::Pass
            && let Some(check) = race_check
        {
            verdict = check.write(out)?;
        }
        // What the cpu device takes says nothing about a GPU, so a keep is not timed there.
        let is_timed = self.held_out.is_none() || !self.session.device.emulated;
        if verdict == Correctness::Fail || !is_timed {
            return Ok(verdict);
        }
        self.measure((&image, module), peer_files.as_ref(), out)
    }

    /// Builds the candidate, or loads it if it is Python. Returns the image and its module in the
    /// worker.
    fn build(
        &mut self,
        snapshot: &KernelSnapshot,
        on_standby: bool,
        out: &mut Writer,
    ) -> Result<(PathBuf, ModuleId), Stop> {
        let candidate = CandidateBuild {
            env: &self.session,
            builder: &mut self.builder,
            incumbent: &mut self.incumbent,
        };
        if self.session.request.language() == Language::Python {
            let module = candidate.load(snapshot, &*self.problem, &mut self.worker, out)?;
            return Ok((snapshot.source(), module));
        }
        let built = candidate.build(snapshot, &self.needs, out)?;
        if built.image.is_none() && fails_in_problem_header(&built.log) && !on_standby {
            // The header is made of problem.toml. If reference.cu does not build with it either,
            // problem.toml is wrong.
            if let Err(stop) = self.prepare(out) {
                out.text(&built.log)?;
                return Err(stop);
            }
        }
        let image = self.builder.write_build(built, out)?;
        KernelBuilder::write_image(&image, out)?;
        let module = self.worker.load(&image.path)?;
        self.problem.require_entries(&mut self.worker, module)?;
        Ok((image.path, module))
    }

    fn prepare(&mut self, out: &mut Writer) -> Result<(), Stop> {
        let (builder, worker) = (&mut self.builder, &mut self.worker);
        self.session
            .prepare(&mut *self.problem, builder, out, worker)
    }

    /// Checks the candidate, on further sealed inputs too if they were asked for. What compiles
    /// ahead ends with the first check: it must not work beside the measurement.
    fn verify(
        &mut self,
        module: ModuleId,
        compiling: Option<CompileAhead>,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        out.stage(Stage::Verify)?;
        let (builder, worker) = (&mut self.builder, &mut self.worker);
        let problem = &mut *self.problem;
        let mut verdict = self.session.verify(problem, builder, out, worker, module)?;
        drop(compiling);
        if let Some(JudgedWorkloads { judged, of, when }) = problem.judged_workloads() {
            out.line("workloads", format_args!("{judged} of={of} when={when}"))?;
        }
        if let Some(held_out) = &self.held_out {
            let is_from_stock = problem.is_from_stock();
            let mut sealed = SealedCheck {
                env: &mut self.session,
                builder,
                worker,
                module,
            };
            verdict = sealed.check_again(held_out, is_from_stock, verdict, out)?;
        }
        if let Some(launched) = self.worker.launched() {
            write_launches(launched, out)?;
        }
        Ok(verdict)
    }

    /// Times the candidate: alone for a bench, else beside the incumbent; then beside the peers.
    fn measure(
        &mut self,
        (image, module): (&Path, ModuleId),
        peer_files: Option<&PeerFiles>,
        out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        out.stage(Stage::Measure)?;
        let (session, builder) = (&self.session, &mut self.builder);
        let is_bench = matches!(session.request.kind, JudgeKind::Bench(_));
        if !is_bench {
            if self.incumbent.is_none() {
                let _access = session.access.wait(DeviceUse::Launching, out)?;
                let problem = &mut *self.problem;
                self.incumbent =
                    self.incumbent_state
                        .set_up(session, problem, builder, &self.needs, out);
            }
            if let Some(caveat) = self.incumbent_state.caveat() {
                out.caveat(caveat)?;
            }
        }
        let mut candidate = Candidate {
            problem: &mut *self.problem,
            worker: &mut self.worker,
            module,
            image,
        };
        let mut incumbent = self.incumbent.take();
        let verdict = match session.request.kind {
            JudgeKind::Bench(asked) => {
                session.measure_by(asked, candidate.again(), builder, out)?
            }
            _ => session.measure(candidate.again(), builder, out, &mut incumbent)?,
        };
        drop(incumbent);
        match (verdict, peer_files) {
            (Correctness::Pass, Some(files)) => {
                peers::measure(session, builder, candidate, files, out)
            }
            (verdict, _) => Ok(verdict),
        }
    }
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

impl Session {
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
            if let Some(folder) = &self.request.dump {
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
            measuring::measure(cx, &self.request.plan, candidate, incumbent, &mut ended)
        })
    }

    /// Measures the candidate alone, by the discipline of `lab bench`.
    fn measure_by(
        &self,
        asked: Discipline,
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
