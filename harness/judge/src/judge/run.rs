//! One run, from the first result line to the verdict.
//!
//! Without standby the candidate is built first, because most failures are found there. On standby
//! everything that does not depend on the candidate is done before the start signal.

use super::candidate;
use super::confinement;
use super::incumbent::{self, Incumbent, IncumbentState};
use super::keep_tools::KeepTools;
use super::kernel_builder::KernelBuilder;
use super::kernel_snapshot::KernelSnapshot;
use super::launch_lines::write_launches;
use super::measuring::Candidate;
use super::peers::{self, PeerFiles};
use super::probing;
use super::processes::{GpuWorkers, start_shown};
use super::race_check::RaceCheck;
use super::sealed_check;
use super::session::Session;
use super::start_signal::StartSignal;

use crate::device_lock::DeviceUse;
use crate::outcome::{Result, Stop, unless_wrong, verdict_of};
use crate::problem::{self, BuildNeeds, Prepared, Problem, StockUse};
use crate::sink::SharedSink;
use crate::worker::compile_ahead::CompileAhead;
use crate::worker::{Interpreter, ModuleId, StartingWorker, Worker};
use lab_protocol::report::{JudgedWorkloads, Report, Severity, Stage};
use lab_protocol::{JudgeKind, JudgeRequest, Language};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the header that the judge makes of problem.toml.
const PROBLEM_HEADER: &str = "lab_problem.h";

/// Judges the candidate.
pub fn run(request: &Arc<JudgeRequest>, sink: &SharedSink) -> Result {
    let (mut run, problem) = Run::open(request, sink)?;
    run.judge(Phase::Opened(problem)).map(drop)
}

/// What a judge keeps for the next point of a sweep: all that does not depend on the candidate.
pub struct Kept {
    run: Run,
    problem: Prepared,
}

impl Kept {
    /// Forgets the candidate, and what was found out about it. Returns false if nothing can be judged
    /// by what is left.
    pub fn forget_candidate(&mut self) -> bool {
        let Kept { run, problem } = self;
        problem.forget_candidate();
        let mut get_ready = || -> Result {
            run.worker.unload_all()?;
            run.race_check = RaceCheck::new(&run.session)?;
            Ok(())
        };
        // A judge of its own says why an incumbent failed.
        let has_lost_incumbent = run.incumbent.is_none() && run.incumbent_state.is_spent();
        !has_lost_incumbent && get_ready().is_ok()
    }
}

/// Does ahead what does not depend on the candidate, waits for the start signal, and judges. `kept`
/// is what the point before has left, and gets what this one leaves. Nothing is left where the
/// request is for one kernel, and after a candidate that did not pass: what it did may have
/// harmed the workers.
pub fn run_on_standby(
    request: &Arc<JudgeRequest>,
    sink: &SharedSink,
    start: &mut StartSignal,
    kept: &mut Option<Kept>,
) -> Result {
    let (mut run, problem) = match kept.take() {
        Some(Kept { run, problem }) => {
            start.wait();
            (run, problem)
        }
        None => {
            let (mut run, problem) = Run::open(request, sink)?;
            let problem = run.stand_by(problem, start)?;
            sink.end_head();
            (run, problem)
        }
    };
    sink.clock.restart();
    if !run.is_alive() {
        // Something outside ended a child while this judge waited. The candidate did not run yet, so
        // start over.
        return self::run(request, sink);
    }
    run.session.out.stage(Stage::Build)?;
    run.session.is_enough = start.is_enough();
    let problem = run.judge(Phase::Prepared(problem))?;
    let is_kept = request.is_swept && request.language() == Language::Cuda;
    *kept = is_kept.then_some(Kept { run, problem });
    Ok(())
}

/// What a run has done with its problem before the candidate is built.
enum Phase {
    Opened(Problem),
    Prepared(Prepared),
}

impl Deref for Phase {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        match self {
            Phase::Opened(problem) => problem,
            Phase::Prepared(problem) => problem,
        }
    }
}

