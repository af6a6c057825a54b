//! The evidence for a verdict, made of a run's result lines: build, gates with their strips,
//! workloads, measurements and the device's state. The panes Correctness, Experiment and Kernel as
//! built show parts of it.

pub mod device_state;
pub mod strip;
pub mod table;
pub mod wrong_cells;

use super::bounds;
use super::paragraph::{Lines, hanging, quiet_facts};
use crate::chart::SymbolSet;
use crate::format;
use crate::text::{pad, pad_left, printable, widest, width, wrap};
use crate::theme::style::{BAD, GOOD, Meaning, QUIET, STRONG, TEXT};
use crate::words::meaning_of_key;
use itertools::Itertools;
use lab_protocol::report::wrong_cells::is_drawn;
use lab_protocol::report::{
    AggregateOf, Gate, Report, attribute, first_word, gate_is_share, number,
};
use lab_run::verdict::Outcome;
use lab_text::figures;
use ratatui::prelude::*;

/// Most lines of a value that is wider than its column.
const VALUE_LINES: usize = 3;

/// The built-in harness's key for the place of the first wrong value.
pub const FIRST_FAILURE: &str = "first_failure";

/// What the verdict was made with. The head of the screen names the first two.
const PROVENANCE: [&str; 5] = ["problem", "device", "compiler", "driver", "seed"];

/// Result lines that only the pane Kernel as built shows.
const BUILD_KEYS: [&str; 5] = [
    "launch",
    "device_uuid",
    "launched_as",
    "built_for",
    "scratch",
];

/// The sign of what passed or failed, and its style.
pub fn sign(passes: bool) -> (&'static str, Style) {
    if passes {
        ("✓ ", GOOD)
    } else {
        ("✗ ", BAD)
    }
}

/// The evidence of a finished run: build, gates with their strips, workloads.
pub fn proof(
    report: &Report,
    (outcome, build_failed): (Option<Outcome>, bool),
    columns: usize,
    symbols: SymbolSet,
) -> Lines {
    let mut out: Vec<Line> = build(report, build_failed).into_iter().collect();
    out.extend(gates(report, &[], columns, symbols));
    out.extend(correct(report, outcome));
    out.extend(table::of_report(report, columns));
    out
}

/// `✓ build  0.38 s   168 registers   0 spilled   12.0 KiB shared`; in place of the seconds `cached`
/// where the build cache had it.
pub fn build(report: &Report, failed: bool) -> Option<Line<'static>> {
    let spills = |n| {
        if n > 0.0 {
            format!("{} spilled", format::bytes(n))
        } else {
            "no spills".to_owned()
        }
    };
    let number = |key| report.number(key);
    let cached = is_cached(report).then(|| "cached".to_owned());
    let facts = [
        cached.or_else(|| number("build_s").map(format::seconds)),
        number("registers").map(|n| format!("{n:.0} registers")),
        number("spill_bytes").map(spills),
        number("shared_bytes").map(|n| format!("{} shared", format::bytes(n))),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let (sign, style) = sign(!failed);
    (!facts.is_empty()).then(|| {
        Line::from(vec![
            Span::styled(sign, style),
            Span::raw("build"),
            format!("  {}", facts.join("   ")).quiet(),
        ])
    })
}

/// The build cache had the build.
pub fn is_cached(report: &Report) -> bool {
    let build = report.value("build_s");
    build.is_some_and(|value| attribute(value, "reused").is_some())
}

/// One row for each gate: sign, name, value, limit; below it its strip. `pending` are gates of the
/// last run: those that this run has not reached yet have a row already, so that no row moves.
pub fn gates(report: &Report, pending: &[Gate], columns: usize, symbols: SymbolSet) -> Lines {
    let gates = report.gates();
    let is_pending = |p: &&Gate| gates.iter().all(|g| g.name != p.name);
    let waiting: Vec<&Gate> = pending.iter().filter(is_pending).collect();
    let names = gates.iter().chain(waiting.iter().copied());
    let name_columns = widest(names.map(|gate| &*gate.name)).min(columns.saturating_sub(24));
    let values = gates
        .iter()
        .map(|gate| gate_texts(&gate.name, [gate.value, gate.limit])[0].clone());
    let value_columns = values.map(|value| width(&value)).max().unwrap_or(0).max(9);
    let value_columns = value_columns.min(columns.saturating_sub(name_columns + 6));
    let mut out = Vec::new();
    for gate in &gates {
        out.push(gate_line(gate, [name_columns, value_columns], columns));
        let series = series_name(report, &gate.name);
        out.extend(series.and_then(|name| strip::line(report, gate, name, columns, symbols)));
    }
    let row = |gate: &Gate| format!("· {}  …", pad(&gate.name, name_columns));
    out.extend(
        waiting
            .into_iter()
            .map(|gate| Line::styled(row(gate), QUIET)),
    );
    out
}

