//! The text and the style of a cell of the table.

use crate::prelude::*;
use crate::table::{Column, OverBest, RowFacts};
use crate::text::problem;
use crate::widgets::in_short;
use lab_protocol::report::{PeerRatio, Speed};
use lab_run::experiment::{Experiment, Status};
use lab_run::peers::{self, PeerFigure};
use lab_run::verdict::Change;
use lab_text::figures;

pub fn text(
    column: Column,
    width: usize,
    experiment: &Experiment,
    (facts, data): (&RowFacts, ScreenData),
) -> String {
    let row = &experiment.row;
    let change = facts.change;
    match column {
        Column::Commit => printable(&row.commit),
        Column::Status => {
            let is_caveated = experiment.measured.caveated;
            let caveat = if is_caveated { " !" } else { "" };
            let word = if width < 9 { "" } else { row.status.word() };
            format!("{} {word}{caveat}", mark(row.status))
                .trim_end()
                .replace("  ", " ")
        }
        // A figure of another measure than the heading's names its own unit.
        Column::Figure
            if experiment.counts()
                && experiment.measure() != data.repository.comparable().points.measure() =>
        {
            let objective = experiment.objective(&data.setup.objective);
            let unit = objective.unit();
            let room = width.saturating_sub(unit.len() + 1);
            format!("{} {unit}", figure(experiment, room))
        }
        Column::Figure => figure(experiment, width),
        Column::Change => change.map(|c| against_incumbent(&c)).unwrap_or_default(),
        Column::Best => match facts.over_best {
            Some(OverBest::InTurns(ratio)) => format::percent(ratio),
            Some(OverBest::NotInTurns) => "not in turns".to_owned(),
            Some(OverBest::Unnamed) => "not named".to_owned(),
            None => String::new(),
        },
        Column::Peer => {
            // The ratio alone: the details show its interval.
            let without_ends = |ratio| PeerRatio {
                interval: None,
                ..ratio
            };
            let alone = |peer: &PeerFigure| PeerFigure {
                ratio: peer.ratio.map(without_ends),
                ..peer.clone()
            };
            let peer = peers::fastest(&experiment.peers).map(alone);
            let text = peer.map(|peer| peer.to_string());
            fit(&printable(&text.unwrap_or_default()), width)
        }
        Column::KernelUs if row.kernel_us > 0.0 => format::count(row.kernel_us),
        Column::KernelUs => String::new(),
        Column::Correctness if row.status == Status::Rules => String::new(),
        Column::Correctness => row.correctness.to_string(),
        Column::Speed => {
            let speed = change.and_then(|c| c.speed).map(Speed::word);
            speed.unwrap_or_default().to_owned()
        }
        Column::Problem => {
            let kernel = experiment.kernel.as_deref().map(problem);
            // A change of the rules may be about every problem.
            let unknown = if row.status == Status::Rules { "" } else { "?" };
            fit(&printable(kernel.unwrap_or(unknown)), width)
        }
        Column::Device => {
            let device = printable(experiment.device.as_deref().unwrap_or_default());
            fit(in_short(&device), width)
        }
        Column::When => experiment
            .decided
            .map(|at| data.date(at))
            .unwrap_or_default(),
        Column::Run => experiment
            .run
            .map(|run| run.to_string())
            .unwrap_or_default(),
        Column::Description => printable(&row.description),
    }
}

/// The description and the tags behind it, in so many columns; an experiment of another kernel or
/// device names it in front, if no column does, and one that no record of this user's vouches for is
/// marked there.
pub fn description(
    experiment: &Experiment,
    facts: &RowFacts,
    columns: usize,
    [shows_problem, shows_device]: [bool; 2],
) -> String {
    let mut about = Vec::new();
    if facts.of_another_kernel && !shows_problem {
        about.extend(experiment.kernel.as_deref().map(problem));
    }
    if facts.on_another_device && !shows_device {
        about.extend(experiment.device.as_deref().map(in_short));
    }
    about.extend(experiment.foreign.then_some("foreign"));
    let mut text = printable(&experiment.row.description);
    if !about.is_empty() {
        text = format!("[{}] {text}", printable(&about.join(", ")));
    }
    // A long description leaves them half of the room.
    let tags = fit(&printable(&experiment.tags()), columns / 2);
    if tags.is_empty() {
        return text;
    }
    let room = columns.saturating_sub(width(&tags) + 2);
    format!("{}  {tags}", fit(&text, room))
}

/// `+3.1 % ± 0.3`.
fn against_incumbent(change: &Change) -> String {
    figures::change(change.ratio, change.spread)
}

pub fn style(column: Column, experiment: &Experiment, facts: &RowFacts) -> Style {
    let is_foreign = facts.of_another_kernel || facts.on_another_device;
    let change = facts.change;
    match column {
        Column::Status => style::experiment(experiment.row.status),
        _ if is_foreign => QUIET,
        Column::Commit => ACCENT,
        Column::Figure => STRONG,
        Column::Correctness if !experiment.row.correctness.passed() => BAD,
        Column::Best if !matches!(facts.over_best, Some(OverBest::InTurns(_))) => QUIET,
        Column::Change | Column::Speed => match change {
            Some(Change {
                speed: Some(speed), ..
            }) => style::speed(speed),
            Some(Change {
                interval: Some(_),
                ratio,
                ..
            }) if ratio > 0.0 => GOOD,
            _ => QUIET,
        },
        Column::Problem | Column::Device | Column::When | Column::Run => QUIET,
        _ => TEXT,
    }
}
