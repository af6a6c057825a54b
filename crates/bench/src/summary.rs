//! What the runs of a bench say together: the mean of each run, the mean of these means, their
//! spread, each workload over all runs. Only runs that passed have times.

use crate::record::{Bench, BenchId, BenchRun, WorkloadOutcome, WorkloadRun, mean};
use crate::store::BenchStore;
use itertools::Itertools;
use lab_run::Fingerprint;
use lab_run::verdict::Outcome;
use lab_text::figures::{self, counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// A time over several runs, in µs: the mean, and the fastest and the slowest run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TimeOverRuns {
    /// The mean over the runs.
    #[serde(rename = "value")]
    pub mean: f64,
    /// That of the fastest run.
    pub low: f64,
    /// That of the slowest run.
    pub high: f64,
    /// By how many percent the slowest run took longer than the fastest.
    pub spread_pct: f64,
}

impl TimeOverRuns {
    /// `None` without a time.
    pub fn of(times: &[f64]) -> Option<Self> {
        let low = times.iter().copied().reduce(f64::min)?;
        let high = times.iter().copied().reduce(f64::max)?;
        Some(TimeOverRuns {
            mean: mean(times),
            low,
            high,
            spread_pct: (high / low - 1.0) * 100.0,
        })
    }
}

/// `13.615 µs (11.095 … 15.953)`, `28,370 µs (28,101 … 28,512)`.
impl fmt::Display for TimeOverRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeOverRuns {
            mean, low, high, ..
        } = self;
        let [mean, low, high] = [*mean, *low, *high].map(us);
        write!(f, "{mean} µs ({low} … {high})")
    }
}

/// A time in µs: three decimals, as clocks of GPUs allow; of a millisecond and more, whole numbers.
pub fn us(time: f64) -> String {
    match time.abs() < 1e3 {
        true => format!("{time:.3}"),
        false => figures::figure(time),
    }
}

/// One workload over all runs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct WorkloadSummary {
    /// As in `batch=8 T=f32`.
    pub name: String,
    /// The worst outcome of all runs.
    pub outcome: WorkloadOutcome,
    /// `None` if no run timed it.
    #[serde(rename = "kernel_us")]
    pub us: Option<TimeOverRuns>,
    /// 10⁹ bytes per second, the mean over the runs; `None` if the harness gave none.
    pub gbps: Option<f64>,
    /// 10⁹ operations per second, likewise.
    pub gflops: Option<f64>,
}

/// Runs whose means lie close together, apart from those of the other group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Group {
    /// Numbers of the runs, in order.
    pub runs: Vec<u32>,
    /// Mean of its fastest run.
    pub low: f64,
    /// Mean of its slowest run.
    pub high: f64,
}

/// The runs of a bench together.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Summary {
    /// The arithmetic mean over the workloads, of each run that passed and then over the runs.
    /// `None` if no run passed.
    #[serde(rename = "mean_us")]
    pub mean: Option<TimeOverRuns>,
    /// The geometric mean over the workloads.
    #[serde(rename = "geometric_mean_us")]
    pub geometric: Option<TimeOverRuns>,
    /// The workload that takes longest.
    #[serde(rename = "slowest_workload")]
    pub slowest: Option<String>,
    /// In the order of the problem.
    pub workloads: Vec<WorkloadSummary>,
    /// Workloads that passed in every run, and all workloads.
    pub passed: usize,
    /// All workloads.
    pub workload_count: usize,
    /// Runs that passed.
    #[serde(skip)]
    pub passed_runs: usize,
    /// Two groups of runs, the faster one first, if the means fall into two; else none.
    pub groups: Vec<Group>,
    /// Each caveat once, with the runs that have it unless all do.
    pub caveats: Vec<String>,
}

/// A spread from which on a caveat says that single runs prove nothing. Runs of one session differ
/// by less.
const WIDE_SPREAD_PCT: f64 = 5.0;

/// The caveat of a bench that does not have this user's signature.
const FOREIGN: &str = "foreign: somebody else's lab wrote this bench, or it was changed since";

