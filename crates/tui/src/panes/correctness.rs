//! Is it right? What the compiler said, the gates as they arrive with their values and limits, the
//! difference per step as a strip, the workloads as a table; and how many differences are how large.

mod check;
mod spread;
pub mod state;
mod strip;
mod table;

pub use state::line as device_state;

use super::super::app::{App, Running};
use super::super::chart::Glyphs;
use super::super::format;
use super::super::text::{fit, pad, pad_left, printable, width, wrap, wrap_to};
use super::super::theme::Theme;
use super::{Pane, titled};
use lab_core::run::verdict::Outcome;
use lab_protocol::report::{Diagnostic, Gate, Report, Severity, attribute, first_word, number};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::sync::Arc;

/// Diagnostics shown; all of them are in run.log.
const DIAGNOSTICS: usize = 20;

/// Rows that one reason or caveat may take; all of it is in run.log.
const WORDS: usize = 6;

/// Where the first wrong value is, in the built-in harness's words.
const FIRST_FAILURE: &str = "first_failure";

/// On what and of what: the head of the screen names the first two.
const PROVENANCE: [&str; 5] = ["problem", "device", "compiler", "driver", "seed"];

#[derive(Clone, Debug, Default)]
pub struct CorrectnessState {
    pub scroll: usize,
    /// Histograms in the place of the lines; a zoomed pane has room for both.
    pub histograms: bool,
}

impl CorrectnessState {
    pub fn scroll(&mut self, by: isize) {
        self.scroll = self.scroll.saturating_add_signed(by);
    }
}

/// So many columns a zoomed pane needs for lines and histograms side by side.
const BOTH: u16 = 120;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let shown = shown(app);
    let has_histograms = shown.as_ref().is_some_and(|report| spread::has_any(report));
    if app.panes.correctness.histograms
        && let Some(report) = &shown
    {
        let inner = titled(frame, area, app, Pane::Correctness, "how many differences are how large");
        spread::draw(frame, inner, app, report);
        return;
    }
    if app.panes.zoom()
        && area.width >= BOTH
        && has_histograms
        && let Some(report) = &shown
    {
        let left = area.width / 2;
        draw_lines(frame, Rect { width: left, ..area }, app);
        let inner = titled(
            frame,
            Rect { x: area.x + left, width: area.width - left, ..area },
            app,
            Pane::Correctness,
            "how many differences are how large",
        );
        spread::draw(frame, inner, app, report);
        return;
    }
    draw_lines(frame, area, app);
}

/// What the pane is about: of the run that goes on, else of the last.
fn shown(app: &App) -> Option<Arc<Report>> {
    match (&app.running, &app.last) {
        (Running::Live(live), _) => Some(live.report.clone()),
        (_, last) => last.as_ref().map(|last| last.report.clone()),
    }
}

fn draw_lines(frame: &mut Frame, area: Rect, app: &mut App) {
    let lines = lines(app, usize::from(area.width.saturating_sub(2)));
    let rows = usize::from(area.height.saturating_sub(1));
    let scroll = app.panes.correctness.scroll.min(lines.len().saturating_sub(rows));
    app.panes.correctness.scroll = scroll;
    let below = lines.len().saturating_sub(scroll + rows);
    let note = if below > 0 { format!("{below} more below") } else { String::new() };
    let inner = titled(frame, area, app, Pane::Correctness, &note);
    for (row, line) in lines.into_iter().skip(scroll).take(rows).enumerate() {
        let line = fit_line(line, usize::from(inner.width));
        frame.render_widget(line, Rect { y: inner.y + row as u16, height: 1, ..inner });
    }
}

