//! The row below the chart: one experiment in words.

use super::objective;
use crate::prelude::*;
use lab_run::experiment::{Experiment, Status};
use lab_run::verdict::Change;

/// One row about one experiment:
/// `▸ 5 of 8  9f8e7d4 ○ discard  60,900 sps  -0.6 % vs best  unroll by 8`.
pub fn row(
    experiment: &Experiment,
    at: usize,
    data: ScreenData,
    is_selected: bool,
) -> Line<'static> {
    let comparable = data.repository.comparable();
    let row = &experiment.row;
    let figure = comparable.points.figure(experiment);
    let number = match figure {
        Some(value) => format!("{} {}", format::count(value), objective(data).unit()),
        None if row.status == Status::Rules => String::new(),
        None => row.correctness.to_string(),
    };
    let before = at.checked_sub(1);
    let before = before.and_then(|before| comparable.points.best(before));
    let is_beside = comparable.points.is_beside_best(experiment);
    let before = before.filter(|best| *best != 0.0 && is_beside);
    let goal = experiment.goal(data.setup.goal);
    let change = before.zip(figure);
    let change = change.and_then(|(best, value)| Change::of_quotient(value / best, None));
    let change = change.map(|change| format::percent(change.improvement(goal).ratio));
    let sign = if is_selected { "▸ " } else { "  " };
    let place = is_selected.then(|| format!("{} of {}  ", at + 1, comparable.len()));
    let date = experiment.decided.filter(|_| is_selected);
    let decided = format!(" {}", decided(row.status));
    let spans = [
        Some(sign.to_owned().accent()),
        place.map(Meaning::quiet),
        Some(printable(&row.commit).accent()),
        Some(Span::styled(decided, style::experiment(row.status))),
        Some(format!("  {number}").strong()),
        change.map(|change| format!("  {change} vs the best before").quiet()),
        experiment.foreign.then(|| "  foreign".warn()),
        Some(Span::raw(format!("  {}", printable(&row.description)))),
        date.map(|at| format!("  {}", data.date(at)).quiet()),
    ];
    Line::from_iter(spans.into_iter().flatten())
}