impl Summary {
    pub fn of(bench: &Bench) -> Self {
        let timed = bench
            .runs
            .iter()
            .filter_map(|run| Some((run.run, run.times()?)));
        let timed: Vec<(u32, Vec<f64>)> = timed.collect();
        let over_runs = |mean: fn(&[f64]) -> f64| -> Vec<f64> {
            timed.iter().map(|(_, times)| mean(times)).collect()
        };
        let means = over_runs(mean);
        let numbered = timed.iter().map(|(run, _)| *run).zip(means.iter().copied());
        let workloads = workloads(&bench.runs);
        let slowest = workloads
            .iter()
            .filter_map(|workload| Some((&workload.name, workload.us?.mean)))
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let passed = workloads
            .iter()
            .filter(|it| it.outcome == WorkloadOutcome::Pass);
        let mut summary = Summary {
            mean: TimeOverRuns::of(&means),
            geometric: TimeOverRuns::of(&over_runs(geometric_mean)),
            slowest: slowest.map(|(name, _)| name.clone()),
            passed: passed.count(),
            workload_count: workloads.len(),
            workloads,
            passed_runs: bench
                .runs
                .iter()
                .filter(|run| run.outcome == Outcome::Pass)
                .count(),
            groups: groups(&numbered.collect::<Vec<_>>()),
            caveats: caveats(&bench.runs),
        };
        if !bench.is_own() {
            summary.caveats.push(FOREIGN.to_owned());
        }
        let spread = summary.mean.map(|mean| mean.spread_pct);
        if let Some(spread) =
            spread.filter(|spread| *spread > WIDE_SPREAD_PCT && !bench.is_emulated())
        {
            summary.caveats.push(format!(
                "the slowest run took {spread:.1} % longer than the fastest: a single run of this kernel proves nothing"
            ));
        }
        if means.len() == 1 {
            let caveat = "one run: nothing is known about the spread between runs";
            summary.caveats.push(caveat.to_owned());
        }
        summary
    }

    /// `passed 54/54`: of the workloads, those that passed in every run.
    pub fn passed_text(&self) -> String {
        format!("passed {}/{}", self.passed, self.workload_count)
    }

    /// The two groups in words.
    pub fn groups_text(&self, to: &str) -> Option<String> {
        let text = |Group { runs, low, high }: &Group| {
            format!(
                "runs {} at {} {to} {} µs",
                numbers(runs),
                us(*low),
                us(*high)
            )
        };
        let mut groups = self.groups.iter().map(text);
        (!self.groups.is_empty()).then(|| groups.join("; "))
    }
}

/// The workloads of all runs, in the order in which they first appear.
fn workloads(runs: &[BenchRun]) -> Vec<WorkloadSummary> {
    let mut found: Vec<Vec<&WorkloadRun>> = Vec::new();
    let mut places = HashMap::new();
    for workload in runs.iter().flat_map(|run| &run.workloads) {
        let at = *places.entry(workload.name.as_str()).or_insert(found.len());
        if at == found.len() {
            found.push(Vec::new());
        }
        found[at].push(workload);
    }
    found.iter().filter_map(|of| over_runs(of)).collect()
}

/// One workload in the runs that judged it; `None` without one.
fn over_runs(of: &[&WorkloadRun]) -> Option<WorkloadSummary> {
    let all = |figure: fn(&WorkloadRun) -> Option<f64>| -> Vec<f64> {
        of.iter().filter_map(|run| figure(run)).collect()
    };
    let rate = |rates: Vec<f64>| (!rates.is_empty()).then(|| mean(&rates));
    Some(WorkloadSummary {
        name: of.first()?.name.clone(),
        outcome: of.iter().map(|run| run.outcome).max()?,
        us: TimeOverRuns::of(&all(|run| run.us)),
        gbps: rate(all(|run| run.gbps)),
        gflops: rate(all(|run| run.gflops)),
    })
}

/// The two groups that the means of at least four runs fall into; none if they do not. The gap
/// between the groups is then more than a tenth of the time, and twice as wide as either group.
fn groups(means: &[(u32, f64)]) -> Vec<Group> {
    let mut sorted = means.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let gap = |at: &usize| sorted[*at].1 - sorted[at - 1].1;
    // A single run apart from the others is no group.
    let split = (1..sorted.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)));
    let Some(at) = split.filter(|at| *at > 1 && sorted.len() - at > 1) else {
        return Vec::new();
    };
    let (fast, slow) = sorted.split_at(at);
    let width = |group: &[(u32, f64)]| group[group.len() - 1].1 - group[0].1;
    let is_wide =
        gap(&at) > fast[fast.len() - 1].1 / 10.0 && gap(&at) > 2.0 * width(fast).max(width(slow));
    let group = |of: &[(u32, f64)]| {
        let mut runs: Vec<u32> = of.iter().map(|(run, _)| *run).collect();
        runs.sort_unstable();
        Group {
            runs,
            low: of[0].1,
            high: of[of.len() - 1].1,
        }
    };
    if is_wide {
        vec![group(fast), group(slow)]
    } else {
        Vec::new()
    }
}

