//! The text and the style of a cell of the table of workloads.

use super::Column;
use crate::chart::SymbolSet;
use crate::prelude::*;
use itertools::Itertools;
use lab_protocol::report::{Measure, Speed, Workload};

/// Cells of the longest bar.
pub const BAR: usize = 8;

/// The change from which on a bar has one more cell, as a ratio above 1.
const STEPS: [f64; BAR] = [1.0, 1.005, 1.01, 1.02, 1.05, 1.10, 1.25, 1.50];

pub fn text(column: Column, workload: &Workload, symbols: SymbolSet) -> String {
    let text = match column {
        Column::Name => Some(printable(&workload.name)),
        Column::Time => workload.us.map(|us| format::measure(us.value, ends(&us)).0),
        Column::Interval => workload
            .us
            .and_then(|us| format::measure(us.value, ends(&us)).1),
        Column::Floor => workload.of_floor.map(|percent| format!("{percent:.0}")),
        Column::Ratio => workload.ratio.map(|ratio| percents(&ratio).0),
        Column::RatioInterval => workload.ratio.and_then(|ratio| percents(&ratio).1),
        Column::Heat => workload
            .ratio
            .map(|ratio| heat(&ratio, workload.speed, symbols)),
        Column::Speed => word(workload),
        Column::Incumbent => workload.incumbent_us.map(format::count),
        Column::Gbps => workload.gbps.map(rate),
        Column::Gflops => workload.gflops.map(rate),
    };
    text.unwrap_or_default()
}

/// The text with the longest bar, so that a column is as wide in every run.
pub fn sized(column: Column, workload: &Workload) -> String {
    match column {
        Column::Heat if workload.ratio.is_some() => "#".repeat(BAR + 2),
        _ => text(column, workload, SymbolSet::Ascii),
    }
}

/// The verdict on the speed, or the result of a workload that did not pass.
fn word(workload: &Workload) -> Option<String> {
    match workload.correctness.as_deref() {
        None | Some("pass") => Some(workload.speed?.word().to_owned()),
        Some("not_judged") => Some("– not judged".to_owned()),
        Some(word) => Some(format!("✗ {}", printable(word))),
    }
}

/// A rate, with two decimals also below 1, as the harness prints them.
fn rate(value: f64) -> String {
    if (0.005..1.0).contains(&value) {
        format!("{value:.2}")
    } else {
        format::count(value)
    }
}

fn ends(measure: &Measure) -> Option<(f64, f64)> {
    measure.low.zip(measure.high)
}

/// `+2.1 %`, and `(+1.9 … +2.4)` if there is an interval.
fn percents(ratio: &Measure) -> (String, Option<String>) {
    let [low, high] = [ratio.low, ratio.high].map(|end| end.unwrap_or(ratio.value) - 1.0);
    let [value, low, high] = lab_text::figures::percents([ratio.value - 1.0, low, high]);
    (
        format!("{value} %"),
        ends(ratio).map(|_| format!("({low} … {high})")),
    )
}

/// A sign and a bar: `▲ ████` of a workload that is faster, `▼ ██` of a slower one. The longer, the
/// further from the incumbent.
fn heat(ratio: &Measure, speed: Option<Speed>, symbols: SymbolSet) -> String {
    let by = ratio.value.max(1.0 / ratio.value);
    let steps = STEPS.iter().filter(|step| by > **step).count();
    let cells = steps.max(usize::from(!by.is_finite()));
    let sign = match speed {
        Some(Speed::Faster) => symbols.pick("▲", "+"),
        Some(Speed::Slower) => symbols.pick("▼", "-"),
        Some(Speed::Same) => "=",
        Some(Speed::Undecided | Speed::Mixed) | None => "?",
    };
    let bar = symbols.pick("█", "#").repeat(cells);
    format!("{sign} {bar}").trim_end().to_owned()
}

pub fn style(column: Column, workload: &Workload) -> Style {
    let has_failed = workload
        .correctness
        .as_deref()
        .is_some_and(|word| matches!(word, "fail" | "crash"));
    match column {
        _ if has_failed => BAD,
        Column::Name => TEXT,
        Column::Time => STRONG,
        Column::Ratio | Column::Heat | Column::Speed => workload.speed.map_or(QUIET, style::speed),
        _ => QUIET,
    }
}

/// A row as text: what the table shows of it, without what only its width decides.
pub fn in_words(workload: &Workload) -> String {
    let mut cells = Column::ALL.iter().filter_map(|&column| {
        let text = text(column, workload, SymbolSet::Ascii);
        match column {
            Column::Heat => None,
            _ if text.is_empty() => None,
            Column::Time => Some(format!("{text} µs")),
            Column::Floor => Some(format!("{text} % of floor")),
            Column::Incumbent => Some(format!("incumbent {text} µs")),
            Column::Gbps | Column::Gflops => Some(format!("{text} {}", column.name())),
            _ => Some(text),
        }
    });
    cells.join("  ")
}
