//! Lines of a harness of the user's own that contradict each other, or themselves. Nothing follows
//! from them: the run is *not judged*.
//!
//! - A line that decides comes twice with different values, or has two values.
//! - A figure is out of its range, or lies outside of its own interval, or an end of the interval is
//!   no finite number.
//! - A gate is minus infinity, or its limit limits nothing.
//! - A time is below the floor.
//! - The verdict on speed contradicts the interval of the ratio, or the figures of the two kernels,
//!   or those of the [`workloads`].
//! - `correctness: pass` stands beside a line that says that the kernel is wrong, or was not there.
//!
//! A result that the harness calls wrong is wrong, whatever its figures are.

mod workloads;

use lab_project::objective::Objective;
use lab_protocol::report::{
    Measure, Report, Speed, attribute, first_word, is_failing_word, number,
};
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

/// Further figures, which may be zero.
const NOT_NEGATIVE: [&str; 7] = [
    "spread_pct",
    "floor_us",
    "estimate_us",
    "build_s",
    "registers",
    "spill_bytes",
    "shared_bytes",
];

/// Lines beside gates and figures that decide.
const DECIDING: [&str; 5] = ["fault", "device", "speed", "objective", "launched_as"];

/// Counts that are zero of a right kernel, and the ends of the names of further ones.
const BREACHES: [&str; 3] = ["races", "out_of_bounds", "inputs_changed"];
const OF_BREACHES: [&str; 2] = ["_findings", "_unwritten"];

/// A limit from here on is above every number of 32 bits.
const NO_LIMIT: f64 = 3.4e38;

/// How far the ratio of figures that were not timed in turns may be from that of the turns.
const APART: f64 = 1.25;

/// What contradicts what, as a sentence without its end. `same_within` is a fraction: 0.005 for
/// 0.5 %.
pub fn found(report: &Report, objective: &Objective, same_within: f64) -> Option<String> {
    let passes = report.correctness()? && report.failing_gate().is_none();
    let of_verdict = || {
        twice(report, &["correctness"]).or_else(|| {
            let mut again = report.changed_gates();
            again.next().map(|(key, values)| changed(key, values))
        })
    };
    if !passes {
        return of_verdict();
    }
    let figures: Vec<&str> = POSITIVE.into_iter().chain([objective.name()]).collect();
    of_verdict()
        .or_else(|| twice(report, &DECIDING))
        .or_else(|| twice(report, &figures))
        .or_else(|| beside_a_failure(report))
        .or_else(|| of_gates(report))
        .or_else(|| two_values(report, &figures))
        .or_else(|| of_figures(report, &figures))
        .or_else(|| below_the_floor(report, same_within))
        .or_else(|| of_peers(report))
        .or_else(|| of_speed(report, objective, same_within))
        .or_else(|| workloads::found(report, same_within))
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
    let hidden = report.disguised_failure().map(|line| cut(line, SHOWN));
    let failed = report.entries().find(|(key, value)| fails(key, value));
    let other = failed.map(|(key, _)| line(report, key)).or(hidden)?;
    Some(contradict(&line(report, "correctness"), &other))
}

/// Whether a line says that the kernel is wrong, or that it was not judged.
fn fails(key: &str, value: &str) -> bool {
    let word = first_word(value);
    let is_breach =
        |key: &str| BREACHES.contains(&key) || OF_BREACHES.iter().any(|end| key.ends_with(end));
    match key {
        "fault" => true,
        "build" => is_failing_word(word),
        "first_failure" | "stopped" => !matches!(word, "" | "none"),
        "check" => value.ends_with("found something"),
        _ if is_breach(key) && attribute(value, "limit").is_none() => {
            number(word).is_some_and(|count| count != 0.0)
        }
        _ => false,
    }
}

fn of_gates(report: &Report) -> Option<String> {
    report.gates().iter().find_map(|gate| {
        let why = if gate.value == f64::NEG_INFINITY {
            "no difference is minus infinity"
        } else if gate.limit.abs() >= NO_LIMIT {
            "that limits nothing"
        } else {
            return None;
        };
        Some(impossible(&line(report, &gate.name), why))
    })
}

/// A line that decides with two values in place of one, or with an attribute that has two.
fn two_values(report: &Report, figures: &[&str]) -> Option<String> {
    report.entries().find_map(|(key, value)| {
        let is_verdict = key == "correctness";
        let decides = is_verdict || figures.contains(&key) || attribute(value, "limit").is_some();
        let rest = || value.split_whitespace().skip(1);
        let mut plain = rest().filter(|word| !word.contains('='));
        let again = || {
            let mut names = rest().filter_map(|word| word.split_once('='));
            names.any(|(name, said)| attribute(value, name) != Some(said))
        };
        let has_other = match is_verdict {
            true => plain.any(is_failing_word),
            false => plain.next().is_some_and(|word| number(word).is_some()),
        };
        let has_two = has_other || again();
        (decides && has_two).then(|| impossible(&line(report, key), "such a line has one value"))
    })
}

