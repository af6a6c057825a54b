//! A bench as JSON.

use super::peers::PeerReport;
use super::{finite, write_answer, write_value};
use lab_core::bench::record::{WorkloadOutcome, WorkloadRun};
use lab_core::bench::summary::{Group, TimeOverRuns, WorkloadSummary};
use lab_core::bench::{
    BenchDigest, BenchRun, BenchState, BenchStore, BenchedDevice, Discipline, Ended, Summary,
};
use lab_core::project::Project;
use lab_core::run::Fingerprint;
use lab_core::run::verdict::Outcome;
use lab_protocol::Exit;
use serde::Serialize;

/// A bench with all its runs. Times are in µs.
#[derive(Serialize)]
pub struct BenchReport {
    bench: u64,
    kernel: String,
    blob: String,
    fingerprint: Fingerprint,
    external: bool,
    /// Not this user's, or changed since it was written.
    foreign: bool,
    device: Option<BenchedDevice>,
    target: String,
    emulated: bool,
    /// `None` of an external harness.
    discipline: Option<Discipline>,
    started: String,
    /// `pass`, `fail`, `build_error`, `crash`, `interrupted`, `not_judged`, `incomplete`.
    outcome: &'static str,
    why: String,
    runs_wanted: u32,
    complete: bool,
    /// Workloads that passed in every run, and all workloads.
    passed: usize,
    workload_count: usize,
    mean_us: Option<TimeReport>,
    geometric_mean_us: Option<TimeReport>,
    slowest_workload: Option<String>,
    groups: Vec<GroupReport>,
    workloads: Vec<WorkloadReport>,
    runs: Vec<BenchRunReport>,
    /// What was timed beside the problem's peers after the last run.
    peers: Vec<PeerReport>,
    /// Why the peers could not be timed; `None` if they were, or there are none.
    peers_failure: Option<String>,
    caveats: Vec<String>,
    /// Bytes of the path that are not UTF-8 are replaced.
    folder: String,
}

/// A time over the runs: the mean, and the fastest and the slowest run.
#[derive(Serialize)]
struct TimeReport {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    spread_pct: Option<f64>,
}

#[derive(Serialize)]
struct GroupReport {
    runs: Vec<u32>,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
struct WorkloadReport {
    name: String,
    outcome: WorkloadOutcome,
    kernel_us: Option<TimeReport>,
}

#[derive(Serialize)]
struct BenchRunReport {
    run: u32,
    started: String,
    seconds: Option<f64>,
    outcome: &'static str,
    why: String,
    passed: usize,
    mean_us: Option<f64>,
    workloads: Vec<WorkloadRunReport>,
    caveats: Vec<String>,
    log: String,
}

#[derive(Serialize)]
struct WorkloadRunReport {
    name: String,
    outcome: WorkloadOutcome,
    kernel_us: Option<f64>,
    trials_us: Vec<f64>,
}

impl BenchReport {
    pub fn of(project: &Project, state: &BenchState) -> Self {
        let bench = &state.bench;
        let (start, summary) = (&bench.start, Summary::of(bench));
        let store = BenchStore::new(&project.lab_dir);
        let (outcome, why) = outcome(state);
        let (passed, workload_count) = summary.passed();
        BenchReport {
            bench: start.bench.0,
            kernel: start.kernel.clone(),
            blob: start.blob.clone(),
            fingerprint: start.fingerprint.clone(),
            external: start.is_external(),
            foreign: !bench.is_own(),
            device: bench.runs.first().map(|run| run.device.clone()),
            target: start.target.clone(),
            emulated: bench.runs.iter().any(|run| run.emulated),
            discipline: start.discipline,
            started: start.started.to_string(),
            outcome,
            why,
            runs_wanted: state.wanted,
            complete: state.is_complete(),
            passed,
            workload_count,
            mean_us: summary.mean.as_ref().map(TimeReport::of),
            geometric_mean_us: summary.geometric.as_ref().map(TimeReport::of),
            slowest_workload: summary.worst.map(|(name, _)| name),
            groups: summary
                .groups
                .iter()
                .flatten()
                .map(GroupReport::of)
                .collect(),
            workloads: summary.workloads.iter().map(WorkloadReport::of).collect(),
            runs: bench
                .runs
                .iter()
                .map(|run| BenchRunReport::of(&store, run))
                .collect(),
            peers: bench
                .peers
                .iter()
                .flat_map(|of| &of.peers)
                .map(PeerReport::of)
                .collect(),
            peers_failure: bench.peers.as_ref().and_then(|of| of.failure.clone()),
            caveats: summary.caveats,
            folder: store.folder(start.bench).to_string_lossy().into_owned(),
        }
    }
}

fn outcome(state: &BenchState) -> (&'static str, String) {
    if let Some(run) = state.bench.failed_run() {
        return (word(run), run.why.clone());
    }
    match &state.ended {
        Some(Ended::Interrupted) => ("interrupted", String::new()),
        Some(Ended::NotJudged(why)) => ("not_judged", why.clone()),
        _ if state.is_complete() => ("pass", String::new()),
        _ => ("incomplete", String::new()),
    }
}

fn word(run: &BenchRun) -> &'static str {
    match run.outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Crash if run.build_failed => "build_error",
        Outcome::Crash => "crash",
        // No run of these outcomes is recorded.
        Outcome::Void | Outcome::NotJudged => "not_judged",
    }
}

