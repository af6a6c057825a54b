//! Lines of a harness of the user's own that contradict each other, or themselves. Nothing follows
//! from them: the run is *not judged*.
//!
//! - A line that decides comes twice with different values.
//! - A figure is not above zero, or lies outside of its own interval.
//! - A gate is minus infinity, or its limit is infinite.
//! - The verdict on speed contradicts the interval of the ratio, or the figures of the two kernels.
//! - `correctness: pass` stands beside a workload that is wrong, or beside `build: failed`.
//!
//! A result that the harness calls wrong is wrong, whatever its figures are.

use itertools::Itertools;
use lab_project::objective::Objective;
use lab_protocol::report::{Measure, Report, Speed, Workload};
use lab_text::sanitise::cut;

/// Characters of a line that are shown at most.
const SHOWN: usize = 200;

/// Figures that every measurement has above zero. An objective of the user's own may
/// be any number.
const POSITIVE: [&str; 7] = [
    "throughput_sps",
    "throughput_tflops",
    "throughput_gbps",
    "kernel_us",
    "latency_us",
    "incumbent_sps",
    "speed_ratio",
];

/// Lines beside gates and figures that decide.
const DECIDING: [&str; 3] = ["fault", "device", "speed"];

/// What contradicts what, as a sentence without its end. `same_within` is a fraction: 0.005 for
/// 0.5 %.
pub fn found(report: &Report, objective: &Objective, same_within: f64) -> Option<String> {
    let passes = report.correctness()? && report.failing_gate().is_none();
    let figures = || POSITIVE.into_iter().chain([objective.name()]);
    let of_verdict = || {
        twice(report, &["correctness"]).or_else(|| {
            let mut again = report.changed_gates();
            again.next().map(|(key, values)| changed(key, values))
        })
    };
    if !passes {
        return of_verdict();
    }
    of_verdict()
        .or_else(|| twice(report, &DECIDING))
        .or_else(|| twice(report, &figures().collect::<Vec<_>>()))
        .or_else(|| beside_a_failure(report))
        .or_else(|| {
            report.gates().iter().find_map(|gate| {
                let why = if gate.value == f64::NEG_INFINITY {
                    "no difference is minus infinity"
                } else if gate.limit.is_infinite() {
                    "a limit is a finite number"
                } else {
                    return None;
                };
                Some(impossible(&line(report, &gate.name), why))
            })
        })
        .or_else(|| {
            figures().find_map(|key| {
                let measure = report.measure(key)?;
                let why = not_a_figure(&measure, POSITIVE.contains(&key))?;
                Some(impossible(&line(report, key), why))
            })
        })
        .or_else(|| of_peers(report))
        .or_else(|| of_workloads(report, same_within))
        .or_else(|| of_speed(report, objective, same_within))
}

/// The first of these lines that came with two values.
fn twice(report: &Report, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| Some(changed(key, report.changed(key)?)))
}

fn changed(key: &str, [before, after]: [&str; 2]) -> String {
    let [before, after] = [before, after].map(|value| cut(&format!("{key}: {value}"), SHOWN));
    format!("the harness contradicts itself: '{before}', then '{after}'")
}

fn impossible(line: &str, why: &str) -> String {
    format!("the harness printed '{line}', and {why}")
}

fn contradict(one: &str, other: &str) -> String {
    format!("the harness contradicts itself: '{one}' beside '{other}'")
}

/// The line of a key, as the report has it.
fn line(report: &Report, key: &str) -> String {
    cut(
        &format!("{key}: {}", report.value(key).unwrap_or_default()),
        SHOWN,
    )
}

/// `correctness: pass` beside a line that says that the kernel is wrong, or was not there.
fn beside_a_failure(report: &Report) -> Option<String> {
    let failed = report.build_failed().then_some("build");
    let at_fault = || report.fault().map(|_| "fault");
    let wrong = || {
        let rows = report.workloads();
        let mut wrong = rows.iter().filter(|row| {
            row.iter()
                .any(|(key, value)| *key == "correctness" && matches!(*value, "fail" | "crash"))
        });
        wrong.next().map(|row| row_line(row))
    };
    let other = failed.or_else(at_fault).map(|key| line(report, key));
    let other = other.or_else(wrong)?;
    Some(contradict(&line(report, "correctness"), &other))
}

fn row_line(words: &[(&str, &str)]) -> String {
    let words = words
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .join(" ");
    cut(&format!("workload: {words}"), SHOWN)
}

