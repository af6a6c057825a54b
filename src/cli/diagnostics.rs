//! The messages of the compiler and of the race detector, which only run.log has.

use lab_protocol::report::{Diagnostic, Report};
use lab_run::RunId;
use lab_run::verdict::Verdict;
use lab_runner::follow::read_log;
use lab_store::RunStore;

/// Compiler messages that an answer holds at most; all of them are in run.log.
const DIAGNOSTICS: usize = 1_000;

/// Lines of run.log that are searched for compiler messages, the last ones.
const LOG_LINES: usize = 200_000;

/// The compiler's messages and those of the race detector, which only run.log has.
pub fn diagnostics(records: &RunStore, run: RunId, verdict: &Verdict) -> Vec<Diagnostic> {
    let mut report = Report::default();
    let log = records.open_log_of(run, Some(verdict));
    for line in log
        .and_then(|log| read_log(log, LOG_LINES))
        .unwrap_or_default()
    {
        report.push_line(&line.text);
        if report.diagnostics().len() >= DIAGNOSTICS {
            break;
        }
    }
    report.diagnostics().to_vec()
}
