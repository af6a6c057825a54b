//! The pane Correctness: the compiler's messages, the gates with their values and limits as they
//! arrive, the difference per step as a strip, the workloads as a table. Histograms show how many
//! differences are how large.

mod check;
mod histograms;

use crate::prelude::*;
use crate::state::Running;
use crate::widgets::evidence::{self, FIRST_FAILURE, device_state, table};
use lab_protocol::report::{Diagnostic, Report, Severity, Stage};
use lab_run::verdict::{Outcome, Verdict};

/// Diagnostics that are shown. run.log has all of them.
const DIAGNOSTICS: usize = 20;

/// Rows that one reason or caveat may take. run.log has all of it.
const REASON_ROWS: usize = 6;

/// Least columns of a zoomed pane that shows lines and histograms side by side.
const BOTH_COLUMNS: u16 = 120;

const HISTOGRAMS: &str = "how many differences are how large";

#[derive(Clone, Copy, Debug, Default)]
pub struct CorrectnessState {
    /// Shows the histograms in place of the gates.
    pub histograms: bool,
}

/// Draws the histograms, alone or beside the text. Returns false if the text has the whole pane,
/// and leaves the area of the text in the canvas.
pub fn draw_histograms(canvas: &mut Canvas, state: CorrectnessState, is_zoomed: bool) -> bool {
    let (data, area) = (canvas.data, canvas.area);
    let Some((_, report)) = data.runs.report_if(|_| true) else {
        return false;
    };
    let is_beside =
        is_zoomed && area.width >= BOTH_COLUMNS && !histograms::with_histogram(report).is_empty();
    if !state.histograms && !is_beside {
        return false;
    }
    let left = if state.histograms { 0 } else { area.width / 2 };
    let parts = [Constraint::Length(left), Constraint::Fill(1)];
    let [text, beside] = Layout::horizontal(parts).areas(area);
    canvas.area = beside;
    let inner = canvas.draw_title(HISTOGRAMS);
    histograms::draw(canvas.frame, inner, report, data.appearance.symbols);
    canvas.area = text;
    state.histograms
}

pub fn lines(data: ScreenData, columns: usize) -> Lines {
    let (runs, last) = (data.runs, data.runs.last.as_ref());
    let Some((_, report)) = runs.report_if(|_| true) else {
        return vec![Line::styled("the gates of a run are shown here", QUIET)];
    };
    // Between two runs the lines of the last one stay, so that the pane does not flicker.
    let is_idle = matches!(runs.running, Running::No);
    let verdict = last.map(|last| &last.verdict).filter(|_| is_idle);
    let build_failed = verdict.is_some_and(|v| v.build_failed);
    let mut out = reason(verdict, report, columns);
    out.extend(diagnostics(report, build_failed, columns));
    if let Some(place) = report.value(FIRST_FAILURE) {
        // The gates name their worst value, which may be another one.
        let first = format!("first failure: {}", evidence::shortened(place));
        out.extend(signed("✗ ", &first, columns, BAD));
    }
    out.extend(evidence::wrong_cells::summary(report, columns));
    if let Some(checked) = runs.checked().filter(|_| verdict.is_some()) {
        out.extend(check::lines(checked, columns));
    }
    // The errors of `lab check`, and those of a launch in Python, are messages in a build that
    // succeeded.
    let is_building =
        !check::is_check(report) && report.reached().is_none_or(|stage| stage == Stage::Build);
    let has_errors = is_building && errors(report).next().is_some();
    out.extend(evidence::build(report, build_failed || has_errors));
    out.extend(verdict.and_then(|verdict| ended_in(verdict, report)));
    let pending = match (&runs.running, last) {
        (Running::Live(live), _) if live.start.is_check() => Vec::new(),
        (Running::No, _) | (_, None) => Vec::new(),
        (_, Some(last)) => last.report.gates(),
    };
    let symbols = data.appearance.symbols;
    out.extend(evidence::gates(report, &pending, columns, symbols));
    out.extend(evidence::correct(report, verdict.map(|v| v.outcome)));
    for tensor in report.wrong_tensors() {
        out.push(Line::default());
        out.extend(evidence::wrong_cells::lines(
            report, tensor, columns, symbols,
        ));
    }
    if is_idle && !report.wrong_tensors().is_empty() {
        let way = data.appearance.keymap.way(Action::WrongCells);
        out.push(Line::styled(
            format!("  {way} shows the other cells"),
            QUIET,
        ));
    }
    let objective = data.setup.objective.name();
    out.extend(evidence::others(report, objective, columns));
    out.extend(table::of_report(report, columns));
    out.extend(device_state::line(report));
    out.extend(evidence::provenance(report));
    for caveat in report.caveats() {
        out.extend(signed("! ", caveat, columns, WARN));
    }
    out
}

