//! The pane Correctness: the compiler's messages, the gates with their values and limits as they
//! arrive, the difference per step as a strip, the workloads as a table. Histograms show how many
//! differences are how large.

mod check;
mod histograms;

use crate::state::{Running, Runs, ScreenSettings};
use crate::text::{printable, width, wrap, wrap_to};
use crate::theme::Theme;
use crate::widgets::PaneSlot;
use crate::widgets::evidence::{self, FIRST_FAILURE, device_state, table};
use lab_core::objective::Objective;
use lab_core::run::verdict::{Outcome, Verdict};
use lab_protocol::report::{Diagnostic, Report, Severity, Stage};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Diagnostics that are shown. run.log has all of them.
const DIAGNOSTICS: usize = 20;

/// Rows that one reason or caveat may take. run.log has all of it.
const REASON_ROWS: usize = 6;

/// Least columns of a zoomed pane that shows lines and histograms side by side.
const BOTH_COLUMNS: u16 = 120;

const HISTOGRAMS: &str = "how many differences are how large";

#[derive(Clone, Copy, Debug, Default)]
pub struct CorrectnessState {
    scroll: usize,
    /// Histograms instead of the lines. A zoomed pane has room for both.
    pub histograms: bool,
}

impl CorrectnessState {
    pub fn scroll(&mut self, by: isize) {
        self.scroll = self.scroll.saturating_add_signed(by);
    }

    /// A new run begins with the first line.
    pub fn to_top(&mut self) {
        self.scroll = 0;
    }
}

/// What the pane shows.
#[derive(Clone, Copy, Debug)]
pub struct Correctness<'a> {
    pub runs: &'a Runs,
    /// The result line that is optimised.
    pub objective: &'a Objective,
    pub is_zoomed: bool,
}

/// Returns the state with its scroll position limited to the text.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Correctness,
    state: CorrectnessState,
    appearance: &ScreenSettings,
) -> CorrectnessState {
    let theme = &appearance.theme;
    let area = slot.area;
    let report = shown(data.runs);
    if let Some(report) = report.filter(|_| state.histograms) {
        let inner = slot.draw_title(frame, HISTOGRAMS, theme);
        histograms::draw(frame, inner, report, theme, appearance.symbols);
        return state;
    }
    if let Some(report) = report
        && data.is_zoomed
        && area.width >= BOTH_COLUMNS
        && histograms::has_any(report)
    {
        let left = area.width / 2;
        let lines = PaneSlot {
            area: Rect {
                width: left,
                ..area
            },
            ..slot
        };
        let state = draw_lines(frame, lines, data, state, appearance);
        let right = PaneSlot {
            area: Rect {
                x: area.x + left,
                width: area.width - left,
                ..area
            },
            ..slot
        };
        let inner = right.draw_title(frame, HISTOGRAMS, theme);
        histograms::draw(frame, inner, report, theme, appearance.symbols);
        return state;
    }
    draw_lines(frame, slot, data, state, appearance)
}

/// The report that the pane shows: of the run in progress, else of the last.
fn shown(runs: &Runs) -> Option<&Report> {
    match (&runs.running, &runs.last) {
        (Running::Live(live), _) => Some(&live.report),
        (_, last) => last.as_ref().map(|last| &*last.report),
    }
}

fn draw_lines(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Correctness,
    state: CorrectnessState,
    appearance: &ScreenSettings,
) -> CorrectnessState {
    let lines = lines(data, usize::from(slot.body().width), appearance);
    let rows = usize::from(slot.body().height);
    let scroll = state.scroll.min(lines.len().saturating_sub(rows));
    let below = lines.len().saturating_sub(scroll + rows);
    let note = if below > 0 {
        format!("{below} more below")
    } else {
        String::new()
    };
    let inner = slot.draw_title(frame, &note, &appearance.theme);
    for (row, line) in lines.into_iter().skip(scroll).take(rows).enumerate() {
        let line = evidence::fit_line(line, usize::from(inner.width));
        frame.render_widget(
            line,
            Rect {
                y: inner.y + row as u16,
                height: 1,
                ..inner
            },
        );
    }
    CorrectnessState { scroll, ..state }
}

/// Rows that all of the text takes in a pane of usual width.
pub fn rows(data: Correctness, appearance: &ScreenSettings) -> usize {
    lines(data, 60, appearance).len()
}

fn lines(data: Correctness, columns: usize, appearance: &ScreenSettings) -> Vec<Line<'static>> {
    let Correctness {
        runs, objective, ..
    } = data;
    let (theme, symbols) = (&appearance.theme, appearance.symbols);
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
fn diagnostics(report: &Report, failed: bool, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
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
