//! A peer on the way to its turns: built or loaded, checked by the problem's gates, set up.

use super::captured::Captured;
use super::files::PeerFile;
use crate::compiler::SNAPSHOTS;
use crate::device_lock::DeviceUse;
use crate::judge::incumbent::Incumbent;
use crate::judge::kernel_builder::KernelBuilder;
use crate::judge::kernel_snapshot::KernelSnapshot;
use crate::judge::processes::start_worker_quietly;
use crate::judge::run_environment::RunEnvironment;
use crate::outcome::{Correctness, Stop};
use crate::problem::{self, PeerSpec, Problem, WorkerRole};
use crate::worker::{ModuleId, Worker};
use lab_protocol::Language;
use lab_protocol::report::{Report, Writer};

/// A peer that gave right results, ready for its turns.
pub struct PreparedPeer {
    pub ready: Incumbent,
}

impl PreparedPeer {
    /// Builds the peer, checks it by the problem's gates and sets it up. `Ok(Err(why))` if its results are wrong.
    pub fn set_up(
        env: &RunEnvironment,
        builder: &mut KernelBuilder,
        of: &dyn Problem,
        (peer, file): (&PeerSpec, &PeerFile),
        out: &mut Writer,
    ) -> Result<Result<Self, String>, Stop> {
        let language = peer.language();
        if language == Language::Python && !env.options.trusted {
            let source = peer.source.display();
            return Ok(Err(format!(
                "it is written in Python, and this folder is not trusted: look at {source}, then `lab trust`"
            )));
        }
        out.line("peer_hash", format_args!("{} {}", peer.name, file.hash))?;
        let starting = start_worker_quietly(env.options, language, env.target)?;
        let call = peer.call(&file.text());
        if !call.is_empty() {
            out.line("peer_call", format_args!("{} {call}", peer.name))?;
        }
        let mut worker = starting.ready()?;
        worker.limit_altogether(Some(env.options.peer_limit));
        let module = load(env, builder, of, (peer, file), &mut worker)?;
        let mut problem = problem::open(&env.options.folder)?;
        problem.use_workloads(env.options.when);
        problem.use_graph(peer.graph);
        let _access = env.access.wait(DeviceUse::Launching, out)?;
        let (log, mut lines) = Captured::new();
        let verdict = env.with_context(builder, &mut lines, |cx| {
            problem.prepare(cx, &mut worker)?;
            problem.verify(cx, &mut worker, module)
        })?;
        if verdict == Correctness::Fail {
            let report = Report::read(&log.text());
            let gate = report.failing_gate().map(|gate| format!("{} is {:e}", gate.name, gate.value));
            let what = report.value("first_failure").map(str::to_owned).or(gate);
            return Ok(Err(format!("its results are wrong: {}", what.unwrap_or_default())));
        }
        let timed = env.with_context(builder, &mut lines, |cx| {
            problem.set_up(cx, &mut worker, module, WorkerRole::Incumbent)
        })?;
        let versions = worker.versions()?;
        worker.limit_altogether(None);
        if !versions.is_empty() {
            let words: Vec<String> =
                versions.iter().map(|(package, version)| format!("{package}={version}")).collect();
            out.line("peer_versions", format_args!("{} {}", peer.name, words.join(" ")))?;
        }
        let mut ready = Incumbent::new(worker, timed);
        Ok(ready.turn(0).map(|_| PreparedPeer { ready }))
    }
}

/// Builds a kernel.cu, or loads a Python file, as it was read.
fn load(
    env: &RunEnvironment,
    builder: &mut KernelBuilder,
    of: &dyn Problem,
    (peer, file): (&PeerSpec, &PeerFile),
    worker: &mut Worker,
) -> Result<ModuleId, Stop> {
    let shown_as = peer.source.display().to_string();
    let name = peer.source.file_name().unwrap_or_default();
    let copy = KernelSnapshot::write(&file.bytes, name, &shown_as, &env.cache_dir.join(SNAPSHOTS))?;
    match peer.language() {
        Language::Cuda => {
            let source = env.options.folder.join(&peer.source);
            let image = builder.peer(copy.source(), &source, &of.build_needs(env.device))?;
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
    let own = peer.source.file_name().unwrap_or_default().to_string_lossy();
    match why.strip_prefix(own.as_ref()).filter(|rest| rest.starts_with(':')) {
        Some(rest) => format!("{file}{rest}"),
        None if why.starts_with(&file) => why.to_owned(),
        None => format!("{why} ({})", peer.place(source)),
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
        assert_eq!(said("peer.py:3: error: no kernel.py\nTraceback"), "other/peer.py:3: error: no kernel.py");
        assert_eq!(
            said("its results are wrong: y is 3"),
            "its results are wrong: y is 3 (f, other/peer.py:2)"
        );
        assert_eq!(said("other/peer.py is empty"), "other/peer.py is empty");
    }
}
