//! The evidence for a verdict, made of a run's result lines: build, gates with their strips,
//! workloads, measurements and the device's state. The panes Correctness, Experiment and Kernel as
//! built show parts of it.

pub mod device_state;
pub mod strip;
pub mod table;

use super::{Lines, bounds};
use crate::chart::SymbolSet;
use crate::format;
use crate::text::{pad, pad_left, printable, width};
use crate::theme::Theme;
use crate::words::meaning_of_key;
use lab_protocol::report::{AggregateOf, Gate, Report, attribute, first_word, number};
use ratatui::text::{Line, Span};

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

/// The evidence of a finished run: build, gates with their strips, workloads.
pub fn proof(
    report: &Report,
    build_failed: bool,
    columns: usize,
    theme: &Theme,
    symbols: SymbolSet,
) -> Lines {
    let mut out: Vec<Line> = build(report, build_failed, theme).into_iter().collect();
    out.extend(gates(report, &[], columns, theme, symbols));
    out.extend(correct(report, theme));
    out.extend(table::of_report(report, columns, theme));
    out
}

/// `✓ build  0.38 s   168 registers   0 spilled   12.0 KiB shared`.
pub fn build(report: &Report, failed: bool, theme: &Theme) -> Option<Line<'static>> {
    let mut facts = Vec::new();
    facts.extend(report.number("build_s").map(format::seconds));
    facts.extend(
        report
            .number("registers")
            .map(|n| format!("{n:.0} registers")),
    );
    facts.extend(report.number("spill_bytes").map(|n| {
        if n > 0.0 {
            format!("{} spilled", format::bytes(n))
        } else {
            "no spills".to_owned()
        }
    }));
    facts.extend(
        report
            .number("shared_bytes")
            .map(|n| format!("{} shared", format::bytes(n))),
    );
    if facts.is_empty() {
        return None;
    }
    let (sign, style) = if failed {
        ("✗ ", theme.bad())
    } else {
        ("✓ ", theme.good())
    };
    Some(Line::from(vec![
        Span::styled(sign, style),
        Span::styled("build", theme.text()),
        Span::styled(format!("  {}", facts.join("   ")), theme.quiet()),
    ]))
}

/// One row for each gate: sign, name, value, limit; below it its strip. `pending` are gates of the
/// last run: those that this run has not reached yet have a row already, so that no row moves.
pub fn gates(
    report: &Report,
    pending: &[Gate],
    columns: usize,
    theme: &Theme,
    symbols: SymbolSet,
) -> Lines {
    let gates = report.gates();
    let waiting: Vec<&Gate> = pending
        .iter()
        .filter(|p| gates.iter().all(|g| g.name != p.name))
        .collect();
    let names = gates
        .iter()
        .map(|g| &g.name)
        .chain(waiting.iter().map(|g| &g.name));
    let name_columns = names
        .map(|n| width(n))
        .max()
        .unwrap_or(0)
        .min(columns.saturating_sub(24));
    let mut out = Vec::new();
    for gate in &gates {
        out.push(gate_line(gate, name_columns, columns, theme));
        let series = series_name(report, &gate.name);
        out.extend(
            series.and_then(|name| strip::line(report, gate, name, columns, theme, symbols)),
        );
    }
    for gate in waiting {
        out.push(Line::styled(
            format!("· {}  …", pad(&gate.name, name_columns)),
            theme.quiet(),
        ));
    }
    out
}

fn gate_line(gate: &Gate, name_columns: usize, columns: usize, theme: &Theme) -> Line<'static> {
    let passes = gate.passes();
    let (sign, style) = if passes {
        ("✓", theme.good())
    } else {
        ("✗", theme.bad())
    };
    let relation = if passes { "≤" } else { ">" };
    let [value, limit] = format::distinct([gate.value, gate.limit], format::gate);
    let mut spans = vec![
        Span::styled(format!("{sign} "), style),
        Span::styled(
            pad(&gate.name, name_columns),
            if passes { theme.text() } else { style },
        ),
        Span::styled(
            format!(" {}", pad_left(&value, 9)),
            if passes { theme.strong() } else { style },
        ),
        Span::styled(format!(" {relation} {}", pad(&limit, 7)), theme.quiet()),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    // The used share of the limit: a gate that is near its limit is noticed.
    let share = gate.value / gate.limit;
    if passes && share.is_finite() && gate.limit > 0.0 && used + 5 <= columns {
        spans.push(Span::styled(
            format!("{:>4.0} %", share * 100.0),
            theme.quiet(),
        ));
    }
    Line::from(spans)
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

/// The line `correctness` of the harness.
pub fn correct(report: &Report, theme: &Theme) -> Option<Line<'static>> {
    let value = report.value("correctness")?;
    let passes = first_word(value) == "pass";
    let style = if passes { theme.good() } else { theme.bad() };
    let sign = if passes { "✓" } else { "✗" };
    Some(Line::from(vec![
        Span::styled(format!("{sign} "), style),
        Span::styled("correctness  ", theme.text()),
        Span::styled(printable(value), style),
    ]))
}

/// Result lines that no other place shows: measurements, counts of samples, notes of an external
/// harness.
pub fn others(report: &Report, objective: &str, columns: usize, theme: &Theme) -> Lines {
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
    let rest: Vec<(&str, &str)> = report
        .entries()
        .filter(|(key, value)| {
            !SHOWN.contains(key)
                && !PROVENANCE.contains(key)
                && !device_state::KEYS.contains(key)
                && !bounds::KEYS.contains(key)
                && !BUILD_KEYS.contains(key)
                && !key.ends_with("_series")
                && !key.ends_with("_histogram")
                && attribute(value, "limit").is_none()
        })
        .collect();
    let name_columns = rest
        .iter()
        .map(|(key, _)| width(key))
        .max()
        .unwrap_or(0)
        .min(columns / 2);
    let mut out = Vec::new();
    for (key, value) in rest {
        let style = if key == objective {
            theme.strong()
        } else {
            theme.text()
        };
        let mut line = Line::from(vec![
            Span::styled(format!("  {}  ", pad(key, name_columns)), theme.quiet()),
            Span::styled(
                if key == "speed_ratio" {
                    ratio_text(value)
                } else {
                    value_text(value)
                },
                style,
            ),
        ]);
        // What the figure is, where the whole sentence has room beside it.
        if let Some(meaning) =
            meaning_of_key(key).filter(|text| line.width() + 3 + width(text) <= columns)
        {
            line.push_span(Span::styled(format!("   {meaning}"), theme.quiet()));
        }
        out.push(line);
    }
    out
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
pub fn provenance(report: &Report, theme: &Theme) -> Option<Line<'static>> {
    let facts: Vec<String> = PROVENANCE
        .iter()
        .filter(|key| !matches!(**key, "problem" | "device"))
        .filter_map(|key| Some(format!("{key} {}", printable(report.value(key)?))))
        .collect();
    (!facts.is_empty()).then(|| Line::styled(format!("  {}", facts.join(" · ")), theme.quiet()))
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
        (None, None, None) => printable(value),
        (aggregate, ends, _) => {
            let (figure, ends) = format::measure(figure, ends);
            let aggregate = aggregate.map(|aggregate| aggregate.to_string());
            [Some(figure), ends, aggregate]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("  ")
        }
    }
}
