//! The text and the style of a cell of the table of workloads.

use super::Column;
use crate::chart::SymbolSet;
use crate::prelude::*;
use lab_protocol::report::{Measure, Speed, Workload};

/// Cells of the longest bar.
const BAR: usize = 8;

/// The change from which on a bar has one more cell, as a ratio above 1.
const STEPS: [f64; BAR] = [1.0, 1.005, 1.01, 1.02, 1.05, 1.10, 1.25, 1.50];

pub fn text(column: Column, workload: &Workload, symbols: SymbolSet) -> String {
    match column {
        Column::Name => printable(&workload.name),
        Column::Time => workload
            .us
            .map(|us| format::measure(us.value, ends(&us)).0)
            .unwrap_or_default(),
        Column::Interval => workload
            .us
            .and_then(|us| format::measure(us.value, ends(&us)).1)
            .unwrap_or_default(),
        Column::Floor => workload
            .of_floor
            .map(|percent| format!("{percent:.0}"))
            .unwrap_or_default(),
        Column::Ratio => workload
            .ratio
            .map(|ratio| percents(&ratio).0)
            .unwrap_or_default(),
        Column::RatioInterval => workload
            .ratio
            .and_then(|ratio| percents(&ratio).1)
            .unwrap_or_default(),
        Column::Heat => heat(workload, symbols),
        Column::Speed => word(workload),
        Column::Incumbent => workload.incumbent_us.map(format::count).unwrap_or_default(),
        Column::Gbps => workload.gbps.map(rate).unwrap_or_default(),
        Column::Gflops => workload.gflops.map(rate).unwrap_or_default(),
    }
}

/// The text with the longest bar, so that a column is as wide in every run.
pub fn sized(column: Column, workload: &Workload) -> String {
    match column {
        Column::Heat if workload.ratio.is_some() => "#".repeat(BAR + 2),
        _ => text(column, workload, SymbolSet::Ascii),
    }
}

/// The verdict on the speed; of a workload that did not pass what it came to.
fn word(workload: &Workload) -> String {
    let came_to = workload
        .correctness
        .as_deref()
        .filter(|word| *word != "pass");
    match came_to {
        Some("not_judged") => "– not judged".to_owned(),
        Some(word) => format!("✗ {}", printable(word)),
        None => workload
            .speed
            .map(|speed| speed.word().to_owned())
            .unwrap_or_default(),
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
fn heat(workload: &Workload, symbols: SymbolSet) -> String {
    let Some(ratio) = workload.ratio else {
        return String::new();
    };
    let by = ratio.value.max(1.0 / ratio.value);
    let cells = STEPS
        .iter()
        .filter(|step| by > **step)
        .count()
        .max(usize::from(!by.is_finite()));
    let sign = match workload.speed {
        Some(Speed::Faster) => symbols.pick("▲", "+"),
        Some(Speed::Slower) => symbols.pick("▼", "-"),
        Some(Speed::Same) => "=",
        Some(Speed::Undecided | Speed::Mixed) | None => "?",
    };
    format!("{sign} {}", symbols.pick("█", "#").repeat(cells))
        .trim_end()
        .to_owned()
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
        Column::Ratio | Column::Heat | Column::Speed => match workload.speed {
            Some(Speed::Faster) => GOOD,
            Some(Speed::Slower) => BAD,
            Some(Speed::Undecided | Speed::Mixed) => WARN,
            Some(Speed::Same) | None => QUIET,
        },
        _ => QUIET,
    }
}

/// A row as text: what the table shows of it, without what only its width decides.
pub fn in_words(workload: &Workload) -> String {
    let cells = Column::ALL
        .into_iter()
        .filter(|column| *column != Column::Heat);
    let cells = cells.map(
        |column| match (column, text(column, workload, SymbolSet::Ascii)) {
            (_, text) if text.is_empty() => text,
            (Column::Time, text) => format!("{text} µs"),
            (Column::Floor, text) => format!("{text} % of floor"),
            (Column::Incumbent, text) => format!("incumbent {text} µs"),
            (Column::Gbps | Column::Gflops, text) => format!("{text} {}", column.name()),
            (_, text) => text,
        },
    );
    let cells: Vec<String> = cells.filter(|text| !text.is_empty()).collect();
    cells.join("  ")
}