/// A run, with everything that does not depend on the candidate.
struct Run {
    session: Session,
    /// The candidate's worker.
    worker: Worker,

    needs: BuildNeeds,
    incumbent_state: IncumbentState,
    /// The incumbent, once it is set up.
    incumbent: Option<Incumbent>,
    race_check: Option<RaceCheck>,
    /// The candidate's workers for further trials, which are opening the device.
    further: Vec<StartingWorker>,
}

impl Run {
    /// Opens the problem and the device, and writes what they are.
    fn open(request: &Arc<JudgeRequest>, sink: &SharedSink) -> Result<(Self, Problem)> {
        let out = &mut sink.writer();
        out.stage(Stage::Build)?;
        let mut problem = problem::open(&request.folder)?;
        problem.use_workloads(request.when);
        if let (JudgeKind::Run, Some(folder)) = (&request.kind, &request.cells) {
            problem.keep_cells(folder);
        }
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
        // A run of Python alone compiles only what the judge's own worker computes with.
        let compiles = [language, reference].contains(&Language::Cuda) || has_compiled_peer();
        // A keep has the results of its reference already.
        let referred = request.sealed_runs().is_none().then_some(reference);
        let on_gpu = GpuWorkers::start(request, (referred, language), sink)?;
        let mut request = Arc::clone(request);
        let (memory, of_reference, of_candidate) = match on_gpu {
            Some(workers) => {
                // From here on `auto` is known.
                Arc::make_mut(&mut request).device = workers.target;
                (Some(workers.memory), workers.reference, workers.candidate)
            }
            None => (None, None, None),
        };
        let request = &request;
        // A Python imports for seconds, which several do at the same time.
        let is_python = language == Language::Python;
        let early = is_python.then(|| incumbent::start(request));
        let of_reference = match reference {
            Language::Cuda => of_reference,
            Language::Python => {
                let target = problem.reference_target(lab_device::resolve(request.device));
                Some(start_shown(request, reference, target, sink)?)
            }
        };
        let started = (language, of_candidate);
        let (mut session, worker) =
            Session::open(request, sink, started, compiles || memory.is_some())?;
        session.reference = of_reference;
        let (uuid, driver) = (session.device.uuid.clone(), session.device.driver.clone());
        session.write_device(&[("device_uuid", &uuid), ("driver", &driver)])?;
        if compiles {
            out.line("compiler", session.builder.compiler()?.version()?)?;
        }
        if let Some(memory) = memory {
            session.take_memory(memory)?;
            if session.memory.is_none() && !compiles {
                // It was for the judge's own worker, and may have ended.
                session.builder.compiler = None;
            }
        }
        let worker = session.with_memory(worker)?;
        if language == Language::Python {
            out.line("python", Interpreter::of(request))?;
        }
        let sandbox = session.declare(&worker)?;
        // A kernel that reads the cache folder would know the sealed inputs before their keep.
        if language == Language::Cuda && sandbox.missing().is_none() {
            problem.use_stock(match request.sealed_runs() {
                Some(_) => StockUse::Takes,
                None => StockUse::Makes,
            });
        }
        out.line("seed", session.seed)?;
        if request.sealed_runs().is_some() {
            problem.use_held_out_inputs(session.seed)?;
        }
        let run = Run {
            race_check: RaceCheck::new(&session)?,
            needs: problem.build_needs(&session.device),
            session,
            worker,
            incumbent_state: early.unwrap_or_default(),
            incumbent: None,
            further: Vec::new(),
        };
        Ok((run, problem))
    }

