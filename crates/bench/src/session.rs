//! Beginning or resuming a bench, and its runs one after the other.

use crate::record::{Bench, BenchOutcome, BenchPeers, BenchRun, BenchStart};
use crate::store::{BenchStore, PEERS};
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::Exit;
use lab_protocol::plan::Discipline;
use lab_protocol::report::Report;
use lab_run::inputs::Inputs;
use lab_run::verdict::Outcome;
use lab_runner::execute::{self, NotRun};
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_store::series::{OpenFolder, own_origin};
use lab_store::signature::Purpose;
use std::sync::Arc;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenchRequest {
    /// The number of runs; `None` is [`RUNS`], or of a bench that is resumed its own number.
    pub runs: Option<u32>,
    /// Parts of the discipline that were given.
    pub warm_up: Option<usize>,
    pub iterations: Option<usize>,
    pub trials: Option<usize>,
    /// Goes on with the newest bench of these bytes.
    pub resume: bool,
    /// Times the kernel beside the problem's peers after the last run.
    pub peers: bool,
}

/// Runs of a bench, if nobody says.
pub const RUNS: u32 = 6;

impl BenchRequest {
    /// The discipline, where `usual` holds for what was not given.
    fn discipline(&self, usual: Discipline) -> Discipline {
        Discipline {
            warm_up: self.warm_up.unwrap_or(usual.warm_up),
            iterations: self.iterations.unwrap_or(usual.iterations),
            trials: self.trials.unwrap_or(usual.trials),
        }
    }

    fn gives_discipline(&self) -> bool {
        self.warm_up.is_some() || self.iterations.is_some() || self.trials.is_some()
    }
}

/// What happens during a bench.
#[derive(Debug)]
pub enum BenchEvent<'a> {
    /// A run has begun.
    Began(u32),
    /// The result lines of the run in progress so far.
    Progress(u32, Arc<Report>),
    /// A run has ended and is recorded.
    Ended(&'a BenchRun),
    /// The kernel is timed beside the problem's peers, after the last run.
    Peers,
}

/// How a bench ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// All runs that were asked for are there.
    Complete,
    /// A run did not pass: more runs of these bytes say nothing.
    Failed,
    /// The caller ended it.
    Interrupted,
    /// The machine or the problem failed, and not the kernel. The text says why.
    NotJudged(String),
}

/// A bench as a command leaves or finds it.
#[derive(Debug)]
pub struct BenchState {
    pub bench: Bench,
    /// Runs that there are to be.
    pub wanted: u32,
    /// How measuring ended; `None` if nothing was measured.
    pub ended: Option<Ended>,
}

impl BenchState {
    /// A bench that is only shown.
    pub fn found(bench: Bench) -> Self {
        let wanted = bench.start.runs.max(bench.runs.len() as u32);
        BenchState {
            bench,
            wanted,
            ended: None,
        }
    }

    /// Whether there are as many runs as there are to be.
    pub fn is_complete(&self) -> bool {
        self.bench.runs.len() >= self.wanted as usize
    }

    /// The result of the bench, and why it did not pass.
    pub fn came_to(&self) -> (BenchOutcome, &str) {
        if let Some(run) = self.bench.failed_run() {
            return (run.came_to(), &run.why);
        }
        match &self.ended {
            Some(Ended::Interrupted) => (BenchOutcome::Interrupted, ""),
            Some(Ended::NotJudged(why)) => (BenchOutcome::NotJudged, why),
            _ if self.is_complete() => (BenchOutcome::Pass, ""),
            _ => (BenchOutcome::Incomplete, ""),
        }
    }

    /// The exit code of `lab bench`: a bench that is only shown is found.
    pub fn exit(&self) -> Exit {
        self.ended
            .as_ref()
            .map_or(Exit::Passed, |_| self.came_to().0.exit())
    }
}

/// A bench that goes on.
pub struct Session<'a> {
    pub(crate) project: &'a Project,
    pub(crate) spec: RunSpec,
    /// Read once, so that all runs are about the same bytes, whatever happens on disk meanwhile.
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) open: OpenFolder,
    pub bench: Bench,
    /// Runs that there are to be at the end.
    pub wanted: u32,
    /// Whether the peers are timed.
    times_peers: bool,
}

impl<'a> Session<'a> {
    /// Begins a bench, or opens the one that is to be resumed. Checks first what a run needs.
    pub fn begin(
        project: &'a Project,
        spec: RunSpec,
        request: &BenchRequest,
    ) -> Result<Self, NotRun> {
        let inputs = execute::inputs_of(project, &spec)?;
        if project.external() && request.gives_discipline() {
            return Err(NotRun::Refused(format!(
                "this kernel is judged by `{}`, which has a discipline of its own: leave --warm-up, --iterations and \
                 --trials out",
                project.config.harness_command()
            )));
        }
        let store = BenchStore::of(project);
        let spec = RunSpec {
            inputs: Some(Arc::clone(&inputs)),
            ..spec
        };
        let (bench, open) = match request.resume {
            true => resumed(project, &spec, &inputs, &store, request)?,
            false => begun(project, &spec, &inputs, &store, request)?,
        };
        let wanted = request
            .runs
            .unwrap_or(bench.start.runs)
            .max(bench.runs.len() as u32);
        Ok(Session {
            project,
            spec,
            inputs,
            open,
            bench,
            wanted,
            times_peers: request.peers,
        })
    }

