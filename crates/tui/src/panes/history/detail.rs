//! The row below the chart: one experiment in words.

use super::objective;
use crate::prelude::*;
use crate::table::{OverBest, over_best};
use lab_run::experiment::{Experiment, Status};

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
    let before = before.and_then(|before| comparable.points.best_at(before));
    let is_beside = comparable.points.is_beside_best(experiment) && figure.is_some();
    let before = before.filter(|_| is_beside);
    let before = before.and_then(|best| data.repository.nth_comparable(best));
    let goal = experiment.goal(data.setup.goal);
    let change = before.map(
        |best| match over_best(experiment, best.measured.blob, goal) {
            OverBest::InTurns(ratio) => format!("  {} vs the best before", format::percent(ratio)),
            OverBest::NotInTurns => "  not in turns with the best".to_owned(),
            OverBest::Unnamed => "  names no incumbent".to_owned(),
        },
    );
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
        change.map(Meaning::quiet),
        experiment.foreign.then(|| "  foreign".warn()),
        Some(Span::raw(format!("  {}", printable(&row.description)))),
        date.map(|at| format!("  {}", data.date(at)).quiet()),
    ];
    Line::from_iter(spans.into_iter().flatten())
}
