//! A run as JSON: what was judged, the verdict, its figures and what the harness said.

use crate::cli::diagnostics::diagnostics;
use crate::cli::verdict::Judged;
use jiff::Timestamp;
use lab_history::last_peers;
use lab_project::config::{Config, Goal};
use lab_project::objective::Objective;
use lab_protocol::report::workloads::{name, named_of, named_words};
use lab_protocol::report::{
    AggregateOf, Diagnostic, JudgedWorkloads, LaunchLine, Measure, Report, ScratchLine, Speed,
    TargetLine, WorkloadSpeeds, number,
};
use lab_run::experiment::Correctness;
use lab_run::message::{TrailerKey, last_value};
use lab_run::peers::{MeasuredPeer, PeerFigure};
use lab_run::record::Draft;
use lab_run::verdict::{Change, Figure, Outcome, Verdict};
use lab_run::{Fingerprint, Reason, RunId};
use lab_store::RunStore;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run and its verdict. Figures are null unless it passed.
#[derive(JsonSchema, Serialize)]
pub struct RunReport {
    /// Number of the run; null if it was not judged.
    pub run: Option<RunId>,
    /// Why the run started.
    reason: Reason,
    /// Path of the kernel, relative to the repository.
    kernel: String,
    /// Git blob id of the judged kernel.
    blob: String,
    /// Hash of everything that the verdict depends on.
    fingerprint: Fingerprint,
    /// Whether a harness of the user's own judged.
    external: bool,
    /// As the harness named it.
    device: Option<String>,
    /// The times are of an emulated device and say nothing about a GPU.
    emulated: bool,
    /// Not this user's `lab` wrote the record, or it was changed since.
    foreign: bool,
    /// What the run came to. `not_judged`: the problem, the driver or the reference is at fault,
    /// not the kernel. `void`: no verdict belongs to the bytes.
    #[schemars(extend("enum" = ["pass", "fail", "build_error", "crash", "not_judged", "void"]))]
    outcome: &'static str,
    /// `pass` only if the outcome is `pass`; null if it was not judged.
    correctness: Option<Correctness>,
    /// The reason; empty on a pass.
    why: String,
    /// The measure.
    objective: ObjectiveReport,
    /// How the figures of several workloads became the objective; null of a single workload, and if
    /// your own harness does not say so.
    aggregate: Option<AggregateOf>,
    /// Samples per second, as in the ledger; null if lab.toml names another objective.
    throughput_sps: Option<f64>,
    /// Microseconds of one launch.
    kernel_us: Option<f64>,
    #[serde(flatten)]
    comparison: ComparisonReport,
    /// Registers of a thread.
    registers: Option<u64>,
    /// Spilled bytes of a thread.
    spill_bytes: Option<u64>,
    /// Shared memory of a block, in bytes.
    shared_bytes: Option<u64>,
    /// The architecture of a GPU's image, such as sm_90a.
    built_for: Option<String>,
    /// How the timed launches got to the device.
    #[schemars(extend("enum" = ["graph", "plain", null]))]
    launched_as: Option<String>,
    /// What the kernel needs on the architectures that problem.toml names as targets.
    targets: Vec<TargetLine>,
    /// The launches of the launch statement that differ in more than their arguments, in order.
    launches: Vec<LaunchLine>,
    /// The scratch buffer of a launch list.
    scratch: Option<ScratchLine>,
    /// The `workload:` lines, in order.
    workloads: Vec<WorkloadReport>,
    /// The verdicts on the workloads; null unless several were timed in turns with the incumbent.
    workload_speeds: Option<WorkloadSpeeds>,
    /// How many of the problem's workloads were judged; null of a harness that does not say so.
    judged_workloads: Option<JudgedWorkloads>,
    /// What the run timed beside the problem's peers: of `lab bench --verdict`.
    peers: Vec<MeasuredPeer>,
    /// What was last timed beside the peers, of the same bytes, rules and device.
    last_peers: Vec<PeerFigure>,
    /// The result lines with a limit, in order.
    gates: Vec<GateReport>,
    /// The first wrong value, with its place and both values.
    first_failure: Option<String>,
    /// The compiler messages, in order; of a check its findings. At most 1,000; all are in run.log.
    diagnostics: Vec<Diagnostic>,
    /// Sentences that limit what the result shows.
    caveats: Vec<String>,
    /// What a command of `lab auto` said of a run that the rule left to a person; else null.
    draft: Option<DraftReport>,
    /// Time in UTC, as in 2026-11-22T08:10:00Z.
    started: Timestamp,
    /// From the start of the run to its end.
    seconds: Option<f64>,
    /// Path of run.log.
    log: String,
}

/// The message that a decision by rule would have had.
#[derive(JsonSchema, Serialize)]
struct DraftReport {
    description: String,
    hypothesis: Option<String>,
    lesson: Option<String>,
}

impl DraftReport {
    fn of(draft: &Draft) -> DraftReport {
        let value = |key| last_value(&draft.trailers, &key).map(str::to_owned);
        DraftReport {
            description: draft.description.clone(),
            hypothesis: value(TrailerKey::Hypothesis),
            lesson: value(TrailerKey::Lesson),
        }
    }
}

