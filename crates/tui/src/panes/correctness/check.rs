//! The findings of `lab check` in the bytes on disk. They are shown beside the verdict.

use super::{diagnostics, reason_rows};
use crate::state::FinishedRun;
use crate::text::printable;
use crate::theme::Theme;
use crate::widgets::Lines;
use lab_protocol::report::Report;
use lab_run::verdict::Outcome;
use ratatui::text::{Line, Span};

/// The result line that the harness prints when all tools have ended.
const RESULT: &str = "check";
/// The result line that names the tools of a check.
const TOOLS: &str = "check_tools";

/// `✓ check  run 13: address, race clean`, or the findings with their lines.
pub fn lines(check: &FinishedRun, columns: usize, theme: &Theme) -> Lines {
    let (sign, style) = match check.verdict.outcome {
        Outcome::Pass => ("✓", theme.good()),
        Outcome::Fail => ("✗", theme.bad()),
        Outcome::Crash | Outcome::Void | Outcome::NotJudged => ("!", theme.warn()),
    };
    let says = match check.report.value(RESULT) {
        Some(result) => result,
        None => check.verdict.why.as_str(),
    };
    let mut out = Vec::new();
    for (row, text) in reason_rows(&printable(says), columns.saturating_sub(9))
        .into_iter()
        .enumerate()
    {
        let head = if row == 0 {
            format!("{sign} check  ")
        } else {
            " ".repeat(9)
        };
        out.push(Line::from(vec![
            Span::styled(head, style),
            Span::styled(text, theme.text()),
        ]));
    }
    if check.verdict.outcome != Outcome::Pass {
        out.extend(diagnostics(&check.report, true, columns, theme));
    }
    out
}

/// The report is of a check in progress.
pub fn is_check(report: &Report) -> bool {
    report.value(TOOLS).is_some()
}