fn of_figures(report: &Report, figures: &[&str]) -> Option<String> {
    figures.iter().chain(&NOT_NEGATIVE).find_map(|key| {
        let value = report.value(key)?;
        let number = number(first_word(value));
        let ends = ["low", "high"].map(|end| attribute(value, end));
        let why = if number.is_some_and(f64::is_infinite) {
            Some(NOT_FINITE)
        } else if number.is_none_or(f64::is_nan) {
            // It was not measured.
            return None;
        } else {
            not_an_end(ends)
        };
        let why = why.or_else(|| {
            let measure = report.measure(key)?;
            let is_negative = NOT_NEGATIVE.contains(key) && measure.value < 0.0;
            let negative = is_negative.then_some("such a figure is not below zero");
            negative.or_else(|| not_a_figure(&measure, POSITIVE.contains(key)))
        })?;
        Some(impossible(&line(report, key), why))
    })
}

const NOT_FINITE: &str = "such a figure is a finite number";

/// That one of these ends of an interval is no finite number.
fn not_an_end(ends: [Option<&str>; 2]) -> Option<&'static str> {
    let is_end = |end: &str| number(end).is_some_and(f64::is_finite);
    let is_none = ends.into_iter().flatten().any(|end| !is_end(end));
    is_none.then_some("an end of an interval is a finite number")
}

/// Why no measurement has this figure.
fn not_a_figure(measure: &Measure, positive: bool) -> Option<&'static str> {
    let Measure { value, low, high } = *measure;
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

/// The floor is a time that the device cannot beat.
fn below_the_floor(report: &Report, same_within: f64) -> Option<String> {
    let floor = report.measure("floor_us")?.value;
    let time = report.measure("kernel_us")?;
    let is_below = time.high.unwrap_or(time.value) * around(same_within) < floor;
    is_below.then(|| contradict(&line(report, "kernel_us"), &line(report, "floor_us")))
}

/// The factor within which two figures of the same thing are the same.
fn around(same_within: f64) -> f64 {
    1.0 + 2.0 * same_within
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

/// The verdict on speed beside the ratio, and beside the figures of the two kernels.
fn of_speed(report: &Report, objective: &Objective, same_within: f64) -> Option<String> {
    let said = report.comparison()?;
    let speed = said.speed?;
    let contradicts = |one: &str, others: [&str; 2]| {
        let others = others.map(|other| line(report, other)).join("', '");
        contradict(&line(report, one), &others)
    };
    if denies(&said.ratio, speed, same_within) {
        return Some(contradict(
            &line(report, "speed"),
            &line(report, "speed_ratio"),
        ));
    }
    // The objective in samples per second stands beside the incumbent's.
    let figures = [objective.name(), "incumbent_sps"];
    let [own, incumbent] = figures.map(|key| report.measure(key));
    let both = own.zip(incumbent);
    let (own, incumbent) = both.filter(|_| *objective == Objective::Throughput)?;
    let quotient = quotient(&own, &incumbent);
    // They were not timed in turns, so a small difference says nothing.
    let most = around(same_within) - 1.0;
    let is_opposite = match speed {
        Speed::Faster => quotient.high < Some(1.0 - most),
        Speed::Slower => quotient.low > Some(1.0 + most),
        Speed::Same | Speed::Undecided | Speed::Mixed => false,
    };
    if is_opposite {
        return Some(contradicts("speed", figures));
    }
    // Another mean of the same workloads is another figure.
    let is_same_mean = report.aggregate_of(figures[0]) == said.aggregate
        && (said.aggregate.is_some() || report.workload_count() < 2);
    (is_same_mean && are_apart(&quotient, &said.ratio)).then(|| contradicts("speed_ratio", figures))
}

/// A figure over another one, with the interval that follows from theirs.
fn quotient(own: &Measure, other: &Measure) -> Measure {
    let ([own_low, own_high], [low, high]) = (ends(own), ends(other));
    Measure {
        value: own.value / other.value,
        low: Some(own_low / high),
        high: Some(own_high / low),
    }
}

/// Whether two ratios of the same kernels, one of them not timed in turns, cannot both be right.
fn are_apart(quotient: &Measure, ratio: &Measure) -> bool {
    let ([low, high], [ratio_low, ratio_high]) = (ends(quotient), ends(ratio));
    low > ratio_high * APART || high * APART < ratio_low
}

/// The ends of the interval, or the value in place of one that is missing.
fn ends(measure: &Measure) -> [f64; 2] {
    [measure.low, measure.high].map(|end| end.unwrap_or(measure.value))
}

fn denies(ratio: &Measure, speed: Speed, same_within: f64) -> bool {
    let [low, high] = ends(ratio);
    speed.is_denied_by(low, high, same_within)
}
