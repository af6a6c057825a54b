//! The pane Throughput while one workload is charted: its time in each experiment that timed it.

use super::{HistoryPlot, HistoryState, counted, window};
use crate::chart::{Axis, Chart, Cursor, Scale, Series, SeriesShape};
use crate::prelude::*;
use lab_history::chart_points::place;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Status};
use std::collections::HashMap;
use std::ops::Range;

/// A workload, and its time in each run that timed it, in µs; `None` while they are read.
#[derive(Clone, Debug)]
pub struct WorkloadTimes {
    pub name: String,
    pub of_runs: Option<HashMap<RunId, f64>>,
}

/// The points of the shown experiments.
#[derive(Default)]
struct Points {
    kept: Vec<(f64, f64)>,
    discarded: Vec<(f64, f64)>,
    /// The shortest time of a kept one so far.
    best: Vec<(f64, f64)>,
}

impl WorkloadTimes {
    fn of(&self, experiment: &Experiment) -> Option<f64> {
        self.of_runs.as_ref()?.get(&experiment.run?).copied()
    }

    fn points(&self, data: ScreenData, shown: &Range<usize>) -> Points {
        let mut points = Points::default();
        for at in shown.clone() {
            let experiment = data.repository.nth_comparable(at);
            let Some((experiment, us)) = experiment.and_then(|e| Some((e, self.of(e)?))) else {
                continue;
            };
            let point = (place(at), us);
            if !experiment.is_kept() {
                points.discarded.push(point);
                continue;
            }
            points.kept.push(point);
            // An emulated time is no better than another.
            let is_better = points.best.last().is_none_or(|(_, best)| us < *best);
            if is_better && !experiment.emulated {
                points.best.push(point);
            }
        }
        points
    }
}

/// Returns the plot, where one was drawn.
pub fn draw(canvas: &mut Canvas, state: &HistoryState, of: &WorkloadTimes) -> Option<HistoryPlot> {
    let data = canvas.data;
    let count = data.repository.comparable().len();
    let newest = count
        .checked_sub(1)
        .and_then(|at| data.repository.nth_comparable(at));
    let emulated = newest.is_some_and(|e| e.emulated);
    let back = format!("{} goes back", data.way(Action::Close));
    let emulated = if emulated {
        "emulated times"
    } else {
        "less is better"
    };
    let note = joined([&*printable(&of.name), "µs", emulated, &back]);
    let inner = canvas.draw_titled("Workload", &note);
    let selected = data.repository.position(data.selection.key.as_ref());
    let shown = window(state.newest, count.max(1), selected);
    let points = of.points(data, &shown);
    if points.kept.is_empty() && points.discarded.is_empty() {
        let text = match of.of_runs {
            Some(_) => "no experiment here timed this workload",
            None => "reading …",
        };
        canvas.draw_hint(inner, text);
        return None;
    }
    let chosen = selected.and_then(|at| Some((at, data.repository.nth_comparable(at)?)));
    let chart = chart(of, &points, state.scale, &shown, chosen);
    let plot = chart.render(inner, canvas.frame.buffer_mut(), data.appearance.symbols)?;
    Some(HistoryPlot {
        area: plot,
        x: chart.x,
        shown,
    })
}

fn chart<'p>(
    of: &WorkloadTimes,
    points: &'p Points,
    scale: Scale,
    shown: &Range<usize>,
    chosen: Option<(usize, &Experiment)>,
) -> Chart<'p> {
    let [keep, discard] = [Status::Keep, Status::Discard].map(style::experiment);
    let all = points.kept.iter().chain(&points.discarded);
    let best = points.best.last();
    let best = best.map_or(String::new(), |(_, us)| format!("best {}", format::us(*us)));
    let ends = [place(shown.start) - 0.5, place(shown.end) + 0.5];
    Chart {
        x: Axis::between(ends[0], ends[1], Scale::Linear)
            .named("experiment")
            .whole(),
        y: Axis::over(all.map(|(_, us)| *us), scale),
        series: vec![
            Series {
                name: best,
                style: GOOD,
                shape: SeriesShape::Step(&points.best),
            },
            counted("discarded", discard, ["○", "o"], &points.discarded),
            counted("kept", keep, [mark(Status::Keep), "O"], &points.kept),
        ],
        reference_lines: Vec::new(),
        cursor: chosen.map(|(at, experiment)| {
            let us = of
                .of(experiment)
                .map_or_else(|| "not timed".to_owned(), format::us);
            Cursor {
                x: place(at),
                text: format!("{}: {us}", at + 1),
            }
        }),
    }
}
