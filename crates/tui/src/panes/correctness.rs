//! The pane Correctness: the compiler's messages, the gates with their values and limits as they
//! arrive, the difference per step as a strip, the workloads as a table. Histograms show how many
//! differences are how large.

mod check;
mod histograms;

use crate::state::{Running, Runs, ScreenData};
use crate::text::{printable, width, wrap, wrap_to};
use crate::theme::Theme;
use crate::widgets::evidence::{self, FIRST_FAILURE, device_state, table};
use crate::widgets::{Canvas, Lines};
use lab_protocol::report::{Diagnostic, Report, Severity, Stage};
use lab_run::verdict::{Outcome, Verdict};
use ratatui::prelude::*;

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

/// Returns the state with its scroll position limited to the text.
/// Draws the histograms, alone or beside the text. Returns false if the text has the whole pane,
/// and leaves the area of the text in the canvas.
pub fn draw_histograms(canvas: &mut Canvas, state: CorrectnessState, is_zoomed: bool) -> bool {
    let (data, area) = (canvas.data, canvas.area);
    let Some(report) = shown(data.runs) else {
        return false;
    };
    let is_beside = is_zoomed && area.width >= BOTH_COLUMNS && histograms::has_any(report);
    if !state.histograms && !is_beside {
        return false;
    }
    let left = if state.histograms { 0 } else { area.width / 2 };
    canvas.area = Rect {
        x: area.x + left,
        width: area.width - left,
        ..area
    };
    let inner = canvas.draw_title(HISTOGRAMS);
    let symbols = data.appearance.symbols;
    histograms::draw(canvas.frame, inner, report, data.theme(), symbols);
    canvas.area = Rect {
        width: left,
        ..area
    };
    state.histograms
}

/// The report that the pane shows: of the run in progress, else of the last.
fn shown(runs: &Runs) -> Option<&Report> {
    match (&runs.running, &runs.last) {
        (Running::Live(live), _) => Some(&live.report),
        (_, last) => last.as_ref().map(|last| &*last.report),
    }
}

pub fn lines(data: ScreenData, columns: usize) -> Lines {
    let (runs, objective) = (data.runs, &data.setup.objective);
    let (theme, symbols) = (data.theme(), data.appearance.symbols);
    let last = runs.last.as_ref();
    let (report, verdict) = match (&runs.running, last) {
        (Running::Live(live), _) => (&*live.report, None),
        (Running::No, Some(last)) => (&*last.report, Some(&last.verdict)),
        // Between two runs the lines of the last one stay, so that the pane does not flicker.
        (Running::Asked(..), Some(last)) => (&*last.report, None),
        (_, None) => {
            return vec![Line::styled(
                "the gates of a run are shown here",
                theme.quiet(),
            )];
        }
    };
    let build_failed = verdict.is_some_and(|v| v.build_failed);
    let mut out = Vec::new();
    // The message at its line says what the reason of a failed build or of a crash says.
    let says_more = |v: &&Verdict| !(v.outcome == Outcome::Crash && repeats(&v.why, report));
    let verdict_reason = verdict.filter(|v| v.outcome != Outcome::Pass && !v.why.is_empty());
    if let Some(verdict) = verdict_reason.filter(says_more) {
        let style = theme.verdict(verdict.outcome);
        for (index, text) in reason_rows(&verdict.why, columns.saturating_sub(2))
            .into_iter()
            .enumerate()
        {
            let sign = if index == 0 { verdict.sign() } else { " " };
            out.push(Line::styled(format!("{sign} {text}"), style));
        }
    }
    out.extend(diagnostics(report, build_failed, columns, theme));
    if let Some(place) = report.value(FIRST_FAILURE) {
        for text in reason_rows(place, columns.saturating_sub(2)) {
            out.push(Line::styled(format!("✗ {text}"), theme.bad()));
        }
    }
    if verdict.is_some()
        && let Some(checked) = runs.checked()
    {
        out.extend(check::lines(checked, columns, theme));
    }
    // The errors of `lab check`, and those of a launch in Python, are messages in a build that
    // succeeded.
    let is_building =
        !check::is_check(report) && report.reached().is_none_or(|stage| stage == Stage::Build);
    let has_errors = is_building
        && report
            .diagnostics()
            .iter()
            .any(|d| d.severity == Severity::Error);
    out.extend(evidence::build(report, build_failed || has_errors, theme));
    if let Some(verdict) = verdict.filter(|v| v.outcome == Outcome::Crash && !v.build_failed) {
        out.extend(ended_in(report).map(|stage| {
            Line::styled(
                format!(
                    "{} {}  the run ended in this stage",
                    verdict.sign(),
                    stage.word()
                ),
                theme.verdict(verdict.outcome),
            )
        }));
    }
    let pending = match (&runs.running, last) {
        (Running::Live(live), _) if live.start.is_check() => Vec::new(),
        (Running::No, _) | (_, None) => Vec::new(),
        (_, Some(last)) => last.report.gates(),
    };
    out.extend(evidence::gates(report, &pending, columns, theme, symbols));
    out.extend(evidence::correct(report, theme));
    out.extend(evidence::others(report, objective.name(), columns, theme));
    out.extend(table::of_report(report, columns, theme));
    out.extend(device_state::line(report, theme));
    out.extend(evidence::provenance(report, theme));
    for caveat in report.caveats() {
        for text in reason_rows(caveat, columns.saturating_sub(2)) {
            out.push(Line::styled(format!("! {text}"), theme.warn()));
        }
    }
    out
}