fn caveats(runs: &[BenchRun]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<u32>)> = Vec::new();
    for run in runs {
        for caveat in &run.caveats {
            match found.iter_mut().find(|(known, _)| known == caveat) {
                Some((_, in_runs)) if in_runs.last() == Some(&run.run) => {}
                Some((_, in_runs)) => in_runs.push(run.run),
                None => found.push((caveat, vec![run.run])),
            }
        }
    }
    let text = |(caveat, in_runs): (&str, Vec<u32>)| {
        if in_runs.len() == runs.len() {
            return caveat.to_owned();
        }
        let word = if in_runs.len() == 1 { "run" } else { "runs" };
        format!("{word} {}: {caveat}", numbers(&in_runs))
    };
    found.into_iter().map(text).collect()
}

/// `1, 3, 5`.
pub fn numbers(runs: &[u32]) -> String {
    runs.iter().map(u32::to_string).join(", ")
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// The result of a bench, for lists of experiments.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BenchDigest {
    /// Its number.
    pub bench: BenchId,
    /// `None` without a run.
    pub device: Option<String>,
    /// Runs that have ended.
    pub runs: usize,
    /// `None` if no run passed.
    #[serde(rename = "mean_us")]
    pub mean: Option<TimeOverRuns>,
    /// Workloads that passed in every run, and all workloads.
    pub passed: usize,
    /// All workloads.
    #[serde(rename = "workload_count")]
    pub workloads: usize,
    /// Whether the times say nothing about a GPU.
    pub emulated: bool,
    /// It is not this user's, or was changed.
    pub foreign: bool,
}

impl BenchDigest {
    pub fn of(bench: &Bench) -> Self {
        let summary = Summary::of(bench);
        BenchDigest {
            bench: bench.start.bench,
            device: bench.device_name().map(str::to_owned),
            runs: bench.runs.len(),
            mean: summary.mean,
            passed: summary.passed,
            workloads: summary.workload_count,
            emulated: bench.is_emulated(),
            foreign: !bench.is_own(),
        }
    }

    /// The benches of these bytes and rules that have a run, newest first. Those that cannot be read
    /// are left out.
    pub fn of_bytes(store: &BenchStore, kernel: &str, fingerprint: &Fingerprint) -> Vec<Self> {
        let benches =
            store.all(|start| start.kernel == kernel && start.fingerprint == *fingerprint);
        let measured = benches.filter(|bench| !bench.runs.is_empty());
        measured.map(|bench| BenchDigest::of(&bench)).collect()
    }
}