/// The measure that lab.toml or problem.toml names.
#[derive(JsonSchema, Serialize)]
struct ObjectiveReport {
    /// The key of the result line that lab.toml names.
    name: String,
    /// Which way is better.
    goal: Goal,
    /// Null unless the run passed and was measured.
    value: Option<f64>,
    /// Lower end of the 95 % interval.
    low: Option<f64>,
    /// Upper end of the 95 % interval.
    high: Option<f64>,
}

/// How the candidate compares with the incumbent.
#[derive(Default, JsonSchema, Serialize)]
pub struct ComparisonReport {
    /// Candidate over incumbent as a ratio: 1.021 is 2.1 % better. Above 1 the candidate is better:
    /// for a time, the ratio is the incumbent's over the candidate's. Null without a comparison.
    pub ratio: Option<Measure>,
    /// How the ratios of several workloads became this one; null if it is the objective's
    /// aggregate, as of the built-in harness, and if your own harness does not say so.
    ratio_aggregate: Option<AggregateOf>,
    /// The verdict on speed; null if the two were not timed in turns.
    pub speed: Option<Speed>,
    /// What the candidate was compared with: the incumbent in turns, or its recorded figure.
    #[schemars(extend("enum" = ["incumbent", "incumbent's record", null]))]
    against: Option<&'static str>,
}

#[derive(JsonSchema, Serialize)]
struct GateReport {
    /// The key of its result line.
    name: String,
    /// Null if it is not finite.
    value: f64,
    /// Null if it is not finite.
    limit: f64,
    /// Whether the value is at most the limit.
    pass: bool,
    /// Where the value was found, as in `y[3, 0]`.
    at: Option<String>,
}

impl RunReport {
    /// The report of a run that has ended. Reads its run.log.
    pub fn of(judged: &Judged) -> Self {
        let Judged {
            project,
            index,
            record,
            verdict,
            ..
        } = *judged;
        let report = record.report();
        let start = &record.start;
        let records = RunStore::of(project);
        let is_judged = verdict.outcome != Outcome::NotJudged;
        let config = &project.config;
        let figure = verdict.figure(&config.objective);
        let last = last_peers::of(project, index, &start.fingerprint, record.device.as_deref());
        let is_count = |n: &f64| n.fract() == 0.0 && (0.0..1e15).contains(n);
        let resource = |key| report.number(key).filter(is_count).map(|n| n as u64);
        RunReport {
            run: Some(start.id).filter(|_| is_judged),
            reason: start.reason,
            kernel: start.kernel.clone(),
            blob: start.blob.clone(),
            fingerprint: start.fingerprint.clone(),
            external: start.external,
            device: record.device.clone(),
            emulated: verdict.emulated,
            foreign: record.is_foreign(),
            outcome: outcome_word(verdict),
            correctness: match verdict.outcome {
                Outcome::Pass => Some(Correctness::Pass),
                Outcome::Fail | Outcome::Crash | Outcome::Void => Some(Correctness::Fail),
                Outcome::NotJudged => None,
            },
            why: verdict.why.clone(),
            objective: ObjectiveReport {
                name: figure
                    .as_ref()
                    .map_or(&config.objective, |f| &f.objective)
                    .to_string(),
                goal: verdict.chosen.as_ref().map_or(config.goal, Figure::goal),
                value: figure.as_ref().map(|f| f.measure.value),
                low: figure.as_ref().and_then(|f| f.measure.low),
                high: figure.as_ref().and_then(|f| f.measure.high),
            },
            aggregate: figure.and_then(|figure| figure.aggregate),
            throughput_sps: verdict
                .objective
                .filter(|_| config.objective == Objective::Throughput)
                .map(|m| m.value),
            kernel_us: verdict.kernel_us,
            comparison: ComparisonReport::of(verdict.change.as_ref(), Some(&report), config),
            registers: resource("registers"),
            spill_bytes: resource("spill_bytes"),
            shared_bytes: resource("shared_bytes"),
            built_for: report.built_for().map(str::to_owned),
            launched_as: report.launched_as().map(str::to_owned),
            targets: report.targets(),
            launches: report.launches(),
            scratch: report.scratch(),
            workloads: workloads(&report),
            workload_speeds: verdict.workloads.clone(),
            judged_workloads: verdict.judged,
            peers: record.peers.clone(),
            last_peers: last.map(|last| last.peers).unwrap_or_default(),
            gates: gates(&report),
            first_failure: report.value("first_failure").map(str::to_owned),
            diagnostics: diagnostics(&records, start.id, verdict),
            caveats: verdict.caveats.clone(),
            draft: record.draft.as_ref().map(DraftReport::of),
            started: start.started,
            seconds: record.seconds,
            log: records
                .log_of(start.id, Some(verdict))
                .to_string_lossy()
                .into_owned(),
        }
    }

    /// The compiler messages, and of a check its findings.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// The outcome in a word of its own for a kernel that did not build.
fn outcome_word(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Crash if verdict.build_failed => "build_error",
        outcome => outcome.into(),
    }
}

