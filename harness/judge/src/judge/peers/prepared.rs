//! A peer on the way to its turns: built or loaded, checked by the problem's gates, set up.

use crate::compiler::SNAPSHOTS;
use crate::device_lock::DeviceUse;
use crate::judge::incumbent::Incumbent;
use crate::judge::kernel_snapshot::KernelSnapshot;
use crate::judge::processes::{no_output, start_worker};
use crate::judge::session::Session;
use crate::outcome::{Result, Stop, unless_wrong};
use crate::problem::{LeftOut, PeerSpec, Problem, SetsUp, WorkerRole};
use crate::worker::{ModuleId, StartingWorker, Worker};
use itertools::Itertools as _;
use lab_device::Submission;
use lab_protocol::report::Report;
use lab_protocol::{Language, is_from_outside};
use lab_system::threads::{Beside, beside};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Most times that a peer is checked to find the workloads that it computes. A crash that ends its
/// process hides the workloads after it.
const MOST_CHECKS: usize = 6;

/// A peer and the bytes of its file.
pub type PeerFile<'a> = (&'a PeerSpec, &'a [u8]);

/// A peer that was loaded into a worker of its own.
pub struct LoadedPeer {
    worker: Worker,
    module: ModuleId,
}

/// What a worker loads of a peer.
struct PeerSource {
    /// The image of a kernel.cu, or the copy of a Python file.
    image: PathBuf,
    functions: Vec<(String, String)>,
    /// The copy, which stays until it is loaded.
    _copy: KernelSnapshot,
}

/// How long the preparation of a peer took, over all its checks.
#[derive(Default)]
pub struct Spent {
    /// One launch of each workload, in which Python compiles.
    launches: Duration,
    /// The check by the gates.
    check: Duration,
    /// Recording the launches that are timed, and the first of them.
    recording: Duration,
}

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let [launches, check, recording] =
            [self.launches, self.check, self.recording].map(|spent| spent.as_secs_f64());
        write!(
            f,
            "launches={launches:.1} check={check:.1} recording={recording:.1}"
        )
    }
}

/// A peer that gave right results, ready for its turns.
pub struct PreparedPeer {
    pub ready: Incumbent,
    pub spent: Spent,
    /// The workloads that it does not compute: it is ready for the others.
    pub left_out: Vec<LeftOut>,
    /// How many workloads were checked, with those that are left out.
    pub of: usize,
}

/// The result of one check of a peer.
enum Checked {
    Ready(Box<Incumbent>),
    /// It does not compute these workloads. Its worker can go on where it is given.
    Fails(Vec<LeftOut>, Option<Box<LoadedPeer>>),
}

impl LoadedPeer {
    /// Starts a worker for each of these peers and loads them, all side by side: a Python with
    /// PyTorch opens in seconds, and imports what a peer needs in seconds. An error is that peer's.
    pub fn load_all(
        session: &mut Session,
        of: &Problem,
        peers: Vec<Result<PeerFile>>,
    ) -> Vec<Result<LoadedPeer>> {
        let start = |peer: Result<PeerFile>| PeerSource::start(session, of, peer?);
        let starting = peers.into_iter().map(start).collect_vec();
        let opened = starting.into_iter().map(|peer| {
            let (starting, source) = peer?;
            Ok((session.with_memory(starting.ready()?)?, source))
        });
        let (opened, limit) = (opened.collect_vec(), session.request.peer_limit);
        std::thread::scope(|scope| {
            let load = |opened: Result<(Worker, PeerSource)>| {
                beside(scope, move || {
                    let (worker, source) = opened?;
                    source.load(worker, limit)
                })
            };
            let loading = opened.into_iter().map(load).collect_vec();
            loading.into_iter().map(Beside::join).collect()
        })
    }
}

impl PeerSource {
    /// Builds a kernel.cu, or copies a Python file, as it was read, and starts a worker.
    fn start(
        session: &mut Session,
        of: &Problem,
        (peer, file): PeerFile,
    ) -> Result<(StartingWorker, PeerSource)> {
        let (language, shown_as) = (peer.language(), peer.source.display().to_string());
        if language == Language::Python && !session.request.trusted {
            return Err(Stop::Problem(format!(
                "it is written in Python, and this folder is not trusted: look at {shown_as}, then `lab trust`"
            )));
        }
        let name = peer.source.file_name().unwrap_or_default();
        let snapshots = session.cache_dir.join(SNAPSHOTS);
        let copy = KernelSnapshot::write(file, name, &shown_as, &snapshots)?;
        let image = match language {
            Language::Cuda => {
                let source = session.request.folder.join(&peer.source);
                let needs = of.build_needs(&session.device);
                session.builder.peer(copy.source(), &source, &needs)?
            }
            Language::Python => copy.source(),
        };
        let source = PeerSource {
            image,
            functions: peer.functions.clone(),
            _copy: copy,
        };
        let starting = start_worker(&session.request, language, session.target, no_output())?;
        Ok((starting, source))
    }