/// The stage behind the build in which a run ended.
fn ended_in(report: &Report) -> Option<Stage> {
    report.reached().filter(|stage| *stage != Stage::Build)
}

/// Whether a reason only repeats an error that is listed with its line.
fn repeats(why: &str, report: &Report) -> bool {
    let mut errors = report
        .diagnostics()
        .iter()
        .filter(|d| d.severity == Severity::Error);
    errors.any(|error| why.trim_end().ends_with(error.message.trim()))
}

/// A text of the harness in a few rows, so that the gates stay visible.
fn reason_rows(text: &str, columns: usize) -> Vec<String> {
    wrap_to(&printable(text), columns, REASON_ROWS)
}

/// The compiler's messages. Those of a failed build are shown in full, errors first; of a build
/// that succeeded each takes one line.
fn diagnostics(report: &Report, failed: bool, columns: usize, theme: &Theme) -> Lines {
    let mut messages: Vec<&Diagnostic> = report.diagnostics().iter().collect();
    // The sort is stable: a note stays behind the error that it explains.
    messages.sort_by_key(|d| failed && d.severity == Severity::Warning);
    let left_out = messages.len().saturating_sub(DIAGNOSTICS);
    let mut out = Vec::new();
    for diagnostic in messages.into_iter().take(DIAGNOSTICS) {
        let (sign, style) = match diagnostic.severity {
            Severity::Error => ("✗", theme.bad()),
            Severity::Warning => ("!", theme.warn()),
            Severity::Note => (" ", theme.quiet()),
        };
        let file = diagnostic
            .file
            .rsplit('/')
            .next()
            .unwrap_or(&diagnostic.file);
        let column = diagnostic
            .column
            .map(|c| format!(":{c}"))
            .unwrap_or_default();
        let place = format!("{sign} {}:{}{column}", printable(file), diagnostic.line);
        let message = printable(&diagnostic.message);
        if width(&place) + 2 + width(&message) <= columns {
            out.push(Line::from(vec![
                Span::styled(place, style),
                Span::styled(format!("  {message}"), theme.text()),
            ]));
            continue;
        }
        out.push(Line::styled(place, style));
        let limit = if failed { usize::MAX } else { 1 };
        for text in wrap(&message, columns.saturating_sub(4))
            .into_iter()
            .take(limit)
        {
            out.push(Line::styled(format!("    {text}"), theme.text()));
        }
    }
    if left_out > 0 {
        out.push(Line::styled(
            format!("  {left_out} more in run.log"),
            theme.quiet(),
        ));
    }
    out
}
