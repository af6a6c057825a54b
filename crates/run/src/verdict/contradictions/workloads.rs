//! Lines about workloads that contradict themselves, each other, or the whole.

use super::{
    NOT_FINITE, SHOWN, are_apart, around, contradict, denies, ends, impossible, line, not_a_figure,
    not_an_end, quotient,
};
use lab_protocol::report::workloads::{MOST, RATES, TIMES, Words, unmeasured_words, value};
use lab_protocol::report::{
    Measure, Report, Speed, Workload, attribute, first_word, number, says_the_same,
};
use lab_text::sanitise::cut;
use std::collections::HashMap;

/// Words of a row that are figures and never tell two workloads apart, beside times and rates.
const FIGURES: [&str; 8] = [
    "low_us",
    "high_us",
    "of_floor",
    "incumbent_us",
    "ratio",
    "ratio_low",
    "ratio_high",
    "speed",
];

/// What contradicts what about the workloads.
pub fn found(report: &Report, same_within: f64) -> Option<String> {
    let all = report.workloads();
    let rows = &all[..all.len().min(MOST)];
    let workloads = report.workload_figures();
    let mut both = rows.iter().zip(&workloads);
    not_passed(report, rows)
        .or_else(|| twice(rows))
        .or_else(|| {
            both.find_map(|(row, workload)| {
                let why = of_one(report, row, workload, same_within)?;
                Some(impossible(&row_line(row), why))
            })
        })
        .or_else(|| counts(report, all.len(), &workloads))
        .or_else(|| of_whole(report, rows, &workloads, same_within))
}

fn row_line(row: &Words) -> String {
    let words: Vec<String> = row
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    cut(&format!("workload: {}", words.join(" ")), SHOWN)
}

/// `correctness: pass` beside a workload that did not pass.
fn not_passed(report: &Report, rows: &[Words]) -> Option<String> {
    let row = rows.iter().find(|row| {
        row.iter()
            .any(|(key, value)| *key == "correctness" && *value != "pass")
    })?;
    Some(contradict(&line(report, "correctness"), &row_line(row)))
}

/// The same workload with other figures.
fn twice(rows: &[Words]) -> Option<String> {
    let mut seen: HashMap<Words, &Words> = HashMap::new();
    rows.iter().find_map(|row| {
        let named = unmeasured_words(row);
        let is_figure = |key: &str| {
            TIMES.contains(&key)
                || RATES.contains(&key)
                || FIGURES.contains(&key)
                || key == "correctness"
        };
        let (name, rest) = row.split_at(named.min(row.len()));
        let others = rest.iter().filter(|(key, _)| !is_figure(key));
        let name: Words = name.iter().chain(others).copied().collect();
        let before = seen.insert(name.clone(), row)?;
        let [before, row] = [before, row].map(row_line);
        let is_other = !name.is_empty() && !says_the_same(&before, &row);
        is_other.then(|| format!("the harness contradicts itself: '{before}', then '{row}'"))
    })
}

/// Why the line of a workload contradicts itself.
fn of_one(
    report: &Report,
    row: &Words,
    workload: &Workload,
    same_within: f64,
) -> Option<&'static str> {
    let said = |key: &str| value(row, key);
    let is_infinite = |key: &str| said(key).and_then(number).is_some_and(f64::is_infinite);
    let figures = || TIMES.into_iter().chain(RATES).chain(FIGURES);
    let Workload {
        us,
        incumbent_us,
        of_floor,
        ratio,
        speed,
        ..
    } = workload;
    let ends_of = [
        us.and(Some(["low_us", "high_us"])),
        ratio.and(Some(["ratio_low", "ratio_high"])),
    ];
    let mut ends_of = ends_of.into_iter().flatten();
    if let Some(why) = ends_of.find_map(|ends| not_an_end(ends.map(said))) {
        return Some(why);
    }
    if figures().any(is_infinite) {
        return Some(NOT_FINITE);
    }
    let incumbent = incumbent_us.map(|value| Measure {
        value,
        low: None,
        high: None,
    });
    let mut measures = [*us, incumbent, *ratio].into_iter().flatten();
    if let Some(why) = measures.find_map(|measure| not_a_figure(&measure, true)) {
        return Some(why);
    }
    let mut rates = RATES.into_iter().filter_map(|key| number(said(key)?));
    if rates.any(|rate| rate < 0.0) {
        return Some("such a figure is not below zero");
    }
    if of_floor.is_some_and(|percent| !(0.0..=100.0 * around(same_within)).contains(&percent)) {
        return Some("nothing is faster than its floor");
    }
    let ratio = ratio.as_ref()?;
    if speed.is_some_and(|speed| denies(ratio, speed, same_within)) {
        return Some("its ratio contradicts its verdict");
    }
    let of_times = quotient(&incumbent?, us.as_ref()?);
    // Beside turns, the time may be the harness's own, of something else than a turn.
    let are_alike = report.turns().is_empty();
    (are_alike && are_apart(&of_times, ratio)).then_some("its ratio contradicts its times")
}