/// `bench 3: 13.615 µs (11.095 … 15.953) over 6 runs, passed 54/54, NVIDIA H200`.
impl fmt::Display for BenchDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bench {}: ", self.bench)?;
        if let Some(mean) = &self.mean {
            write!(f, "{mean} over ")?;
        }
        let runs = counted(self.runs, "run");
        write!(f, "{runs}, passed {}/{}", self.passed, self.workloads)?;
        if let Some(device) = &self.device {
            write!(f, ", {device}")?;
        }
        f.write_str(if self.foreign { ", foreign" } else { "" })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Discipline;
    use crate::record::{BenchId, BenchStart, BenchedDevice, WorkloadRun};
    use jiff::Timestamp;
    use lab_run::Fingerprint;
    use lab_run::record::Origin;

    /// A bench whose runs have these times for each workload.
    pub fn bench(runs: &[&[(&str, f64)]]) -> Bench {
        let fingerprint = Fingerprint("f".into());
        let mut start = BenchStart::now(
            BenchId(3),
            "kernel.cu".into(),
            "b".into(),
            fingerprint.clone(),
        );
        (start.discipline, start.runs) = (Some(Discipline::default()), runs.len() as u32);
        let workload = |(name, us): &(&str, f64)| WorkloadRun {
            name: (*name).to_owned(),
            outcome: WorkloadOutcome::Pass,
            us: Some(*us),
            trials_us: vec![*us],
            gbps: None,
            gflops: None,
        };
        let run = |(at, times): (usize, &&[(&str, f64)])| BenchRun {
            origin: Origin::Own,
            bench: BenchId(3),
            run: at as u32 + 1,
            fingerprint: fingerprint.clone(),
            started: Timestamp::UNIX_EPOCH,
            seconds: 40.0,
            outcome: Outcome::Pass,
            build_failed: false,
            why: String::new(),
            device: BenchedDevice {
                name: Some("NVIDIA H200".into()),
                ..BenchedDevice::default()
            },
            emulated: false,
            workloads: times.iter().map(workload).collect(),
            caveats: Vec::new(),
            device_state: None,
        };
        Bench {
            start,
            runs: runs.iter().enumerate().map(run).collect(),
            peers: None,
        }
    }

    fn of_means(means: &[f64]) -> Summary {
        let runs: Vec<Vec<(&str, f64)>> = means.iter().map(|us| vec![("batch=1", *us)]).collect();
        Summary::of(&bench(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }

    #[test]
    fn six_sessions_of_the_decode_kernel_fall_into_two_groups() {
        let summary = of_means(&[11.735, 11.360, 11.095, 15.899, 15.648, 15.953]);
        let mean = summary.mean.expect("runs");
        assert!((mean.mean - 13.615).abs() < 5e-4, "{mean:?}");
        assert_eq!((mean.low, mean.high), (11.095, 15.953));
        assert!((mean.spread_pct - 43.786).abs() < 1e-3);
        let [fast, slow] = <[Group; 2]>::try_from(summary.groups).expect("two groups");
        assert_eq!(
            (fast.runs, fast.low, fast.high),
            (vec![1, 2, 3], 11.095, 11.735)
        );
        assert_eq!(
            (slow.runs, slow.low, slow.high),
            (vec![4, 5, 6], 15.648, 15.953)
        );
        assert!(
            summary.caveats[0].contains("43.8 % longer"),
            "{:?}",
            summary.caveats
        );
    }

    #[test]
    fn runs_that_agree_are_one_group_and_need_no_caveat() {
        let summary = of_means(&[10.0, 10.1, 10.2, 10.1, 10.0, 10.15]);
        assert_eq!((summary.groups, summary.caveats), (Vec::new(), Vec::new()));
        // One run apart from the others is an outlier and no group.
        assert_eq!(of_means(&[10.0, 10.1, 10.2, 10.1, 20.0]).groups, []);
        assert_eq!(of_means(&[10.0, 20.0]).groups, []);
        assert!(of_means(&[10.0]).caveats[0].starts_with("one run: "));
    }

    #[test]
    fn the_workloads_keep_their_order_and_have_the_range_of_their_runs() {
        let summary = Summary::of(&bench(&[
            &[("b=1", 1.0), ("b=64", 4.0)],
            &[("b=1", 3.0), ("b=64", 16.0)],
        ]));
        assert_eq!(summary.mean, TimeOverRuns::of(&[2.5, 9.5]));
        let geometric = summary.geometric.expect("runs");
        assert!((geometric.low - 2.0).abs() < 1e-9 && (geometric.high - 48f64.sqrt()).abs() < 1e-9);
        let names: Vec<&str> = summary.workloads.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, ["b=1", "b=64"]);
        assert_eq!(summary.workloads[0].us, TimeOverRuns::of(&[1.0, 3.0]));
        assert_eq!(summary.slowest.as_deref(), Some("b=64"));
        assert_eq!(summary.workloads[1].us.map(|us| us.mean), Some(10.0));
        assert_eq!(summary.passed_text(), "passed 2/2");
    }

    #[test]
    fn a_run_that_failed_has_no_time_and_its_workload_has_not_passed() {
        let mut bench = bench(&[
            &[("b=1", 1.0), ("b=64", 4.0)],
            &[("b=1", 1.0), ("b=64", 4.0)],
        ]);
        bench.runs[1].outcome = Outcome::Fail;
        bench.runs[1].workloads[1] = WorkloadRun {
            outcome: WorkloadOutcome::Fail,
            us: None,
            ..bench.runs[1].workloads[1].clone()
        };
        bench.runs[1].caveats = vec!["the clocks moved".into()];
        let summary = Summary::of(&bench);
        assert_eq!(
            (summary.passed_text(), summary.passed_runs),
            ("passed 1/2".into(), 1)
        );
        assert_eq!(summary.mean.map(|mean| mean.mean), Some(2.5));
        assert_eq!(summary.caveats[0], "run 2: the clocks moved");
        assert_eq!(bench.runs[1].failed(), ["b=64 fail"]);
    }

    #[test]
    fn a_bench_reads_as_one_line() {
        let digest = BenchDigest::of(&bench(&[
            &[("b=1", 7.0), ("b=2", 9.0)],
            &[("b=1", 8.0), ("b=2", 10.0)],
        ]));
        let wanted = "bench 3: 8.500 µs (8.000 … 9.000) over 2 runs, passed 2/2, NVIDIA H200";
        assert_eq!(digest.to_string(), wanted);
    }
}