    /// Loads it into a worker whose device is open, within this time.
    fn load(self, mut worker: Worker, limit: Duration) -> Result<LoadedPeer> {
        worker.limit_altogether(Some(limit));
        let module = worker.load_with(&self.image, &self.functions)?;
        Ok(LoadedPeer { worker, module })
    }
}

impl PreparedPeer {
    /// Checks a peer by the problem's gates, and sets it up for the workloads that it computes. An
    /// error says why it computes none.
    pub fn set_up(
        session: &mut Session,
        of: &Problem,
        peer: PeerFile,
        loaded: LoadedPeer,
    ) -> Result<Self> {
        let mut all = of.cases();
        all.retain(|case| !case.is_ragged);
        let (mut left_out, mut loaded) = (Vec::new(), Some(Box::new(loaded)));
        let mut spent = Spent::default();
        let submission = (loaded.as_ref()).map(|it| it.worker.submission(peer.0.graph));
        write_source(session, peer, submission)?;
        for _ in 0..MOST_CHECKS {
            let again = match loaded.take() {
                Some(loaded) => *loaded,
                None => LoadedPeer::load_all(session, of, vec![Ok(peer)]).remove(0)?,
            };
            match check(session, peer.0, again, &left_out, &mut spent)? {
                Checked::Ready(ready) => {
                    return Ok(PreparedPeer {
                        ready: *ready,
                        spent,
                        left_out,
                        of: all.len(),
                    });
                }
                Checked::Fails(found, goes_on) => {
                    left_out.extend(found);
                    loaded = goes_on;
                }
            }
            let is_left =
                |label: &String| left_out.iter().all(|left: &LeftOut| left.label != *label);
            if !all
                .iter()
                .any(|case| !case.is_held_out && is_left(&case.label))
            {
                break;
            }
        }
        let first = left_out.into_iter().next();
        let why = first.map_or_else(|| "it computes no workload".to_owned(), |first| first.why);
        Err(Stop::Crash(why))
    }
}

/// Writes which bytes a peer is, what it calls, and whether that runs as one graph.
fn write_source(
    session: &mut Session,
    (peer, file): PeerFile,
    submission: Option<Submission>,
) -> Result {
    let (out, name) = (&mut session.out, &peer.name);
    out.line(
        "peer_hash",
        format_args!("{name} {}", blake3::hash(file).to_hex()),
    )?;
    let call = peer.call(&String::from_utf8_lossy(file));
    if !call.is_empty() {
        let how = match submission {
            Some(Submission::Graph) => " | as one CUDA graph",
            Some(Submission::Plain) | None => "",
        };
        out.line("peer_call", format_args!("{name} {call}{how}"))?;
    }
    Ok(())
}

