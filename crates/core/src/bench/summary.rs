//! What the runs of a bench say together: the mean of each run, the mean of these means, their
//! spread, each workload over all runs. Only runs that passed have times.

use crate::bench::record::{Bench, BenchRun, WorkloadOutcome};
use crate::run::verdict::Outcome;

/// A time over several runs, in µs: the mean, and the fastest and the slowest run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeOverRuns {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl TimeOverRuns {
    /// `None` without a time.
    fn of(times: &[f64]) -> Option<Self> {
        let low = times.iter().copied().reduce(f64::min)?;
        let high = times.iter().copied().reduce(f64::max)?;
        Some(TimeOverRuns {
            mean: mean(times),
            low,
            high,
        })
    }

    /// By how many percent the slowest run took longer than the fastest.
    pub fn spread_pct(&self) -> f64 {
        (self.high / self.low - 1.0) * 100.0
    }
}

/// One workload over all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSummary {
    pub name: String,
    /// The worst outcome of all runs.
    pub outcome: WorkloadOutcome,
    /// `None` if no run timed it.
    pub us: Option<TimeOverRuns>,
}

/// Runs whose means lie close together, apart from those of the other group.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Numbers of the runs, in order.
    pub runs: Vec<u32>,
    pub low: f64,
    pub high: f64,
}

/// The runs of a bench together.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The arithmetic mean over the workloads, of each run that passed and then over the runs.
    /// `None` if no run passed.
    pub mean: Option<TimeOverRuns>,
    /// The geometric mean over the workloads.
    pub geometric: Option<TimeOverRuns>,
    /// The workload that takes longest, and its time.
    pub worst: Option<(String, TimeOverRuns)>,
    /// In the order of the problem.
    pub workloads: Vec<WorkloadSummary>,
    /// Runs that passed.
    pub passed_runs: usize,
    /// Two groups of runs, the faster one first, if the means fall into two.
    pub groups: Option<[Group; 2]>,
    /// Each caveat once, with the runs that have it unless all do.
    pub caveats: Vec<String>,
}

/// A spread from which on a caveat says that single runs prove nothing. Runs of one session differ
/// by less.
const WIDE_SPREAD_PCT: f64 = 5.0;

impl Summary {
    pub fn of(bench: &Bench) -> Self {
        let timed: Vec<(&BenchRun, Vec<f64>)> = bench
            .runs
            .iter()
            .filter_map(|run| Some((run, run.times()?)))
            .collect();
        let means: Vec<f64> = timed.iter().map(|(_, times)| mean(times)).collect();
        let geometric: Vec<f64> = timed
            .iter()
            .map(|(_, times)| geometric_mean(times))
            .collect();
        let workloads = workloads(&bench.runs);
        let worst = workloads
            .iter()
            .filter_map(|workload| Some((workload.name.clone(), workload.us?)))
            .max_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
        let numbered: Vec<(u32, f64)> = timed
            .iter()
            .map(|(run, _)| run.run)
            .zip(means.iter().copied())
            .collect();
        let mut summary = Summary {
            mean: TimeOverRuns::of(&means),
            geometric: TimeOverRuns::of(&geometric),
            worst,
            workloads,
            passed_runs: bench
                .runs
                .iter()
                .filter(|run| run.outcome == Outcome::Pass)
                .count(),
            groups: groups(&numbered),
            caveats: caveats(&bench.runs),
        };
        let emulated = bench.runs.iter().any(|run| run.emulated);
        if let Some(spread) = summary
            .mean
            .map(|mean| mean.spread_pct())
            .filter(|_| !emulated)
            && spread > WIDE_SPREAD_PCT
        {
            summary.caveats.push(format!(
                "the slowest run took {spread:.1} % longer than the fastest: a single run of this kernel proves nothing"
            ));
        }
        if means.len() == 1 {
            summary
                .caveats
                .push("one run: nothing is known about the spread between runs".to_owned());
        }
        summary
    }

    /// Workloads that passed in every run, and all of them.
    pub fn passed(&self) -> (usize, usize) {
        let passed = self
            .workloads
            .iter()
            .filter(|w| w.outcome == WorkloadOutcome::Pass)
            .count();
        (passed, self.workloads.len())
    }

    /// `passed 54/54`.
    pub fn passed_text(&self) -> String {
        let (passed, all) = self.passed();
        format!("passed {passed}/{all}")
    }
}

