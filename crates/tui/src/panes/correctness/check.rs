//! The findings of `lab check` in the bytes on disk. They are shown beside the verdict.

use super::{diagnostics, reason_rows};
use crate::prelude::*;
use crate::state::FinishedRun;
use lab_protocol::report::Report;
use lab_run::verdict::Outcome;

/// The result line that the harness prints when all tools have ended.
const RESULT: &str = "check";
/// The result line that names the tools of a check.
const TOOLS: &str = "check_tools";

/// `✓ check  run 13: address, race clean`, or the findings with their lines.
pub fn lines(check: &FinishedRun, columns: usize) -> Lines {
    let (sign, style) = match check.verdict.outcome {
        Outcome::Pass => ("✓", GOOD),
        Outcome::Fail => ("✗", BAD),
        Outcome::Crash | Outcome::Void | Outcome::NotJudged => ("!", WARN),
    };
    let result = check.report.value(RESULT);
    let rows = reason_rows(
        result.unwrap_or(&check.verdict.why),
        columns.saturating_sub(9),
    );
    let head = Span::styled(format!("{sign} check  "), style);
    let mut out = hanging(head, rows, Style::new());
    if check.verdict.outcome != Outcome::Pass {
        out.extend(diagnostics(&check.report, true, columns));
    }
    out
}

/// The report is of a check in progress.
pub fn is_check(report: &Report) -> bool {
    report.value(TOOLS).is_some()
}
