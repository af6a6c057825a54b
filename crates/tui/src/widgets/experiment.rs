//! The sign and the figure of an experiment: the same in the chart, the lists and the details.

use crate::format;
use crate::text::width;
use lab_run::experiment::{Experiment, Status};

/// The sign of a decision, and of a change of the rules.
pub fn mark(status: Status) -> &'static str {
    match status {
        Status::Keep => "●",
        Status::Discard => "○",
        Status::Crash => "✗",
        Status::Rules => "≠",
    }
}

/// Columns of a figure beside a commit.
pub const FIGURE: usize = 7;

/// The figure such as `165,210`, or in short (`165.2k`) where so many columns do not hold it. `~`
/// precedes a figure of the emulated device; a crash, a wrong result and a change of the rules have
/// a word instead.
pub fn figure(experiment: &Experiment, columns: usize) -> String {
    let about = if experiment.emulated { "~" } else { "" };
    match experiment.row.status {
        Status::Crash => "crash".to_owned(),
        Status::Rules => "rules".to_owned(),
        _ if !experiment.row.correctness.passed() => "fail".to_owned(),
        _ => {
            let value = experiment.figure().unwrap_or(0.0);
            let whole = format!("{about}{}", format::count(value));
            if width(&whole) <= columns {
                whole
            } else {
                format!("{about}{}", format::short(value))
            }
        }
    }
}
