//! The lines of the chart that are the peers' speeds.

use crate::prelude::*;
use crate::state::{FinishedRun, peers};
use lab_history::chart_points::ChartPoints;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::Measure;
use lab_run::chosen::{Chosen, ChosenMeasure};
use lab_run::experiment::Measured;
use lab_run::peers::PeerFigure;

/// The speed of each peer in the chart's measure, with the peer's name: a kernel's figure by its
/// ratio to the peer. Of the last run if its peers are known, else of the newest experiment whose
/// peers are. Figures over other workloads than the chart's do not belong into it.
pub fn peer_lines(data: ScreenData) -> Vec<(f64, String)> {
    let ScreenData {
        repository,
        runs,
        setup,
        ..
    } = data;
    let comparable = repository.comparable();
    if comparable.elsewhere.is_some() {
        return Vec::new();
    }
    let points = &comparable.points;
    let of_last = || {
        let last = runs.last.as_ref()?;
        let known = peers::of(last, repository).filter(|known| !known.of_incumbent)?;
        let is_beside = Measured::from(&last.verdict).part == points.part();
        Some((
            figure_of(last, points).filter(|_| is_beside)?.value,
            known.figures.into_owned(),
        ))
    };
    let of_experiment = || {
        let experiments = (0..comparable.len())
            .rev()
            .filter_map(|at| repository.nth_comparable(at));
        let mut experiments = experiments.filter(|e| points.is_beside_best(e));
        experiments.find_map(|e| {
            Some((points.figure(e)?, e.peers.clone())).filter(|(_, peers)| !peers.is_empty())
        })
    };
    let Some((value, figures)) = of_last().or_else(of_experiment) else {
        return Vec::new();
    };
    let goal = points.measure().map_or(setup.goal, ChosenMeasure::goal);
    let is_time =
        points.objective(&setup.objective) == Objective::KernelTime || goal == Goal::Minimize;
    let line = |peer: PeerFigure| {
        if peer.part.is_some() {
            // Its figure is over other workloads than the chart's.
            return None;
        }
        let ratio = peer.ratio?.value;
        let at = if is_time {
            value * ratio
        } else {
            value / ratio
        };
        let name = format!("{} {}", printable(&peer.name), format::short(at));
        at.is_finite().then_some((at, name))
    };
    figures.into_iter().filter_map(line).collect()
}

/// The figure of a run in the chart's measure.
pub fn figure_of(run: &FinishedRun, points: &ChartPoints) -> Option<Measure> {
    let chosen = run.verdict.chosen.as_ref().and_then(Chosen::from_figure);
    match points.measure() {
        Some(measure) => chosen
            .filter(|chosen| chosen.of == measure)
            .map(|chosen| chosen.measure),
        None => run.verdict.objective,
    }
}
