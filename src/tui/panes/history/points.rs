//! What the chart shows of the experiments: points for each kind, the best so far, and the range that matters.

use crate::config::Goal;
use crate::session::experiment::{Experiment, Status};
use crate::tui::chart::{Axis, Scale};
use std::ops::Range;

/// An experiment's place and figure; the first experiment has place 1.
pub type Points = [(f64, f64)];

/// Points of each kind, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kinds<P> {
    pub kept: P,
    pub discarded: P,
    /// Without a figure: they stand on the ground line, as their speed says nothing.
    pub wrong: P,
    pub crashed: P,
}

/// All experiments as the chart needs them: made once, and only looked at when it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    kinds: Kinds<Vec<(f64, f64)>>,
    /// The best passing and kept figure, at each place where it is a better one than before.
    best: Vec<(f64, f64)>,
}

impl Course {
    /// Of experiments from oldest to newest.
    pub fn of<'e>(experiments: impl Iterator<Item = &'e Experiment>, goal: Goal) -> Self {
        let mut course = Course::default();
        let Course { kinds, best } = &mut course;
        for (at, experiment) in experiments.enumerate() {
            let points = match figure(experiment) {
                Some(value) if experiment.is_kept() => {
                    if best.last().is_none_or(|(_, best)| goal.prefers(value, *best)) {
                        best.push((place(at), value));
                    }
                    &mut kinds.kept
                }
                Some(_) => &mut kinds.discarded,
                None if experiment.row.status == Status::Crash => &mut kinds.crashed,
                None => &mut kinds.wrong,
            };
            points.push((place(at), figure(experiment).unwrap_or(f64::NEG_INFINITY)));
        }
        course
    }

    /// Those of these experiments.
    pub fn kinds(&self, shown: &Range<usize>) -> Kinds<&Points> {
        let Kinds { kept, discarded, wrong, crashed } = &self.kinds;
        Kinds {
            kept: within(kept, shown),
            discarded: within(discarded, shown),
            wrong: within(wrong, shown),
            crashed: within(crashed, shown),
        }
    }

    /// The best up to this experiment, itself included.
    pub fn best(&self, at: usize) -> Option<f64> {
        let known = self.best.partition_point(|(x, _)| *x <= place(at));
        known.checked_sub(1).and_then(|last| self.best.get(last)).map(|(_, best)| *best)
    }

    /// The best at the first of these experiments, and wherever it changes among them.
    pub fn steps(&self, shown: &Range<usize>) -> Vec<(f64, f64)> {
        let first = self.best(shown.start).map(|best| (place(shown.start), best));
        let others = within(&self.best, &(shown.start + 1..shown.end));
        first.into_iter().chain(others.iter().copied()).collect()
    }
}

fn within<'p>(points: &'p Points, shown: &Range<usize>) -> &'p Points {
    let before = |at: usize| points.partition_point(|(x, _)| *x < place(at));
    let from = before(shown.start);
    &points[from..before(shown.end).max(from)]
}

/// A figure that counts: correct, and not of a crash.
pub fn figure(experiment: &Experiment) -> Option<f64> {
    experiment.figure().filter(|figure| figure.is_finite())
}

/// On the x-axis.
pub fn place(at: usize) -> f64 {
    (at + 1) as f64
}

/// The experiment that is nearest to a figure on the x-axis.
pub fn nearest(figure: f64) -> usize {
    // What is below zero, or no number, becomes 0.
    (figure - 1.0).round() as usize
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
        let others: Vec<(f64, f64)> =
            [100.0, 104.0, 98.0, 101.0, 3.0, 99.0, 103.0, 102.0].map(|y| (1.0, y)).to_vec();
        let ends = |levels: &[f64]| {
            let axis = range(&[105.0], &others, levels, Scale::Linear);
            (axis.low().round(), axis.high().round())
        };
        assert_eq!(ends(&[]), (98.0, 105.0));
        assert_eq!(ends(&[1_000.0]), (98.0, 105.0));
        assert_eq!(ends(&[108.0]), (97.0, 109.0));
    }
}