    /// Makes the runs that are missing. Ends with the first one that does not pass. An error
    /// says what the disk refused: the run that it names is not recorded.
    pub fn run(
        &mut self,
        control: &Control,
        tell: &mut dyn FnMut(BenchEvent),
    ) -> anyhow::Result<Ended> {
        if self.bench.failed_run().is_some() {
            return Ok(Ended::Failed);
        }
        let mut made = false;
        while self.bench.runs.len() < self.wanted as usize {
            if control.is_ended() {
                return Ok(Ended::Interrupted);
            }
            let number = self
                .bench
                .runs
                .last()
                .map_or(1, |run| run.run.saturating_add(1));
            tell(BenchEvent::Began(number));
            let mut progress = |report| tell(BenchEvent::Progress(number, report));
            let run = match self.judge(number, control, &mut progress)? {
                Ok(run) => run,
                Err(ended) => return Ok(ended),
            };
            self.open.append(&run, run.run)?;
            tell(BenchEvent::Ended(&run));
            let passed = run.outcome == Outcome::Pass;
            self.bench.runs.push(run);
            made = true;
            if !passed {
                return Ok(Ended::Failed);
            }
        }
        self.time_peers(made, control, tell)
    }

    /// Times the kernel beside the problem's peers, if runs were `made` or it was not done to the end
    /// before.
    fn time_peers(
        &mut self,
        made: bool,
        control: &Control,
        tell: &mut dyn FnMut(BenchEvent),
    ) -> anyhow::Result<Ended> {
        let has_peers =
            self.times_peers && !self.project.external() && !self.inputs.peer_sources().is_empty();
        let is_done = |peers: &BenchPeers| peers.failure.is_none();
        if !has_peers || !made && self.bench.peers.as_ref().is_some_and(is_done) {
            return Ok(Ended::Complete);
        }
        if control.is_ended() {
            return Ok(Ended::Interrupted);
        }
        tell(BenchEvent::Peers);
        let (peers, ended) = self.beside_peers(control)?;
        if let Some(peers) = peers {
            self.open.write(PEERS, Purpose::BenchPeers, &peers)?;
            self.bench.peers = Some(peers);
        }
        Ok(ended)
    }
}

fn begun(
    project: &Project,
    spec: &RunSpec,
    inputs: &Inputs,
    store: &BenchStore,
    request: &BenchRequest,
) -> Result<(Bench, OpenFolder), NotRun> {
    let repo = Repo::open(project)?;
    // Without it git would show .lab as untracked. The bench is right all the same.
    let _ = lab_git::exclude(&repo);
    let blob = lab_git::blob_id(&repo, &project.kernel_name, inputs.kernel())?;
    let (start, open) = store.create(|id| BenchStart {
        origin: own_origin(),
        inputs: inputs.files(),
        clean_tree: lab_git::is_clean(&repo),
        command: project.config.harness_command(),
        target: spec.target(project),
        discipline: (!project.external()).then(|| request.discipline(Discipline::default())),
        runs: request.runs.unwrap_or(RUNS),
        ..BenchStart::now(
            id,
            project.kernel_name.clone(),
            blob,
            inputs.fingerprint.clone(),
        )
    })?;
    Ok((
        Bench {
            start,
            runs: Vec::new(),
            peers: None,
        },
        open,
    ))
}

fn resumed(
    project: &Project,
    spec: &RunSpec,
    inputs: &Inputs,
    store: &BenchStore,
    request: &BenchRequest,
) -> Result<(Bench, OpenFolder), NotRun> {
    let (kernel, target) = (&project.kernel_name, spec.target(project));
    let of_kernel = |start: &BenchStart| start.kernel == *kernel && start.target == target;
    let of_bytes = |start: &BenchStart| of_kernel(start) && start.fingerprint == inputs.fingerprint;
    let begin = format!("`lab bench{}` begins a new one", project.argument);
    // Without a bench of these bytes, the newest bench tells what changed since.
    let newest = store.starts(of_bytes).next();
    let Some(found) = newest.or_else(|| store.starts(of_kernel).next()) else {
        return Err(NotRun::Refused(format!(
            "there is no bench of {kernel} on the device {target} to resume: {begin}"
        )));
    };
    let id = found.bench;
    let Some(open) = store.open(id)? else {
        return Err(NotRun::Refused(format!(
            "bench {id} goes on in another process: wait for its end"
        )));
    };
    // Another process may have added runs before the lock was there.
    let bench = store.read(id)?;
    let refusal = why_not(&bench, inputs, request);
    refusal.map_or(Ok((bench, open)), |why| {
        Err(NotRun::Refused(format!("bench {id} {why}: {begin}")))
    })
}

/// Why a bench cannot be resumed; `None` if it can.
fn why_not(bench: &Bench, inputs: &Inputs, request: &BenchRequest) -> Option<String> {
    let (start, lab) = (&bench.start, env!("CARGO_PKG_VERSION"));
    if !bench.is_own() {
        return Some("was not written by this user's lab, or was changed since".to_owned());
    }
    if start.fingerprint != inputs.fingerprint {
        let paths = lab_run::inputs::differences(&start.inputs, &inputs.files()).join(", ");
        return Some(format!("is of other bytes or rules: {paths} changed since"));
    }
    if start.lab != lab {
        return Some(format!("was begun by lab {}, and this is {lab}", start.lab));
    }
    let wanted = start.discipline.map(|was| (was, request.discipline(was)));
    if let Some((was, wanted)) = wanted.filter(|(was, wanted)| was != wanted) {
        return Some(format!(
            "has the discipline {was}, and {wanted} was asked for"
        ));
    }
    let BenchRun { run, why, .. } = bench.failed_run()?;
    Some(format!("ended with run {run}, which did not pass ({why})"))
}
