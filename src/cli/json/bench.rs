//! A bench as JSON.

use super::{to_text, write_answer, write_value};
use jiff::Timestamp;
use lab_bench::record::WorkloadRun;
use lab_bench::{
    BenchId, BenchOutcome, BenchRun, BenchState, BenchStore, BenchedDevice, Comparison, Discipline,
    Summary,
};
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::Fingerprint;
use lab_run::peers::MeasuredPeer;
use schemars::JsonSchema;
use serde::Serialize;

/// `lab bench`, and what `lab bench --export json` writes.
#[derive(JsonSchema, Serialize)]
pub struct BenchReport<'a> {
    /// Its number.
    bench: BenchId,
    /// Path of the kernel, relative to the repository.
    kernel: &'a str,
    /// Git blob id of the kernel.
    blob: &'a str,
    /// Hash of everything that a verdict depends on.
    fingerprint: &'a Fingerprint,
    /// Whether a harness of the user's own measured.
    external: bool,
    /// Whether its records are not this user's, or were changed.
    foreign: bool,
    /// Of the first run.
    device: Option<&'a BenchedDevice>,
    /// The device that was asked for.
    target: &'a str,
    /// Whether the times say nothing about a GPU.
    emulated: bool,
    /// Null of a harness of the user's own.
    discipline: Option<Discipline>,
    /// When it began.
    started: Timestamp,
    outcome: BenchOutcome,
    /// The reason, if it is not `pass`.
    why: &'a str,
    /// Runs that were asked for.
    runs_wanted: u32,
    /// Whether there are so many.
    complete: bool,
    #[serde(flatten)]
    summary: Summary,
    /// In order.
    runs: Vec<BenchRunReport<'a>>,
    /// What was timed beside the problem's peers after the last run.
    peers: &'a [MeasuredPeer],
    /// Why the peers could not be timed; null if they were, or there are none.
    peers_failure: Option<&'a str>,
    /// With `--beside`: the ratios to the other bench.
    beside: Option<&'a Comparison>,
    /// Path of the bench's folder.
    folder: String,
}

/// One run of a bench.
#[derive(JsonSchema, Serialize)]
struct BenchRunReport<'a> {
    /// Its number within the bench.
    run: u32,
    /// When it started.
    started: Timestamp,
    /// How long it took.
    seconds: f64,
    outcome: BenchOutcome,
    /// The reason; empty on a pass.
    why: &'a str,
    /// Workloads that passed.
    passed: usize,
    /// Arithmetic mean over the workloads; null unless all passed.
    mean_us: Option<f64>,
    /// In the order of the problem.
    workloads: &'a [WorkloadRun],
    caveats: &'a [String],
    /// Path of its log.
    log: String,
}

impl<'a> BenchReport<'a> {
    pub fn of(project: &Project, state: &'a BenchState, beside: Option<&'a Comparison>) -> Self {
        let (bench, start) = (&state.bench, &state.bench.start);
        let store = BenchStore::of(project);
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
            beside,
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