/// A line that is too long ends in `…`.
pub fn fit_line(mut line: Line<'static>, columns: usize) -> Line<'static> {
    let mut room = columns;
    for span in &mut line.spans {
        let cut = fit(&span.content, room).into_owned();
        room = room.saturating_sub(width(&span.content));
        span.content = cut.into();
    }
    line
}

/// Rows that everything takes.
pub fn rows(app: &App) -> usize {
    lines(app, 60).len()
}

fn lines(app: &App, columns: usize) -> Vec<Line<'static>> {
    let theme = &app.theme;
    let last = app.last.as_ref();
    let (report, verdict) = match (&app.running, last) {
        (Running::Live(live), _) => (&*live.report, None),
        (Running::No, Some(last)) => (&*last.report, Some(&last.verdict)),
        // Not to blank what was there for the blink of an eye between two runs.
        (Running::Asked(..), Some(last)) => (&*last.report, None),
        (_, None) => return vec![Line::styled("what a run proves is shown here", theme.quiet())],
    };
    let build_failed = verdict.is_some_and(|v| v.build_failed);
    let mut out = Vec::new();
    if let Some(verdict) = verdict.filter(|v| v.outcome != Outcome::Pass && !v.why.is_empty()) {
        let style = theme.verdict(verdict.outcome);
        for (index, text) in rows_of(&verdict.why, columns.saturating_sub(2)).into_iter().enumerate() {
            let sign = if index == 0 { verdict.sign() } else { " " };
            out.push(Line::styled(format!("{sign} {text}"), style));
        }
    }
    out.extend(diagnostics(report, build_failed, columns, theme));
    if let Some(place) = report.value(FIRST_FAILURE) {
        for text in rows_of(place, columns.saturating_sub(2)) {
            out.push(Line::styled(format!("✗ {text}"), theme.bad()));
        }
    }
    if verdict.is_some()
        && let Some(checked) = app.checked()
    {
        out.extend(check::lines(checked, columns, theme));
    }
    // What a check finds stands in a build that went well.
    let has_errors =
        !check::is_one(report) && report.diagnostics().iter().any(|d| d.severity == Severity::Error);
    out.extend(build(report, build_failed || has_errors, theme));
    let pending = match (&app.running, last) {
        (Running::Live(live), _) if live.start.is_check() => Vec::new(),
        (Running::No, _) | (_, None) => Vec::new(),
        (_, Some(last)) => last.report.gates(),
    };
    out.extend(gates(report, &pending, columns, theme, app.glyphs));
    out.extend(correct(report, theme));
    out.extend(others(report, app.setup.objective.name(), columns, theme));
    out.extend(table::lines(&report.workloads(), columns, theme));
    out.extend(state::line(report, theme));
    out.extend(provenance(report, theme));
    for caveat in report.caveats() {
        for text in rows_of(caveat, columns.saturating_sub(2)) {
            out.push(Line::styled(format!("! {text}"), theme.warn()));
        }
    }
    out
}

/// A harness's words, in so many rows that room is left for the gates.
fn rows_of(text: &str, columns: usize) -> Vec<String> {
    wrap_to(&printable(text), columns, WORDS)
}

/// Errors of a failed build first and whole; warnings of one that went well in a line each.
fn diagnostics(report: &Report, failed: bool, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut found: Vec<&Diagnostic> = report.diagnostics().iter().collect();
    // Stable: notes stay behind what they explain where the build failed.
    found.sort_by_key(|d| failed && d.severity == Severity::Warning);
    let left_out = found.len().saturating_sub(DIAGNOSTICS);
    let mut out = Vec::new();
    for diagnostic in found.into_iter().take(DIAGNOSTICS) {
        let (sign, style) = match diagnostic.severity {
            Severity::Error => ("✗", theme.bad()),
            Severity::Warning => ("!", theme.warn()),
            Severity::Note => (" ", theme.quiet()),
        };
        let file = diagnostic.file.rsplit('/').next().unwrap_or(&diagnostic.file);
        let column = diagnostic.column.map(|c| format!(":{c}")).unwrap_or_default();
        let place = format!("{sign} {}:{}{column}", printable(file), diagnostic.line);
        let message = printable(&diagnostic.message).into_owned();
        if width(&place) + 2 + width(&message) <= columns {
            out.push(Line::from(vec![
                Span::styled(place, style),
                Span::styled(format!("  {message}"), theme.text()),
            ]));
            continue;
        }
        out.push(Line::styled(place, style));
        let limit = if failed { usize::MAX } else { 1 };
        for text in wrap(&message, columns.saturating_sub(4)).into_iter().take(limit) {
            out.push(Line::styled(format!("    {text}"), theme.text()));
        }
    }
    if left_out > 0 {
        out.push(Line::styled(format!("  {left_out} more in run.log"), theme.quiet()));
    }
    out
}

/// `✓ build  0.38 s   168 registers   0 spilled   12.0 KiB shared`.
fn build(report: &Report, failed: bool, theme: &Theme) -> Option<Line<'static>> {
    let mut facts = Vec::new();
    facts.extend(report.number("build_s").map(format::seconds));
    facts.extend(report.number("registers").map(|n| format!("{n:.0} registers")));
    facts.extend(
        report
            .number("spill_bytes")
            .map(|n| if n > 0.0 { format!("{} spilled", format::bytes(n)) } else { "no spills".to_owned() }),
    );
    facts.extend(report.number("shared_bytes").map(|n| format!("{} shared", format::bytes(n))));
    if facts.is_empty() {
        return None;
    }
    let (sign, style) = if failed { ("✗ ", theme.bad()) } else { ("✓ ", theme.good()) };
    Some(Line::from(vec![
        Span::styled(sign, style),
        Span::styled("build", theme.text()),
        Span::styled(format!("  {}", facts.join("   ")), theme.quiet()),
    ]))
}

/// A row a gate: sign, name, value, limit; below it its strip. Gates that the last run had and this one
/// has not reached yet stand there already, so that nothing jumps.
fn gates(
    report: &Report,
    pending: &[Gate],
    columns: usize,
    theme: &Theme,
    glyphs: Glyphs,
) -> Vec<Line<'static>> {
    let gates = report.gates();
    let waiting: Vec<&Gate> = pending.iter().filter(|p| gates.iter().all(|g| g.name != p.name)).collect();
    let names = gates.iter().map(|g| &g.name).chain(waiting.iter().map(|g| &g.name));
    let name_columns = names.map(|n| width(n)).max().unwrap_or(0).min(columns.saturating_sub(24));
    let mut out = Vec::new();
    for gate in &gates {
        out.push(gate_line(gate, name_columns, columns, theme));
        let series = series_name(report, &gate.name);
        out.extend(series.and_then(|name| strip::line(report, gate, name, columns, theme, glyphs)));
    }
    for gate in waiting {
        out.push(Line::styled(format!("· {}  …", pad(&gate.name, name_columns)), theme.quiet()));
    }
    out
}