/// Values of a gate and its limits.
pub fn gate_texts<const N: usize>(name: &str, values: [f64; N]) -> [String; N] {
    if gate_is_share(name, &values) {
        let texts = format::distinct(values.map(|it| 100.0 * it), format::gate);
        return texts.map(|text| text + " %");
    }
    format::distinct(values, format::gate)
}

fn gate_line(
    gate: &Gate,
    [name_columns, value_columns]: [usize; 2],
    columns: usize,
) -> Line<'static> {
    let passes = gate.passes();
    let (sign, style) = sign(passes);
    let unless_failed = |own| if passes { own } else { style };
    let relation = if passes { "≤" } else { ">" };
    let [value, limit] = gate_texts(&gate.name, [gate.value, gate.limit]);
    let mut line = Line::from(vec![
        Span::styled(sign, style),
        Span::styled(pad(&gate.name, name_columns), unless_failed(TEXT)),
        Span::styled(
            format!(" {}", pad_left(&value, value_columns)),
            unless_failed(STRONG),
        ),
        format!(" {relation} {}", pad(&limit, width(&limit).max(7))).quiet(),
    ]);
    // The used share of the limit: a gate that is near its limit is noticed.
    let share = gate.value / gate.limit;
    if passes && share.is_finite() && gate.limit > 0.0 && line.width() + 5 <= columns {
        line.push_span(format!("{:>4.0} %", share * 100.0).quiet());
    }
    line
}

/// The series of a gate: `NAME_series` for gate NAME, or for a gate whose name begins with `NAME_`
/// (`teacher_prob_series` for `teacher_prob_max_diff`).
pub fn series_name<'a>(report: &'a Report, gate: &str) -> Option<&'a str> {
    let names = report
        .entries()
        .filter_map(|(key, _)| key.strip_suffix("_series"));
    names
        .filter(|name| gate == *name || gate.strip_prefix(name).is_some_and(|r| r.starts_with('_')))
        .max_by_key(|n| n.len())
}

/// The line `correctness` of the harness. A pass of a run that did not pass, as one that contradicts
/// itself, has no tick.
pub fn correct(report: &Report, outcome: Option<Outcome>) -> Option<Line<'static>> {
    let value = report.value("correctness")?;
    let says_pass = first_word(value) == "pass";
    let is_believed = outcome.is_none_or(|outcome| outcome == Outcome::Pass);
    let (sign, style) = match says_pass && !is_believed {
        true => ("· ", QUIET),
        false => sign(says_pass),
    };
    Some(Line::from(vec![
        Span::styled(sign, style),
        Span::raw("correctness  "),
        Span::styled(printable(value), style),
    ]))
}

