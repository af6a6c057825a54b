//! The sign and the figure of an experiment: the same in the chart, the lists and the details.

use crate::format;
use crate::keymap::Action;
use crate::state::{ScreenData, Setup};
use crate::text::{pad_left, width};
use crate::theme::style::{self, Meaning};
use lab_project::objective::Objective;
use lab_run::experiment::{Experiment, Status};
use ratatui::text::Span;

/// The sign of a decision, and of a change of the rules.
pub fn mark(status: Status) -> &'static str {
    match status {
        Status::Keep => "●",
        Status::Discard => "○",
        Status::Crash => "✗",
        Status::Rules => "≠",
    }
}

/// The sign of a decision and its word: `● keep`.
pub fn decided(status: Status) -> String {
    format!("{} {}", mark(status), status.word())
}

/// How a person decides an experiment.
pub fn how_to_decide(data: ScreenData) -> String {
    let [keep, discard] = [Action::Keep, Action::Discard].map(|action| data.way(action));
    format!("{keep} keeps one, {discard} discards one")
}

/// Columns of a figure beside a commit.
const FIGURE: usize = 7;

/// The sign and the figure of an experiment beside its commit.
pub fn beside_commit(experiment: &Experiment) -> [Span<'static>; 2] {
    let status = experiment.row.status;
    [
        Span::styled(mark(status), style::experiment(status)),
        pad_left(&figure(experiment, FIGURE), FIGURE).strong(),
    ]
}

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

/// The short name of a device: `NVIDIA GeForce RTX 4090` is `RTX 4090`, and
/// `cpu (emulated, 2 threads)` is `cpu` (the figure tells that it is emulated). The details of an
/// experiment show the full name.
pub fn in_short(device: &str) -> &str {
    let mut name = device.split(" (").next().unwrap_or(device);
    for maker in ["NVIDIA ", "GeForce ", "Tesla ", "Quadro "] {
        name = name.strip_prefix(maker).unwrap_or(name);
    }
    name
}

/// Microseconds of one launch, to show beside the figure; `None` if the figure is that time.
pub fn time_beside(experiment: &Experiment, setup: &Setup) -> Option<f64> {
    let is_figure = experiment.objective(&setup.objective) == Objective::KernelTime;
    experiment.row.time().filter(|_| !is_figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_what_tells_it_from_others() {
        for (name, short) in [
            ("NVIDIA H200", "H200"),
            ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("Tesla T4", "T4"),
            ("cpu (emulated, 2 threads)", "cpu"),
            ("", ""),
        ] {
            assert_eq!(in_short(name), short);
        }
    }
}