    /// Does ahead what does not depend on the candidate, and waits for the start signal.
    fn stand_by(&mut self, problem: Problem, start: &mut StartSignal) -> Result<Prepared> {
        // If somebody waits already, the build without precompiled headers is sooner done.
        if !start.received() {
            let request = &self.session.request;
            if request.language() == Language::Cuda && !request.is_swept {
                self.session.builder.warm_up(&self.needs)?;
            }
            self.race_check
                .as_mut()
                .map_or(Ok(()), RaceCheck::warm_up)?;
        }
        let mut problem = self.prepare(problem)?;
        let (session, worker) = (&mut self.session, &mut self.worker);
        session.while_idle(start, true, |cx, is_idle| {
            problem.draw_ahead(cx, worker, is_idle)
        })?;
        if problem.can_set_up_early() {
            let _access = session.access.take_while_idle(|| start.received());
            if !start.received() {
                self.set_up_incumbent(&mut problem);
            }
        }
        let session = &mut self.session;
        if !session.request.is_swept {
            if session.figures.is_none() {
                session.figures = probing::probe_ahead(session, start)?;
            }
            let launches = problem.launches_for_stock();
            session.while_idle(start, launches, |cx, is_idle| {
                problem.prepare_held_out(cx, is_idle)
            })?;
        }
        start.wait();
        Ok(problem)
    }

    /// Whether no child has ended.
    fn is_alive(&mut self) -> bool {
        let races = self.race_check.as_mut().is_none_or(RaceCheck::is_alive);
        let memory = self.session.memory.as_ref();
        let holds = memory.is_none_or(|memory| memory.is_alive());
        self.worker.is_alive() && self.session.builder.is_alive() && races && holds
    }

    /// Builds or loads the candidate, verifies it and times it. Returns the problem if it passes.
    fn judge(&mut self, problem: Phase) -> Result<Prepared> {
        let request = Arc::clone(&self.session.request);
        let snapshot = Arc::new(self.session.snapshot()?);
        let peer_files = request
            .peers
            .then(|| PeerFiles::read(&request.folder, problem.peers()));
        let is_python = request.language() == Language::Python;
        let compiling = is_python.then(|| {
            CompileAhead::start(
                &Interpreter::of(&request),
                &snapshot.source(),
                &self.session.device.arch,
                &problem.calls(&self.session.device),
            )
        });
        let compiling = compiling.flatten();
        let race_check = self.race_check.take();
        let race_check = race_check
            .map(|check| check.start(Arc::clone(&snapshot)))
            .transpose()?;
        let (image, module) = self.build(&snapshot, &problem)?;
        let sealed = request.sealed_runs();
        let tools = match sealed {
            Some(_) => KeepTools::start(&mut self.session, &snapshot.source(), &image)?,
            None => None,
        };
        let mut problem = match problem {
            Phase::Opened(problem) => self.prepare(problem)?,
            Phase::Prepared(problem) => problem,
        };
        let verified = self.verify(&mut problem, module, compiling);
        match (race_check, &verified) {
            (Some(check), Ok(())) => check.write(&mut self.session.out)?,
            // A race is often why the results are wrong, and it has a line.
            (Some(check), Err(Stop::Wrong)) => check.write_races(&mut self.session.out)?,
            (_, Ok(()) | Err(_)) => {}
        }
        verified?;
        if let Some(tools) = tools {
            tools.write(&mut self.session.out)?;
        }
        // What the cpu device takes says nothing about a GPU, so a keep is not timed there.
        if sealed.is_none() || !self.session.device.emulated {
            self.measure(&mut problem, (&image, module), peer_files.as_ref())?;
        }
        Ok(problem)
    }

    /// Builds the candidate, or loads it if it is Python. Returns the image and its module in the
    /// worker.
    fn build(&mut self, snapshot: &KernelSnapshot, problem: &Phase) -> Result<(PathBuf, ModuleId)> {
        let (session, incumbent) = (&mut self.session, &mut self.incumbent);
        if session.request.language() == Language::Python {
            let worker = &mut self.worker;
            let module = candidate::load(session, incumbent, snapshot, problem, worker)?;
            return Ok((snapshot.source(), module));
        }
        let built = candidate::build(session, incumbent, snapshot, &self.needs)?;
        let is_opened = matches!(problem, Phase::Opened(_));
        if built.image.is_none() && fails_in_problem_header(&built.log) && is_opened {
            // The header is made of problem.toml. If reference.cu does not build with it either,
            // problem.toml is wrong.
            let problem = problem::open(&session.request.folder)?;
            if let Err(stop) = session.prepare(problem, &mut self.worker) {
                session.out.text(&built.log)?;
                return Err(stop);
            }
        }
        let Session { builder, out, .. } = &mut self.session;
        let image = builder.write_build(built, out)?;
        KernelBuilder::write_image(&image, out)?;
        builder.write_targets(snapshot, &self.needs, out)?;
        let module = self.worker.load(&image)?;
        problem.require_entries(&mut self.worker, module)?;
        Ok((image, module))
    }