/// Result lines that no other place shows: measurements, counts of samples, notes of an external
/// harness.
pub fn others(report: &Report, objective: &str, columns: usize) -> Lines {
    // The verdict already tells `stopped`.
    const SHOWN: [&str; 9] = [
        "stage",
        "progress",
        "build_s",
        "registers",
        "spill_bytes",
        "shared_bytes",
        "correctness",
        "stopped",
        FIRST_FAILURE,
    ];
    let elsewhere: [&[&str]; 5] = [
        &SHOWN,
        &PROVENANCE,
        &device_state::KEYS,
        &bounds::KEYS,
        &BUILD_KEYS,
    ];
    let is_other = |(key, value): &(&str, &str)| {
        !elsewhere.iter().any(|keys| keys.contains(key))
            && !is_drawn(key)
            && attribute(value, "limit").is_none()
    };
    let rest: Vec<(&str, &str)> = report.entries().filter(is_other).collect();
    let name_columns = widest(rest.iter().map(|(key, _)| *key)).min(columns / 2);
    let row = |(key, value): (&str, &str)| {
        let style = if key == objective { STRONG } else { TEXT };
        let text = match key {
            "speed_ratio" => ratio_text(value),
            _ => value_text(value),
        };
        let head = format!("  {}  ", pad(key, name_columns)).quiet();
        let room = columns.saturating_sub(head.width());
        if width(&text) > room {
            let mut lines = wrap(&text, room);
            if lines.len() > VALUE_LINES {
                lines.truncate(VALUE_LINES);
                lines[VALUE_LINES - 1] = "…".to_owned();
            }
            return hanging(head, lines, style);
        }
        let mut line = Line::from(vec![head, Span::styled(text, style)]);
        // What the figure is, where the whole sentence has room beside it.
        let meaning = meaning_of_key(key);
        if let Some(meaning) = meaning.filter(|text| line.width() + 3 + width(text) <= columns) {
            line.push_span(format!("   {meaning}").quiet());
        }
        vec![line]
    };
    rest.into_iter().flat_map(row).collect()
}

/// `1.0310 (1.0280 … 1.0340) in 3 ABBA blocks`, and what it is of several workloads.
fn ratio_text(value: &str) -> String {
    let end = |name| attribute(value, name).and_then(number);
    let (Some(ratio), Some(low), Some(high)) = (number(first_word(value)), end("low"), end("high"))
    else {
        return printable(value);
    };
    let [ratio, low, high] = format::distinct([ratio, low, high], |ratio| format!("{ratio:.4}"));
    let blocks = match attribute(value, "quads") {
        None => String::new(),
        Some("1") => " in 1 ABBA block".to_owned(),
        Some(count) => format!(" in {} ABBA blocks", printable(count)),
    };
    let aggregate = AggregateOf::of_value(value).map_or_else(String::new, |of| format!(", {of}"));
    format!("{ratio}  ({low} … {high}){blocks}{aggregate}")
}

/// Compiler, driver and seed of a verdict, in one dim row.
pub fn provenance(report: &Report) -> Option<Line<'static>> {
    let keys = PROVENANCE.iter().skip(2);
    quiet_facts(keys.filter_map(|key| Some(format!("{key} {}", printable(report.value(key)?)))))
}

/// A text of the harness with as many digits of each number as f32 has: `0.02383427880704403` is
/// `0.02383428`.
pub fn shortened(text: &str) -> String {
    const DIGITS: usize = 8;
    let short = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let is_number = word.contains('.') && digits > DIGITS;
        let value = number(word).filter(|value| is_number && value.is_finite())?;
        let rounded = format!("{value:.0$e}", DIGITS - 1);
        Some(rounded.parse().unwrap_or(value).to_string())
    };
    let mut out = String::new();
    for piece in text.split_inclusive([' ', ',', ';', '(', ')']) {
        let word = piece.trim_end_matches([' ', ',', ';', '(', ')']);
        out += &short(word).unwrap_or_else(|| word.to_owned());
        out += &piece[word.len()..];
    }
    out
}

/// Whether a value has more digits than a number holds.
fn is_long(value: &str) -> bool {
    value.len() > 15 && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value of a result line: a number with its interval as `value  (low … high)`, and what it is
/// of several workloads; of a count the number alone, or `3 of 54`; anything else unchanged.
pub fn value_text(value: &str) -> String {
    let end = |name| attribute(value, name).and_then(number);
    let Some(figure) = number(first_word(value)) else {
        return printable(value);
    };
    let ends = end("low").zip(end("high"));
    match (AggregateOf::of_value(value), ends, attribute(value, "of")) {
        (None, None, Some(of)) => format!("{} of {}", printable(first_word(value)), printable(of)),
        // A whole number of so many digits is a name, such as a seed.
        (None, None, None) if is_long(value) => printable(value),
        // A number alone: as all others on the screen.
        (None, None, None) if number(value).is_some() && !value.contains(',') => {
            figures::figure(figure)
        }
        (None, None, None) => printable(value),
        (aggregate, ends, _) => {
            let (figure, ends) = format::measure(figure, ends);
            let aggregate = aggregate.map(|aggregate| aggregate.to_string());
            [Some(figure), ends, aggregate]
                .into_iter()
                .flatten()
                .join("  ")
        }
    }
}