/// A bench in `lab log`.
#[derive(Serialize)]
pub struct BenchDigestReport {
    bench: u64,
    device: Option<String>,
    emulated: bool,
    foreign: bool,
    /// Runs that have ended.
    runs: usize,
    mean_us: Option<TimeReport>,
    passed: usize,
    workload_count: usize,
}

impl BenchDigestReport {
    pub fn of(digest: &BenchDigest) -> Self {
        BenchDigestReport {
            bench: digest.bench.0,
            device: digest.device.clone(),
            emulated: digest.emulated,
            foreign: digest.foreign,
            runs: digest.runs,
            mean_us: digest.mean.as_ref().map(TimeReport::of),
            passed: digest.passed,
            workload_count: digest.workloads,
        }
    }
}

impl TimeReport {
    fn of(time: &TimeOverRuns) -> Self {
        TimeReport {
            value: finite(time.mean),
            low: finite(time.low),
            high: finite(time.high),
            spread_pct: finite(time.spread_pct()),
        }
    }
}

impl GroupReport {
    fn of(group: &Group) -> Self {
        GroupReport {
            runs: group.runs.clone(),
            low: finite(group.low),
            high: finite(group.high),
        }
    }
}

impl WorkloadReport {
    fn of(workload: &WorkloadSummary) -> Self {
        WorkloadReport {
            name: workload.name.clone(),
            outcome: workload.outcome,
            kernel_us: workload.us.as_ref().map(TimeReport::of),
        }
    }
}

impl BenchRunReport {
    fn of(store: &BenchStore, run: &BenchRun) -> Self {
        let workload = |workload: &WorkloadRun| WorkloadRunReport {
            name: workload.name.clone(),
            outcome: workload.outcome,
            kernel_us: workload.us.and_then(finite),
            trials_us: workload.trials_us.clone(),
        };
        BenchRunReport {
            run: run.run,
            started: run.started.to_string(),
            seconds: finite(run.seconds),
            outcome: word(run),
            why: run.why.clone(),
            passed: run.passed(),
            mean_us: run.mean_us().and_then(finite),
            workloads: run.workloads.iter().map(workload).collect(),
            caveats: run.caveats.clone(),
            log: store.log(run.bench, run.run).to_string_lossy().into_owned(),
        }
    }
}

/// A value as JSON text.
pub fn as_text(value: &serde_json::Value) -> String {
    let mut out = Vec::new();
    // Memory takes every byte.
    let _ = write_value(&mut out, value);
    String::from_utf8_lossy(&out).into_owned()
}

/// The text of `--export json`: the object that `--json` prints.
pub fn as_export(exit: Exit, report: &BenchReport) -> String {
    let mut out = Vec::new();
    // Memory takes every byte, and the report has texts and numbers only.
    let _ = write_answer(&mut out, Some("bench"), exit.into(), None, report);
    String::from_utf8_lossy(&out).into_owned()
}