fn gate_line(gate: &Gate, name_columns: usize, columns: usize, theme: &Theme) -> Line<'static> {
    let passes = gate.passes();
    let (sign, style) = if passes { ("✓", theme.good()) } else { ("✗", theme.bad()) };
    let relation = if passes { "≤" } else { ">" };
    let mut spans = vec![
        Span::styled(format!("{sign} "), style),
        Span::styled(pad(&gate.name, name_columns), if passes { theme.text() } else { style }),
        Span::styled(
            format!(" {}", pad_left(&format::gate(gate.value), 9)),
            if passes { theme.strong() } else { style },
        ),
        Span::styled(format!(" {relation} {}", pad(&format::gate(gate.limit), 7)), theme.quiet()),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    // How much of the limit is used: most gates have room to spare, and one that has not is seen.
    let share = gate.value / gate.limit;
    if passes && share.is_finite() && gate.limit > 0.0 && used + 5 <= columns {
        spans.push(Span::styled(format!("{:>4.0} %", share * 100.0), theme.quiet()));
    }
    Line::from(spans)
}

/// The series that belongs to a gate: `NAME_series` for gate NAME, or for a gate that goes on
/// after NAME (`teacher_prob_series` under `teacher_prob_max_diff`).
fn series_name<'a>(report: &'a Report, gate: &str) -> Option<&'a str> {
    let names = report.entries().filter_map(|(key, _)| key.strip_suffix("_series"));
    names
        .filter(|name| gate == *name || gate.strip_prefix(name).is_some_and(|r| r.starts_with('_')))
        .max_by_key(|n| n.len())
}

/// The harness's own word.
fn correct(report: &Report, theme: &Theme) -> Option<Line<'static>> {
    let value = report.value("correctness")?;
    let passes = first_word(value) == "pass";
    let style = if passes { theme.good() } else { theme.bad() };
    let sign = if passes { "✓" } else { "✗" };
    Some(Line::from(vec![
        Span::styled(format!("{sign} "), style),
        Span::styled("correctness  ", theme.text()),
        Span::styled(printable(value).into_owned(), style),
    ]))
}

/// What proves that a run that has ended was right: build, gates with their strips, workloads.
pub fn proof(
    report: &Report,
    build_failed: bool,
    columns: usize,
    theme: &Theme,
    glyphs: Glyphs,
) -> Vec<Line<'static>> {
    let mut out: Vec<Line> = build(report, build_failed, theme).into_iter().collect();
    out.extend(gates(report, &[], columns, theme, glyphs));
    out.extend(correct(report, theme));
    out.extend(table::lines(&report.workloads(), columns, theme));
    out
}

/// Result lines that no other place shows: measures, counts of samples, notes of an external harness.
pub fn others(report: &Report, objective: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    // `stopped` says what the verdict says already.
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
                && !state::KEYS.contains(key)
                && !super::history::BOUNDS.contains(key)
                && !super::build::KEYS.contains(key)
                && !key.ends_with("_series")
                && !key.ends_with("_histogram")
                && attribute(value, "limit").is_none()
        })
        .collect();
    let name_columns = rest.iter().map(|(key, _)| width(key)).max().unwrap_or(0).min(columns / 2);
    let mut out = Vec::new();
    for (key, value) in rest {
        let style = if key == objective { theme.strong() } else { theme.text() };
        out.push(Line::from(vec![
            Span::styled(format!("  {}  ", pad(key, name_columns)), theme.quiet()),
            Span::styled(
                if key == "speed_ratio" { printable(value).into_owned() } else { in_words(value) },
                style,
            ),
        ]));
    }
    out
}

/// On what and of what the verdict is: in one row, beside the point until somebody asks.
pub fn provenance(report: &Report, theme: &Theme) -> Option<Line<'static>> {
    let facts: Vec<String> = PROVENANCE
        .iter()
        .filter(|key| !matches!(**key, "problem" | "device"))
        .filter_map(|key| Some(format!("{key} {}", printable(report.value(key)?))))
        .collect();
    (!facts.is_empty()).then(|| Line::styled(format!("  {}", facts.join(" · ")), theme.quiet()))
}

/// A measure with its interval as a person reads it; anything else as it is.
pub fn in_words(value: &str) -> String {
    let end = |name| attribute(value, name).and_then(number);
    match (number(first_word(value)), end("low"), end("high")) {
        (Some(value), Some(low), Some(high)) => {
            format!("{}  ({} … {})", format::count(value), format::count(low), format::count(high))
        }
        _ => printable(value).into_owned(),
    }
}