/// The workloads of all runs, in the order in which they first appear.
fn workloads(runs: &[BenchRun]) -> Vec<WorkloadSummary> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for workload in runs.iter().flat_map(|run| &run.workloads) {
        if seen.insert(workload.name.as_str()) {
            names.push(&workload.name);
        }
    }
    let mut found: std::collections::HashMap<&str, (WorkloadOutcome, Vec<f64>)> =
        std::collections::HashMap::new();
    for workload in runs.iter().flat_map(|run| &run.workloads) {
        let (outcome, times) = found
            .entry(&workload.name)
            .or_insert((WorkloadOutcome::Pass, Vec::new()));
        *outcome = worse(*outcome, workload.outcome);
        times.extend(workload.us);
    }
    let summary = |name: &str| {
        let (outcome, times) = found.remove(name)?;
        Some(WorkloadSummary {
            name: name.to_owned(),
            outcome,
            us: TimeOverRuns::of(&times),
        })
    };
    names.into_iter().filter_map(summary).collect()
}

fn worse(a: WorkloadOutcome, b: WorkloadOutcome) -> WorkloadOutcome {
    use WorkloadOutcome::{Crash, Fail, NotJudged, Pass};
    let rank = |outcome| match outcome {
        Pass => 0,
        NotJudged => 1,
        Fail => 2,
        Crash => 3,
    };
    if rank(a) >= rank(b) { a } else { b }
}

/// The two groups that the means of at least four runs fall into; `None` if they do not. The gap
/// between the groups is then more than a tenth of the time, and twice as wide as either group.
fn groups(means: &[(u32, f64)]) -> Option<[Group; 2]> {
    if means.len() < 4 {
        return None;
    }
    let mut sorted = means.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let gap = |at: &usize| sorted[*at].1 - sorted[at - 1].1;
    let at = (1..sorted.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (fast, slow) = sorted.split_at(at);
    let width = |group: &[(u32, f64)]| group[group.len() - 1].1 - group[0].1;
    let is_wide =
        gap(&at) > fast[fast.len() - 1].1 / 10.0 && gap(&at) > 2.0 * width(fast).max(width(slow));
    // A single run apart from the others is no group.
    let group = |of: &[(u32, f64)]| {
        let mut runs: Vec<u32> = of.iter().map(|(run, _)| *run).collect();
        runs.sort_unstable();
        Group {
            runs,
            low: of[0].1,
            high: of[of.len() - 1].1,
        }
    };
    (is_wide && fast.len() > 1 && slow.len() > 1).then(|| [group(fast), group(slow)])
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
    runs.iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::record::{BenchId, BenchStart, BenchedDevice, Discipline, WorkloadRun};
    use crate::run::Fingerprint;
    use crate::run::record::Origin;
    use jiff::Timestamp;

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
        assert!((mean.spread_pct() - 43.786).abs() < 1e-3);
        let [fast, slow] = summary.groups.expect("two groups");
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
        assert_eq!((summary.groups, summary.caveats), (None, Vec::new()));
        // One run apart from the others is an outlier and no group.
        assert_eq!(of_means(&[10.0, 10.1, 10.2, 10.1, 20.0]).groups, None);
        assert_eq!(of_means(&[10.0, 20.0]).groups, None);
        assert!(of_means(&[10.0]).caveats[0].starts_with("one run: "));
    }

    #[test]
    fn the_workloads_keep_their_order_and_have_the_range_of_their_runs() {
        let summary = Summary::of(&bench(&[
            &[("b=1", 1.0), ("b=64", 4.0)],
            &[("b=1", 3.0), ("b=64", 16.0)],
        ]));
        assert_eq!(
            summary.mean,
            Some(TimeOverRuns {
                mean: 6.0,
                low: 2.5,
                high: 9.5
            })
        );
        let geometric = summary.geometric.expect("runs");
        assert!((geometric.low - 2.0).abs() < 1e-9 && (geometric.high - 48f64.sqrt()).abs() < 1e-9);
        let names: Vec<&str> = summary.workloads.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, ["b=1", "b=64"]);
        assert_eq!(
            summary.workloads[0].us,
            Some(TimeOverRuns {
                mean: 2.0,
                low: 1.0,
                high: 3.0
            })
        );
        assert_eq!(
            summary
                .worst
                .as_ref()
                .map(|(name, us)| (name.as_str(), us.mean)),
            Some(("b=64", 10.0))
        );
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
        assert_eq!((summary.passed(), summary.passed_runs), ((1, 2), 1));
        assert_eq!(summary.mean.map(|mean| mean.mean), Some(2.5));
        assert_eq!(summary.caveats[0], "run 2: the clocks moved");
        assert_eq!(bench.runs[1].failed(), ["b=64 fail"]);
    }
}