/// A stated number of workloads beside the lines.
fn counts(report: &Report, rows: usize, workloads: &[Workload]) -> Option<String> {
    let contradicts = |key: &str, rows: usize| {
        let lines = if rows == 1 { "line" } else { "lines" };
        let said = line(report, key);
        format!("the harness contradicts itself: '{said}' beside {rows} {lines} 'workload:'")
    };
    let whole = |word: &str| word.parse::<usize>().ok();
    let judged = report.value("workloads").and_then(|value| {
        let of = attribute(value, "of").and_then(whole)?;
        Some((whole(first_word(value))?, of))
    });
    if let Some((judged, of)) = judged {
        if judged > of {
            let why = "no more workloads are judged than there are";
            return Some(impossible(&line(report, "workloads"), why));
        }
        if rows > 0 && judged != rows {
            return Some(contradicts("workloads", rows));
        }
    }
    let timed = workloads.iter().filter(|row| row.us.is_some()).count();
    let compared = workloads.iter().filter(|row| row.ratio.is_some()).count();
    let has_turns = !report.turns().is_empty();
    let of_lines = [
        ("throughput_sps", timed),
        ("kernel_us", timed),
        ("speed_ratio", if has_turns { 0 } else { compared }),
    ];
    of_lines.into_iter().find_map(|(key, rows)| {
        let stated = report.aggregate_of(key)?.workloads;
        // Lines beyond the first ones are not read.
        let is_counted = rows > 0 && rows < MOST && stated != rows;
        is_counted.then(|| contradicts(key, rows))
    })
}

/// The verdict and the ratio of the whole beside those of the workloads.
fn of_whole(
    report: &Report,
    rows: &[Words],
    workloads: &[Workload],
    same_within: f64,
) -> Option<String> {
    let said = report.comparison()?;
    let beside = |other: &str| Some(contradict(&line(report, "speed"), other));
    if let Some(key) = slower_summary(report)
        && said.speed.is_some_and(|speed| !has_slower(speed))
    {
        return beside(&line(report, key));
    }
    let word = report.value("speed").map(first_word);
    let opposite = match word.and_then(|word| word.parse().ok()) {
        Some(Speed::Faster) => Some(Speed::Slower),
        Some(Speed::Slower) => Some(Speed::Faster),
        _ => None,
    };
    let speeds = || workloads.iter().filter_map(|workload| workload.speed);
    let all_opposite = speeds().next().is_some() && speeds().all(|speed| Some(speed) == opposite);
    let first = rows
        .iter()
        .zip(workloads)
        .find(|(_, of)| of.speed.is_some());
    if let Some((row, _)) = first.filter(|_| all_opposite) {
        return beside(&row_line(row));
    }
    let (low, high) = ratios(workloads, &said.ratio)?;
    let factor = around(same_within);
    let is_within = (low / factor..=high * factor).contains(&said.ratio.value);
    (!is_within).then(|| {
        let ratio = line(report, "speed_ratio");
        match rows {
            [row] => contradict(&ratio, &row_line(row)),
            _ => impossible(
                &ratio,
                &format!("the ratios of its workloads are from {low} to {high}"),
            ),
        }
    })
}

fn has_slower(speed: Speed) -> bool {
    matches!(speed, Speed::Slower | Speed::Mixed)
}

/// The line that sums up several workloads and says that one is slower.
fn slower_summary(report: &Report) -> Option<&'static str> {
    let slower = attribute(
        report.value("workload_speeds").unwrap_or_default(),
        "slower",
    );
    if slower.and_then(number).is_some_and(|slower| slower > 0.0) {
        return Some("workload_speeds");
    }
    let worst = report.measure("worst_workload")?;
    (worst.value < 1.0).then_some("worst_workload")
}

/// The lowest and the highest ratio of the workloads, with their intervals, between which every mean
/// lies; `None` unless each has one. A ratio without an interval has one as wide as the whole's.
fn ratios(workloads: &[Workload], whole: &Measure) -> Option<(f64, f64)> {
    let ratios: Option<Vec<Measure>> = workloads.iter().map(|workload| workload.ratio).collect();
    let ratios = ratios.filter(|ratios| !ratios.is_empty())?;
    let [low, high] = ends(whole).map(|end| end / whole.value);
    let low = |ratio: &Measure| ratio.low.unwrap_or(ratio.value * low);
    let high = |ratio: &Measure| ratio.high.unwrap_or(ratio.value * high);
    Some((
        ratios.iter().map(low).fold(f64::INFINITY, f64::min),
        ratios.iter().map(high).fold(f64::NEG_INFINITY, f64::max),
    ))
}
