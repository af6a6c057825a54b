//! The sign and the figure of an experiment: the same in the chart, the lists and the details.

use crate::format;
use crate::keymap::Action;
use crate::state::ScreenData;
use crate::text::{pad_left, width};
use crate::theme::style::{self, Meaning};
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
            match width(&whole) <= columns {
                true => whole,
                false => format!("{about}{}", format::short(value)),
            }
        }
    }
}