/// Why a run did not pass. The message at its line says what the reason of a failed build or of a
/// crash says.
fn reason(verdict: Option<&Verdict>, report: &Report, columns: usize) -> Lines {
    let is_said = |v: &&Verdict| v.outcome != Outcome::Crash || !repeats(&v.why, report);
    let verdict = verdict
        .filter(|v| v.outcome != Outcome::Pass)
        .filter(is_said);
    let Some(verdict) = verdict else {
        return Vec::new();
    };
    let style = style::verdict(verdict.outcome);
    let sign = format!("{} ", verdict.sign());
    let rows = reason_rows(&verdict.why, columns.saturating_sub(2));
    hanging(Span::styled(sign, style), rows, style)
}

/// A text of the harness behind a sign.
fn signed(sign: &'static str, text: &str, columns: usize, style: Style) -> Lines {
    let rows = reason_rows(text, columns.saturating_sub(2));
    hanging(Span::styled(sign, style), rows, style)
}

fn errors(report: &Report) -> impl Iterator<Item = &Diagnostic> {
    let all = report.diagnostics().iter();
    all.filter(|d| d.severity == Severity::Error)
}

/// The stage behind the build in which a run crashed.
fn ended_in(verdict: &Verdict, report: &Report) -> Option<Line<'static>> {
    let stage = report.reached().filter(|stage| *stage != Stage::Build)?;
    let (sign, word) = (verdict.sign(), stage.word());
    let text = format!("{sign} {word}  the run ended in this stage");
    let is_crash = verdict.outcome == Outcome::Crash && !verdict.build_failed;
    is_crash.then(|| Line::styled(text, style::verdict(verdict.outcome)))
}

/// Whether a reason only repeats an error that is listed with its line.
fn repeats(why: &str, report: &Report) -> bool {
    errors(report).any(|error| why.trim_end().ends_with(error.message.trim()))
}

/// A text of the harness in a few rows, so that the gates stay visible.
fn reason_rows(text: &str, columns: usize) -> Vec<String> {
    wrap_to(&printable(text), columns, REASON_ROWS)
}

/// The compiler's messages. Errors and those of a failed build are shown in full, errors first; any
/// other of a build that succeeded takes one line, and run.log has all of it.
fn diagnostics(report: &Report, failed: bool, columns: usize) -> Lines {
    let mut messages: Vec<&Diagnostic> = report.diagnostics().iter().collect();
    // The sort is stable: a note stays behind the error that it explains.
    messages.sort_by_key(|d| failed && d.severity == Severity::Warning);
    let left_out = messages.len().saturating_sub(DIAGNOSTICS);
    let mut out = Vec::new();
    for diagnostic in messages.into_iter().take(DIAGNOSTICS) {
        let (sign, style) = match diagnostic.severity {
            Severity::Error => ("✗", BAD),
            Severity::Warning => ("!", WARN),
            Severity::Note => (" ", QUIET),
        };
        let file = diagnostic.file.rsplit('/').next().unwrap_or_default();
        let column = diagnostic.column.map(|c| format!(":{c}"));
        let column = column.unwrap_or_default();
        let place = format!("{sign} {}:{}{column}", printable(file), diagnostic.line);
        let message = printable(&diagnostic.message);
        let mut head = Line::from(Span::styled(place, style));
        if head.width() + 2 + width(&message) <= columns {
            head.push_span(format!("  {message}"));
            out.push(head);
            continue;
        }
        out.push(head);
        let is_whole = failed || diagnostic.severity == Severity::Error;
        out.extend(match is_whole {
            true => prefixed("    ", &message, columns, TEXT),
            false => {
                let row = wrap_to(&message, columns.saturating_sub(4), 1);
                hanging(Span::raw("    "), row, TEXT)
            }
        });
    }
    if left_out > 0 {
        let text = format!("  {left_out} more in run.log");
        out.push(Line::styled(text, QUIET));
    }
    out
}