/// Checks a peer on every workload that is not left out, and sets it up if it is right on all of
/// these.
fn check(
    session: &mut Session,
    peer: &PeerSpec,
    mut loaded: LoadedPeer,
    left_out: &[LeftOut],
    spent: &mut Spent,
) -> Result<Checked> {
    let (worker, module) = (&mut loaded.worker, loaded.module);
    worker.limit_altogether(Some(session.request.peer_limit));
    let mut problem = session.open_problem()?;
    problem.judge_peer(peer.graph);
    problem.leave_out(&labels(left_out));
    let _access = session.wait(DeviceUse::Launching)?;
    let (verdict, lines) = session.capture(|cx| {
        let mut problem = problem.prepare(cx, worker)?;
        let began = Instant::now();
        let failed = problem.launch_each(cx, worker, module)?;
        spent.launches += began.elapsed();
        if !failed.is_empty() {
            return Ok(Err(failed));
        }
        let began = Instant::now();
        let right = unless_wrong(problem.verify(cx, worker, module))?.is_some();
        spent.check += began.elapsed();
        Ok(Ok((problem, right)))
    });
    let fails = |why: String, loaded| match failures(&lines, &why) {
        Some(found) => Ok(Checked::Fails(found, loaded)),
        None => Err(Stop::Crash(why)),
    };
    // A kernel in CUDA C++ that crashed leaves nothing that could be used.
    let goes_on = |mut loaded: LoadedPeer| {
        let goes_on = loaded.worker.is_python() && loaded.worker.is_alive();
        goes_on.then(|| Box::new(loaded))
    };
    let mut problem = match verdict {
        Ok(Ok((problem, true))) => problem,
        Ok(Err(failed)) => return Ok(Checked::Fails(failed, goes_on(loaded))),
        Ok(Ok((mut problem, false))) => {
            problem.take_down(worker)?;
            let report = Report::read(&lines);
            let gate = report
                .failing_gate()
                .map(|gate| format!("{} is {:e}", gate.name, gate.value));
            let what = report
                .value("first_failure")
                .map(str::to_owned)
                .or(gate)
                .unwrap_or_default();
            return fails(format!("its results are wrong: {what}"), goes_on(loaded));
        }
        Err(Stop::Crash(why)) if !is_from_outside(&why) => return fails(why, None),
        Err(stop) => return Err(stop),
    };
    let began = Instant::now();
    let (timed, _) = session.capture(|cx| problem.set_up(cx, worker, module, WorkerRole::Peer));
    let (timed, versions) = (timed?, worker.versions()?);
    worker.limit_altogether(None);
    if !versions.is_empty() {
        let words = versions
            .iter()
            .map(|(package, version)| format!("{package}={version}"))
            .join(" ");
        let line = format_args!("{} {words}", peer.name);
        session.out.line("peer_versions", line)?;
    }
    let mut ready = Incumbent::new(loaded.worker, timed);
    ready.warm_up().map_err(Stop::Crash)?;
    spent.recording += began.elapsed();
    Ok(Checked::Ready(Box::new(ready)))
}

/// The labels of these workloads.
pub fn labels(left_out: &[LeftOut]) -> Vec<String> {
    left_out.iter().map(|left| left.label.clone()).collect()
}

/// The workloads whose lines in a log say that they failed, the first of them for this reason.
/// `None` if no line does.
fn failures(log: &str, why: &str) -> Option<Vec<LeftOut>> {
    let outcome = |line: &str| {
        let (label, outcome) = line
            .strip_prefix("workload: ")?
            .split_once(" correctness=")?;
        matches!(outcome, "fail" | "crash").then(|| label.to_owned())
    };
    let labels = log.lines().filter_map(outcome).enumerate();
    let failed = labels.map(|(at, label)| {
        let why = if at == 0 {
            why
        } else {
            "its results are wrong"
        };
        LeftOut {
            label,
            why: why.to_owned(),
        }
    });
    Some(failed.collect_vec()).filter(|failed| !failed.is_empty())
}

/// The first line of why a peer has no figure, with its file and its function. If the machine ended
/// it, that says nothing of its source.
pub fn with_place(why: &str, peer: &PeerSpec, source: &str) -> String {
    let why = why.lines().next().unwrap_or_default();
    if is_from_outside(why) {
        let how = why.strip_prefix("the kernel crashed: ").unwrap_or(why);
        return format!("{how}; measure again");
    }
    let file = peer.source.display().to_string();
    // A worker knows a source by the name of its copy.
    let own = peer
        .source
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    match why
        .strip_prefix(own.as_ref())
        .filter(|rest| rest.starts_with(':'))
    {
        Some(rest) => format!("{file}{rest}"),
        None if why.starts_with(&file) => why.to_owned(),
        // A worker calls what it runs the kernel.
        None => {
            let why = why
                .strip_prefix("the kernel ")
                .map_or_else(|| why.to_owned(), |rest| format!("it {rest}"));
            format!("{why} ({})", peer.place(source))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_the_file_and_its_line() {
        let peer = PeerSpec {
            name: "a".into(),
            source: "other/peer.py".into(),
            functions: vec![("scale".into(), "f".into())],
            graph: true,
        };
        let said = |why: &str| with_place(why, &peer, "import torch\ndef f(x):\n    pass\n");
        assert_eq!(
            said("peer.py:3: error: no kernel.py\nTraceback"),
            "other/peer.py:3: error: no kernel.py"
        );
        assert_eq!(
            said("its results are wrong: y is 3"),
            "its results are wrong: y is 3 (f, other/peer.py:2)"
        );
        assert_eq!(
            said("the kernel crashed: so"),
            "it crashed: so (f, other/peer.py:2)"
        );
        assert_eq!(said("other/peer.py is empty"), "other/peer.py is empty");
        assert_eq!(
            said("the kernel crashed: its process was ended by SIGKILL (so)"),
            "its process was ended by SIGKILL (so); measure again"
        );
    }
}
