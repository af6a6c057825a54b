//! The sign and the figure of an experiment: the same in the chart, the lists and the details.

use crate::format;
use lab_core::run::experiment::{Experiment, Status};

/// The sign of a decision, and of a change of the rules.
pub fn mark(status: Status) -> &'static str {
    match status {
        Status::Keep => "●",
        Status::Discard => "○",
        Status::Crash => "✗",
        Status::Rules => "≠",
    }
}

/// The figure in short, such as `165.2k`. `~` precedes a figure of the emulated device; a crash, a wrong result
/// and a change of the rules have a word instead.
pub fn figure(experiment: &Experiment) -> String {
    match experiment.row.status {
        Status::Crash => "crash".to_owned(),
        Status::Rules => "rules".to_owned(),
        _ if !experiment.row.correctness.passed() => "fail".to_owned(),
        _ if experiment.emulated => format!("~{}", format::short(experiment.row.throughput_sps)),
        _ => format::short(experiment.row.throughput_sps),
    }
}
