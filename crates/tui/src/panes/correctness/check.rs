//! What `lab check` found in the bytes on disk: beside the verdict, never in its place.

use super::super::super::app::Judged;
use super::super::super::text::printable;
use super::super::super::theme::Theme;
use super::{diagnostics, rows_of};
use lab_core::run::verdict::Outcome;
use lab_protocol::report::Report;
use ratatui::text::{Line, Span};

/// The protocol's word for what came of it, when all tools have ended.
const RESULT: &str = "check";
const TOOLS: &str = "check_tools";

/// `✓ check  run 13: address, race clean`, or what was found, each with its line.
pub fn lines(check: &Judged, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (sign, style) = match check.verdict.outcome {
        Outcome::Pass => ("✓", theme.good()),
        Outcome::Fail => ("✗", theme.bad()),
        Outcome::Crash | Outcome::Void => ("!", theme.warn()),
    };
    let says = match check.report.value(RESULT) {
        Some(result) => result,
        None => check.verdict.why.as_str(),
    };
    let mut out = Vec::new();
    for (row, text) in rows_of(&printable(says), columns.saturating_sub(9)).into_iter().enumerate() {
        let head = if row == 0 { format!("{sign} check  ") } else { " ".repeat(9) };
        out.push(Line::from(vec![Span::styled(head, style), Span::styled(text, theme.text())]));
    }
    if check.verdict.outcome != Outcome::Pass {
        out.extend(diagnostics(&check.report, true, columns, theme));
    }
    out
}

/// Whether these are the lines of a check that goes on.
pub fn is_one(report: &Report) -> bool {
    report.value(TOOLS).is_some()
}
