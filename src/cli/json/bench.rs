//! A bench as JSON.

use super::{to_text, write_answer, write_value};
use jiff::Timestamp;
use lab_bench::record::WorkloadRun;
use lab_bench::{
    BenchId, BenchOutcome, BenchRun, BenchState, BenchStore, BenchedDevice, Discipline, Summary,
};
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::Fingerprint;
use lab_run::peers::MeasuredPeer;
use serde::Serialize;

/// A bench with all its runs. Times are in µs.
#[derive(Serialize)]
pub struct BenchReport<'a> {
    bench: BenchId,
    kernel: &'a str,
    blob: &'a str,
    fingerprint: &'a Fingerprint,
    external: bool,
    /// Not this user's, or changed since it was written.
    foreign: bool,
    device: Option<&'a BenchedDevice>,
    target: &'a str,
    emulated: bool,
    /// `None` of an external harness.
    discipline: Option<Discipline>,
    started: Timestamp,
    outcome: BenchOutcome,
    why: &'a str,
    runs_wanted: u32,
    complete: bool,
    #[serde(flatten)]
    summary: Summary,
    runs: Vec<BenchRunReport<'a>>,
    /// What was timed beside the problem's peers after the last run.
    peers: &'a [MeasuredPeer],
    /// Why the peers could not be timed; `None` if they were, or there are none.
    peers_failure: Option<&'a str>,
    /// Bytes of the path that are not UTF-8 are replaced.
    folder: String,
}

#[derive(Serialize)]
struct BenchRunReport<'a> {
    run: u32,
    started: Timestamp,
    seconds: f64,
    outcome: BenchOutcome,
    why: &'a str,
    passed: usize,
    mean_us: Option<f64>,
    workloads: &'a [WorkloadRun],
    caveats: &'a [String],
    log: String,
}

impl<'a> BenchReport<'a> {
    pub fn of(project: &Project, state: &'a BenchState) -> Self {
        let (bench, start) = (&state.bench, &state.bench.start);
        let store = BenchStore::new(&project.lab_dir);
        let (outcome, why) = state.came_to();
        let run = |run: &'a BenchRun| BenchRunReport {
            run: run.run,
            started: run.started,
            seconds: run.seconds,
            outcome: run.came_to(),
            why: &run.why,
            passed: run.passed(),
            mean_us: run.mean_us(),
            workloads: &run.workloads,
            caveats: &run.caveats,
            log: store.log(run.bench, run.run).to_string_lossy().into_owned(),
        };
        let peers = bench.peers.as_ref();
        BenchReport {
            bench: start.bench,
            kernel: &start.kernel,
            blob: &start.blob,
            fingerprint: &start.fingerprint,
            external: start.is_external(),
            foreign: !bench.is_own(),
            device: bench.device(),
            target: &start.target,
            emulated: bench.is_emulated(),
            discipline: start.discipline,
            started: start.started,
            outcome,
            why,
            runs_wanted: state.wanted,
            complete: state.is_complete(),
            summary: Summary::of(bench),
            runs: bench.runs.iter().map(run).collect(),
            peers: peers.map_or(&[], |of| &of.peers),
            peers_failure: peers.and_then(|of| of.failure.as_deref()),
            folder: store.folder(start.bench).to_string_lossy().into_owned(),
        }
    }
}

/// A value as JSON text.
pub fn as_text(value: &serde_json::Value) -> String {
    to_text(|out| write_value(out, value))
}

/// The text of `--export json`: the object that `--json` prints.
pub fn as_export(exit: Exit, report: &BenchReport) -> String {
    to_text(|out| write_answer(out, Some("bench"), exit.into(), None, report))
}