    /// Prepares the problem, and starts the processes that open the device meanwhile.
    fn prepare(&mut self, problem: Problem) -> Result<Prepared> {
        let session = &mut self.session;
        let problem = session.prepare(problem, &mut self.worker)?;
        self.further = session.start_further()?;
        if session.request.language() == Language::Cuda {
            // Not before: processes that open one GPU at the same time wait for one another.
            self.incumbent_state = incumbent::start(&session.request);
        }
        Ok(problem)
    }

    /// Sets the incumbent up, unless it was set up or has failed already.
    fn set_up_incumbent(&mut self, problem: &mut Prepared) {
        let session = &mut self.session;
        if let Some(incumbent) = self.incumbent_state.set_up(session, problem, &self.needs) {
            self.incumbent = Some(incumbent);
        }
    }

    /// Checks the candidate, on further sealed inputs too if they were asked for. What compiles
    /// ahead ends with the first check: it must not work beside the measurement.
    fn verify(
        &mut self,
        problem: &mut Prepared,
        module: ModuleId,
        compiling: Option<CompileAhead>,
    ) -> Result {
        let (session, worker) = (&mut self.session, &mut self.worker);
        session.out.stage(Stage::Verify)?;
        let mut right = unless_wrong(session.verify(problem, worker, module))?.is_some();
        drop(compiling);
        if let Some(JudgedWorkloads { judged, of, when }) = problem.judged_workloads() {
            let judged = format_args!("{judged} of={of} when={when}");
            session.out.line("workloads", judged)?;
        }
        if let Some(sealed) = session.request.sealed_runs() {
            let first = (right, problem.is_from_stock());
            right = sealed_check::check_again(session, (worker, module), sealed, first)?;
        }
        if let Some(launched) = self.worker.launched() {
            write_launches(launched, &mut session.out)?;
        }
        verdict_of(right)
    }

    /// Times the candidate: alone for a bench, else beside the incumbent; then beside the peers.
    fn measure(
        &mut self,
        problem: &mut Prepared,
        (image, module): (&Path, ModuleId),
        peer_files: Option<&PeerFiles>,
    ) -> Result {
        self.worker.forward_output();
        self.session.out.stage(Stage::Measure)?;
        let further = self.further.drain(..).map(StartingWorker::ready);
        let further: Vec<Worker> = further.collect::<Result<_>>()?;
        let mapping = further.into_iter();
        let mapping = mapping.map(|worker| self.session.with_memory(worker));
        self.session.further = mapping.collect::<Result<_>>()?;
        let is_bench = matches!(self.session.request.kind, JudgeKind::Bench(_));
        if !is_bench {
            if self.incumbent.is_none() {
                let _access = self.session.wait(DeviceUse::Launching)?;
                self.set_up_incumbent(problem);
            }
            if let Some(caveat) = self.incumbent_state.caveat() {
                self.session.out.caveat(caveat)?;
            }
        }
        let mut candidate = Candidate {
            problem,
            worker: &mut self.worker,
            module,
            image,
        };
        // A peer is timed when the incumbent has ended. The next point of a sweep has the same one.
        let mut incumbent = self.incumbent.take();
        self.session.measure(candidate.again(), &mut incumbent)?;
        self.incumbent = incumbent.filter(|_| self.session.request.is_swept);
        peer_files.map_or(Ok(()), |files| {
            peers::measure(&mut self.session, candidate, files)
        })
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