/// Why no measurement has this figure. One that is not finite counts as not measured.
fn not_a_figure(measure: &Measure, positive: bool) -> Option<&'static str> {
    let Measure { value, low, high } = *measure;
    if !value.is_finite() {
        return None;
    }
    if positive && value <= 0.0 {
        return Some("such a figure is above zero");
    }
    let is_in_order = |low: Option<f64>, high: Option<f64>| match low.zip(high) {
        Some((low, high)) => low <= high,
        None => true,
    };
    if !is_in_order(low, high) {
        return Some("its interval ends before it begins");
    }
    let is_inside = is_in_order(low, Some(value)) && is_in_order(Some(value), high);
    (!is_inside).then_some("it lies outside of its own interval")
}

fn of_peers(report: &Report) -> Option<String> {
    report.peers().iter().find_map(|peer| {
        let ratio = peer.ratio.as_ref()?;
        let (low, high) = ratio.interval.unzip();
        let measure = Measure {
            value: ratio.value,
            low,
            high,
        };
        let why = not_a_figure(&measure, true)?;
        Some(format!(
            "the harness printed a line 'peer: {}' with the ratio {}, and {why}",
            cut(&peer.name, SHOWN),
            ratio.value
        ))
    })
}

/// A workload whose line contradicts itself.
fn of_workloads(report: &Report, same_within: f64) -> Option<String> {
    let rows = report.workloads();
    let figures = report.workload_figures();
    let mut both = rows.iter().zip(&figures);
    both.find_map(|(row, workload)| {
        let Workload {
            us,
            incumbent_us,
            ratio,
            speed,
            ..
        } = workload;
        let incumbent = incumbent_us.map(|value| Measure {
            value,
            low: None,
            high: None,
        });
        let mut measures = [us.as_ref(), incumbent.as_ref(), ratio.as_ref()]
            .into_iter()
            .flatten();
        let why = measures
            .find_map(|measure| not_a_figure(measure, true))
            .or_else(|| {
                let is_denied = denies(ratio.as_ref()?, (*speed)?, same_within);
                is_denied.then_some("its ratio contradicts its verdict")
            })?;
        Some(impossible(&row_line(row), why))
    })
}

/// The verdict on speed beside the ratio, and beside the figures of the two kernels.
fn of_speed(report: &Report, objective: &Objective, same_within: f64) -> Option<String> {
    let said = report.comparison()?;
    let speed = said.speed?;
    let contradicts = |other: &str| contradict(&line(report, "speed"), &line(report, other));
    if denies(&said.ratio, speed, same_within) {
        return Some(contradicts("speed_ratio"));
    }
    if let Some((low, high)) = ratios_of_workloads(report)
        && !(low..=high).contains(&said.ratio.value)
    {
        return Some(impossible(
            &line(report, "speed_ratio"),
            &format!("the ratios of its workloads are from {low} to {high}"),
        ));
    }
    // The objective in samples per second stands beside the incumbent's.
    let both = report
        .measure(objective.name())
        .zip(report.measure("incumbent_sps"));
    let (own, incumbent) = both.filter(|_| *objective == Objective::Throughput)?;
    let end = |end: Option<f64>, measure: &Measure| end.unwrap_or(measure.value);
    let quotient = Measure {
        value: own.value / incumbent.value,
        low: Some(end(own.low, &own) / end(incumbent.high, &incumbent)),
        high: Some(end(own.high, &own) / end(incumbent.low, &incumbent)),
    };
    // They were not timed in turns, so a small difference says nothing.
    let is_opposite = match speed {
        Speed::Faster => quotient.high < Some(1.0 - 2.0 * same_within),
        Speed::Slower => quotient.low > Some(1.0 + 2.0 * same_within),
        Speed::Same | Speed::Undecided | Speed::Mixed => false,
    };
    is_opposite.then(|| {
        let figures = format!(
            "{}', '{}",
            line(report, objective.name()),
            line(report, "incumbent_sps")
        );
        contradict(&line(report, "speed"), &figures)
    })
}

/// The lowest and the highest ratio of the workloads, with their intervals, between which every mean
/// lies; `None` unless each of several has one.
fn ratios_of_workloads(report: &Report) -> Option<(f64, f64)> {
    let workloads = report.workload_figures();
    let ratios: Option<Vec<Measure>> = workloads.iter().map(|workload| workload.ratio).collect();
    let ratios = ratios.filter(|ratios| ratios.len() > 1)?;
    let low = |ratio: &Measure| ratio.low.unwrap_or(ratio.value);
    let high = |ratio: &Measure| ratio.high.unwrap_or(ratio.value);
    Some((
        ratios.iter().map(low).fold(f64::INFINITY, f64::min),
        ratios.iter().map(high).fold(f64::NEG_INFINITY, f64::max),
    ))
}

fn denies(ratio: &Measure, speed: Speed, same_within: f64) -> bool {
    let [low, high] = [ratio.low, ratio.high].map(|end| end.unwrap_or(ratio.value));
    speed.is_denied_by(low, high, same_within)
}