impl ComparisonReport {
    /// The comparison with [`Change::as_ratio`]. `report` is of the run, if it is at hand: its figures
    /// are not rounded.
    pub fn of(change: Option<&Change>, report: Option<&Report>, config: &Config) -> Self {
        let Some(change) = change else {
            return ComparisonReport::default();
        };
        let in_turns = change.interval.is_some();
        let measured = report
            .and_then(Report::comparison)
            .filter(|_| in_turns)
            .map(|c| c.ratio);
        let ratio = measured.unwrap_or_else(|| change.as_ratio(&config.objective, config.goal));
        ComparisonReport {
            ratio: Some(ratio),
            ratio_aggregate: change.aggregate,
            speed: change.speed,
            against: Some(change.against()),
        }
    }
}

/// A `workload:` line: its words are keys and values. A dimension of the problem may have the name of
/// a figure.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "JudgedWorkload")]
struct WorkloadReport {
    /// The words that tell it from the other workloads, as in `rows=3 cols=257`.
    name: String,
    /// The same words as keys and values.
    dimensions: Words,
    /// All words of the line. If a dimension has the name of a figure, the figure is here.
    #[serde(flatten)]
    words: Words,
}

/// Words of a `workload:` line.
type Words = BTreeMap<String, Word>;

/// A value that is a number is one here.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum Word {
    Count(i64),
    Number(f64),
    Text(String),
}

fn workloads(report: &Report) -> Vec<WorkloadReport> {
    let typed = |text: &str| match (text.parse(), number(text)) {
        (Ok(count), _) => Word::Count(count),
        (_, Some(number)) => Word::Number(number),
        (_, None) => Word::Text(text.to_owned()),
    };
    let keyed = |words: &[(&str, &str)]| -> Words {
        let keyed = words.iter();
        keyed.map(|(k, v)| ((*k).to_owned(), typed(v))).collect()
    };
    let rows = report.workloads();
    let named = named_words(&[&rows]);
    let row = |row: &Vec<(&str, &str)>| {
        let named = named_of(row, named).min(row.len());
        let mut words = keyed(row);
        words.retain(|key, _| !["name", "dimensions"].contains(&key.as_str()));
        WorkloadReport {
            name: name(row, named),
            dimensions: keyed(&row[..named]),
            words,
        }
    };
    rows.iter().map(row).collect()
}

fn gates(report: &Report) -> Vec<GateReport> {
    let gate = |g: lab_protocol::report::Gate| GateReport {
        at: report.place(&g.name),
        pass: g.passes(),
        value: g.value,
        limit: g.limit,
        name: g.name,
    };
    report.gates().into_iter().map(gate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ratio(change: Change, objective: Objective, goal: Goal) -> (f64, Option<f64>, Option<f64>) {
        let config = Config {
            objective,
            goal,
            ..Config::default()
        };
        let Measure { value, low, high } = ComparisonReport::of(Some(&change), None, &config)
            .ratio
            .expect("a ratio");
        let thousandths = |x: f64| (x * 1e3).round() / 1e3;
        (
            thousandths(value),
            low.map(thousandths),
            high.map(thousandths),
        )
    }

    #[test]
    fn a_ratio_above_one_is_better_whatever_is_measured() {
        let change = |ratio, spread| Change {
            ratio,
            spread,
            ..Change::default()
        };
        let faster = change(0.25, Some(0.05));
        assert_eq!(
            ratio(faster, Objective::Throughput, Goal::Maximize),
            (1.25, Some(1.2), Some(1.3))
        );
        let time = change(-0.2, None);
        assert_eq!(
            ratio(time, Objective::KernelTime, Goal::Minimize),
            (1.25, None, None)
        );
        let in_turns = Change {
            interval: Some((0.2, 0.3)),
            ..faster
        };
        assert_eq!(
            ratio(in_turns, Objective::Throughput, Goal::Maximize),
            (1.25, Some(1.2), Some(1.3))
        );
    }

    fn row(line: &str) -> serde_json::Value {
        serde_json::json!(workloads(&Report::read(line))[0])
    }

    #[test]
    fn numbers_of_a_workload_are_numbers() {
        let wanted = serde_json::json!({
            "name": "rows=3 T=f32", "dimensions": { "rows": 3, "T": "f32" },
            "rows": 3, "T": "f32", "kernel_us": 4.5, "gbps": null, "correctness": "pass"
        });
        let line = "workload: rows=3 T=f32 kernel_us=4.5 gbps=nan correctness=pass\n";
        assert_eq!(row(line), wanted);
    }

    #[test]
    fn a_dimension_that_is_called_as_a_figure_hides_none_and_is_not_hidden() {
        // Logs of 0.1.0 call the number of times `n`.
        let wanted = serde_json::json!({
            "name": "n=1000 name=7 ratio=4 nr=2",
            "dimensions": { "n": 1000, "name": 7, "ratio": 4, "nr": 2 },
            "n": 1, "ratio": 0.9, "nr": 2, "kernel_us": 4.5
        });
        let line = "workload: n=1000 name=7 ratio=4 nr=2 kernel_us=4.5 n=1 ratio=0.9\n";
        assert_eq!(row(line), wanted);
    }
}
