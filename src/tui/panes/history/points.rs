//! What the chart shows of the experiments: points for each kind, the best so far, and the range that matters.

use crate::config::Goal;
use crate::session::experiment::{Experiment, Status};
use crate::tui::chart::{Axis, Scale};
use std::ops::Range;

/// An experiment's place and figure; the first experiment has place 1.
pub type Points = Vec<(f64, f64)>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinds {
    pub kept: Points,
    pub discarded: Points,
    /// Without a figure: they stand on the ground line, as their speed says nothing.
    pub wrong: Points,
    pub crashed: Points,
}

/// A figure that counts: correct, and not of a crash.
pub fn figure(experiment: &Experiment) -> Option<f64> {
    let row = &experiment.row;
    let counts = row.status != Status::Crash && row.correctness == "pass" && row.throughput_sps.is_finite();
    counts.then_some(row.throughput_sps)
}

pub fn kinds(all: &[&Experiment], shown: Range<usize>) -> Kinds {
    let mut kinds = Kinds::default();
    for at in shown {
        let status = all[at].row.status;
        let (points, y) = match figure(all[at]) {
            Some(value) if status == Status::Keep => (&mut kinds.kept, value),
            Some(value) => (&mut kinds.discarded, value),
            None if status == Status::Crash => (&mut kinds.crashed, f64::NEG_INFINITY),
            None => (&mut kinds.wrong, f64::NEG_INFINITY),
        };
        points.push((place(at), y));
    }
    kinds
}

/// On the x-axis.
pub fn place(at: usize) -> f64 {
    (at + 1) as f64
}

/// The best passing and kept figure up to each experiment, itself included.
pub fn running_best(all: &[&Experiment], goal: Goal) -> Vec<Option<f64>> {
    let mut best: Option<f64> = None;
    all.iter()
        .map(|experiment| {
            if let Some(value) = figure(experiment).filter(|_| experiment.row.status == Status::Keep) {
                best = Some(match (best, goal) {
                    (None, _) => value,
                    (Some(best), Goal::Maximize) => best.max(value),
                    (Some(best), Goal::Minimize) => best.min(value),
                });
            }
            best
        })
        .collect()
}

/// The range that matters: all of `must`, and of `others` those within Tukey's fences, one and a half times the
/// middle half's spread from its ends (J. W. Tukey, Exploratory Data Analysis, 1977), so that one wild attempt
/// does not flatten everything else. A level joins where two thirds of the height are left to the others.
pub fn range(must: &[f64], others: &Points, levels: &[f64], scale: Scale) -> Axis {
    let mut figures: Vec<f64> = others.iter().map(|(_, y)| *y).collect();
    let within = match figures.len() {
        0 => Vec::new(),
        count => {
            let mut quartile = |at: usize| *figures.select_nth_unstable_by(at, f64::total_cmp).1;
            let (low, high) = (quartile(count / 4), quartile(count * 3 / 4));
            let fence = (high - low) * 1.5;
            figures.into_iter().filter(|v| (low - fence..=high + fence).contains(v)).collect()
        }
    };
    let all = || must.iter().chain(&within).copied();
    let axis = Axis::over(all(), scale);
    let near = levels.iter().filter(|level| (-0.5..=1.5).contains(&axis.share(**level)));
    Axis::over(all().chain(near.copied()), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wild_attempt_and_a_far_level_do_not_flatten_the_rest() {
        let others: Points = [100.0, 104.0, 98.0, 101.0, 3.0, 99.0, 103.0, 102.0].map(|y| (1.0, y)).to_vec();
        let ends = |levels: &[f64]| {
            let axis = range(&[105.0], &others, levels, Scale::Linear);
            (axis.low().round(), axis.high().round())
        };
        assert_eq!(ends(&[]), (98.0, 105.0));
        assert_eq!(ends(&[1_000.0]), (98.0, 105.0));
        assert_eq!(ends(&[108.0]), (97.0, 109.0));
    }
}
