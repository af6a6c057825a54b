//! A peer on the way to its turns: built or loaded, checked by the problem's gates, set up.

use crate::compiler::SNAPSHOTS;
use crate::device_lock::DeviceUse;
use crate::judge::incumbent::Incumbent;
use crate::judge::kernel_snapshot::KernelSnapshot;
use crate::judge::processes::{no_output, start_worker};
use crate::judge::session::Session;
use crate::outcome::{Correctness, Result, Stop};
use crate::problem::{self, LeftOut, PeerSpec, Problem, SetsUp, WorkerRole};
use crate::worker::{ModuleId, Worker};
use itertools::Itertools as _;
use lab_protocol::Language;
use lab_protocol::report::Report;
use std::sync::Arc;

/// Most times that a peer is started to find the workloads that it computes. A crash that ends its
/// process hides the workloads after it.
const MOST_STARTS: usize = 6;

/// A peer that gave right results, ready for its turns.
pub struct PreparedPeer {
    pub ready: Incumbent,
    /// The workloads that it does not compute: it is ready for the others.
    pub left_out: Vec<LeftOut>,
    /// How many workloads were checked, with those that are left out.
    pub of: usize,
}

/// The result of one start of a peer.
enum Started {
    Ready(Box<Incumbent>),
    /// It does not compute these workloads.
    Fails(Vec<LeftOut>),
}

impl PreparedPeer {
    /// Builds the peer, checks it by the problem's gates and sets it up for the workloads that it
    /// computes. `Ok(Err(why))` if it computes none.
    pub fn set_up(
        session: &mut Session,
        of: &Problem,
        (peer, file): (&PeerSpec, &[u8]),
    ) -> Result<Result<Self, String>> {
        let mut all = of.cases();
        all.retain(|case| !case.is_ragged);
        let mut left_out: Vec<LeftOut> = Vec::new();
        for _ in 0..MOST_STARTS {
            let found = match start(session, of, (peer, file), &left_out)? {
                Ok(Started::Ready(ready)) => {
                    let of = all.len();
                    return Ok(Ok(PreparedPeer {
                        ready: *ready,
                        left_out,
                        of,
                    }));
                }
                Ok(Started::Fails(found)) => found,
                Err(why) => return Ok(Err(why)),
            };
            left_out.extend(found);
            let is_left = |label: &String| left_out.iter().all(|left| left.label != *label);
            if !all
                .iter()
                .any(|case| !case.is_held_out && is_left(&case.label))
            {
                break;
            }
        }
        let first = left_out.into_iter().next();
        Ok(Err(first.map_or_else(
            || "it computes no workload".to_owned(),
            |first| first.why,
        )))
    }
}

/// Starts the peer, checks it on every workload that is not left out, and sets it up if it is right
/// on all of these.
fn start(
    session: &mut Session,
    of: &Problem,
    (peer, file): (&PeerSpec, &[u8]),
    left_out: &[LeftOut],
) -> Result<Result<Started, String>> {
    let (language, request) = (peer.language(), Arc::clone(&session.request));
    if language == Language::Python && !request.trusted {
        let source = peer.source.display();
        return Ok(Err(format!(
            "it is written in Python, and this folder is not trusted: look at {source}, then `lab trust`"
        )));
    }
    let of_peer = |session: &mut Session, key: &str, text: &str| {
        session.out.line(key, format_args!("{} {text}", peer.name))
    };
    of_peer(session, "peer_hash", &blake3::hash(file).to_hex())?;
    let starting = start_worker(&request, language, session.target, no_output())?;
    let call = peer.call(&String::from_utf8_lossy(file));
    if !call.is_empty() {
        of_peer(session, "peer_call", &call)?;
    }
    let mut worker = session.with_memory(starting.ready()?)?;
    worker.limit_altogether(Some(request.peer_limit));
    let module = load(session, of, (peer, file), &mut worker)?;
    let mut problem = problem::open(&request.folder)?;
    problem.use_workloads(request.when);
    problem.use_graph(peer.graph);
    problem.leave_out(&labels(left_out));
    problem.leave_out_ragged();
    let _access = session.wait(DeviceUse::Launching)?;
    let (verdict, lines) = session.capture(|cx| {
        let mut problem = problem.prepare(cx, &mut worker)?;
        let failed = problem.launch_each(cx, &mut worker, module)?;
        if !failed.is_empty() {
            return Ok(Err(failed));
        }
        let verdict = problem.verify(cx, &mut worker, module)?;
        Ok(Ok((problem, verdict)))
    });
    let fails = |why: String| Ok(failures(&lines, &why).map(Started::Fails).ok_or(why));
    let mut problem = match verdict {
        Ok(Ok((problem, Correctness::Pass))) => problem,
        Ok(Err(failed)) => return Ok(Ok(Started::Fails(failed))),
        Ok(Ok((_, Correctness::Fail))) => {
            let report = Report::read(&lines);
            let gate = report
                .failing_gate()
                .map(|gate| format!("{} is {:e}", gate.name, gate.value));
            let what = report
                .value("first_failure")
                .map(str::to_owned)
                .or(gate)
                .unwrap_or_default();
            return fails(format!("its results are wrong: {what}"));
        }
        Err(Stop::Crash(why)) => return fails(why),
        Err(stop) => return Err(stop),
    };
    let (timed, _) =
        session.capture(|cx| problem.set_up(cx, &mut worker, module, WorkerRole::Peer));
    let timed = timed?;
    let versions = worker.versions()?;
    worker.limit_altogether(None);
    if !versions.is_empty() {
        let words = versions
            .iter()
            .map(|(package, version)| format!("{package}={version}"))
            .join(" ");
        of_peer(session, "peer_versions", &words)?;
    }
    let mut ready = Incumbent::new(worker, timed);
    Ok(ready.warm_up().map(|()| Started::Ready(Box::new(ready))))
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

/// Builds a kernel.cu, or loads a Python file, as it was read.
fn load(
    session: &mut Session,
    of: &Problem,
    (peer, file): (&PeerSpec, &[u8]),
    worker: &mut Worker,
) -> Result<ModuleId> {
    let shown_as = peer.source.display().to_string();
    let name = peer.source.file_name().unwrap_or_default();
    let copy = KernelSnapshot::write(file, name, &shown_as, &session.cache_dir.join(SNAPSHOTS))?;
    match peer.language() {
        Language::Cuda => {
            let source = session.request.folder.join(&peer.source);
            let needs = of.build_needs(&session.device);
            let image = session.builder.peer(copy.source(), &source, &needs)?;
            worker.load(&image.path)
        }
        Language::Python => worker.load_with(&copy.source(), &peer.functions),
    }
}

/// The first line of why a peer has no figure, with its file and its function.
pub fn with_place(why: &str, peer: &PeerSpec, source: &str) -> String {
    let why = why.lines().next().unwrap_or_default();
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
    }
}
