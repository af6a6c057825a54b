//! What the chart shows of the experiments: points for each kind, the best so far, and the range
//! that matters.

use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_run::chosen::ChosenMeasure;
use lab_run::experiment::{Experiment, Status};
use lab_text::axis::{Axis, Scale};
use std::ops::{Range, RangeInclusive};

/// An experiment's place and figure; the first experiment has place 1.
pub type Points = [(f64, f64)];

/// Points of each kind, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kinds<P> {
    pub kept: P,
    pub discarded: P,
    /// Kept and discarded experiments that no record of this user's vouches for.
    pub foreign: P,
    /// Experiments without a figure. They are drawn on the ground line.
    pub wrong: P,
    pub crashed: P,
    /// Changes of the rules, which are no experiments.
    pub rules: P,
}

/// All experiments as the chart needs them: made once, and only looked at when it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartPoints {
    kinds: Kinds<Vec<(f64, f64)>>,
    /// Those of the foreign ones that were kept.
    foreign_kept: Vec<(f64, f64)>,
    /// The best passing and kept figure, at each place where it is a better one than before; of the
    /// experiments that judged as many workloads as the newest one. A change of the rules ends it
    /// with a NaN: what other rules judged is not compared. Empty on an emulated device.
    best: Vec<(f64, f64)>,
    /// The workloads of those experiments, if they judged a part of them.
    part: Option<usize>,
    /// The measure that the problem of the newest one chose: every figure is of this measure.
    /// `None` is the objective.
    measure: Option<ChosenMeasure>,
    count: usize,
    /// What the axis must reach where all of them are shown.
    reach: Reach,
}

/// What an axis must reach for all of some figures to be on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reach {
    least: Option<f64>,
    /// Where a logarithmic axis begins.
    least_above_zero: Option<f64>,
    most: Option<f64>,
}

impl Reach {
    fn of(figures: impl Iterator<Item = f64> + Clone) -> Self {
        Reach {
            least: figures.clone().reduce(f64::min),
            least_above_zero: figures.clone().filter(|y| *y > 0.0).reduce(f64::min),
            most: figures.reduce(f64::max),
        }
    }

    fn figures(self) -> impl Iterator<Item = f64> + Clone {
        [self.least, self.least_above_zero, self.most]
            .into_iter()
            .flatten()
    }
}

impl ChartPoints {
    /// Returns the points of experiments from oldest to newest.
    pub fn of<'e>(experiments: impl Iterator<Item = &'e Experiment> + Clone, goal: Goal) -> Self {
        let newest = experiments
            .clone()
            .filter(|e| e.figure().is_some_and(f64::is_finite))
            .last();
        let part = newest.and_then(|newest| newest.measured.part);
        let measure = newest.and_then(Experiment::measure);
        let goal = measure.map_or(goal, ChosenMeasure::goal);
        let mut chart = ChartPoints {
            part,
            measure,
            ..ChartPoints::default()
        };
        let ChartPoints {
            kinds,
            foreign_kept,
            best,
            count,
            ..
        } = &mut chart;
        let figure = |experiment| figure(experiment, measure);
        for (at, experiment) in experiments.enumerate() {
            *count = at + 1;
            if experiment.row.status == Status::Rules {
                kinds.rules.push((place(at), f64::NEG_INFINITY));
                if !best.is_empty() {
                    best.push((place(at), f64::NAN));
                }
                continue;
            }
            let points = match figure(experiment) {
                Some(value) if experiment.is_kept() => {
                    let is_better = best
                        .last()
                        .is_none_or(|(_, best)| best.is_nan() || goal.prefers(value, *best));
                    // An emulated time is no better than another.
                    let is_own = !experiment.foreign && !experiment.emulated;
                    if is_own && is_better && experiment.measured.part == part {
                        best.push((place(at), value));
                    }
                    match experiment.foreign {
                        true => {
                            foreign_kept.push((place(at), value));
                            &mut kinds.foreign
                        }
                        false => &mut kinds.kept,
                    }
                }
                Some(_) if experiment.foreign => &mut kinds.foreign,
                Some(_) => &mut kinds.discarded,
                // The experiment is correct but has no figure of this measure: the problem chose
                // another measure then.
                None if experiment.counts() => continue,
                None if experiment.row.status == Status::Crash => &mut kinds.crashed,
                None => &mut kinds.wrong,
            };
            points.push((place(at), figure(experiment).unwrap_or(f64::NEG_INFINITY)));
        }
        chart.reach = chart.matters(&(0..chart.count));
        chart
    }

    /// The figures of these experiments that matter: of the kept ones and the best so far all, whoever
    /// kept them, of the discarded ones those within Tukey's fences, one and a half times the middle half's
    /// spread from its ends (J. W. Tukey, Exploratory Data Analysis, 1977), so that one wild
    /// attempt does not flatten everything else.
    pub fn reach(&self, shown: &Range<usize>) -> Reach {
        // Computing this for all experiments at each frame would take longer than drawing them.
        if *shown == (0..self.count) {
            self.reach
        } else {
            self.matters(shown)
        }
    }

    fn matters(&self, shown: &Range<usize>) -> Reach {
        let Kinds {
            kept,
            discarded,
            foreign,
            ..
        } = self.kinds(shown);
        let foreign_kept = self::within(&self.foreign_kept, shown);
        let within = [discarded, foreign].into_iter().flat_map(|points| {
            let fences = fences(points);
            let figures = points.iter().map(|(_, y)| *y);
            figures.filter(move |y| fences.contains(y))
        });
        // The best among them is a kept one; only the first of them may stand beside an older best.
        Reach::of(
            self.best(shown.start)
                .into_iter()
                .chain(kept.iter().chain(foreign_kept).map(|(_, y)| *y))
                .chain(within),
        )
    }

    /// Returns the points of these experiments.
    pub fn kinds(&self, shown: &Range<usize>) -> Kinds<&Points> {
        let Kinds {
            kept,
            discarded,
            foreign,
            wrong,
            crashed,
            rules,
        } = &self.kinds;
        Kinds {
            kept: within(kept, shown),
            discarded: within(discarded, shown),
            foreign: within(foreign, shown),
            wrong: within(wrong, shown),
            crashed: within(crashed, shown),
            rules: within(rules, shown),
        }
    }

    /// Whether the experiment judged as many workloads as those whose best is shown.
    pub fn is_beside_best(&self, experiment: &Experiment) -> bool {
        experiment.measured.part == self.part
    }

    /// How many workloads those whose best is shown judged, if they left some out.
    pub fn part(&self) -> Option<usize> {
        self.part
    }

    /// The measure of the figures; `None` is the objective.
    pub fn measure(&self) -> Option<ChosenMeasure> {
        self.measure
    }

    /// The objective of the figures, where lab.toml names `configured`.
    pub fn objective(&self, configured: &Objective) -> Objective {
        self.measure
            .map_or_else(|| configured.clone(), ChosenMeasure::objective)
    }

    /// The figure of an experiment in the chart's measure, if it counts.
    pub fn figure(&self, experiment: &Experiment) -> Option<f64> {
        figure(experiment, self.measure)
    }

    /// The best up to this experiment, itself included, of those that were judged by its rules.
    pub fn best(&self, at: usize) -> Option<f64> {
        self.best_point(at).map(|(_, best)| best)
    }

    /// The experiment that was the best up to this one, itself included.
    pub fn best_at(&self, at: usize) -> Option<usize> {
        self.best_point(at).map(|(place, _)| nearest(place))
    }

    fn best_point(&self, at: usize) -> Option<(f64, f64)> {
        let count = self.best.partition_point(|(x, _)| *x <= place(at));
        count
            .checked_sub(1)
            .and_then(|last| self.best.get(last))
            .copied()
            .filter(|(_, best)| !best.is_nan())
    }

    /// How many experiments there are. A change of the rules has a place, and is none.
    pub fn experiments(&self) -> usize {
        self.count - self.kinds.rules.len()
    }

    /// The best at the first of these experiments, and wherever it changes among them; NaN where a
    /// change of the rules ends it.
    pub fn steps(&self, shown: &Range<usize>) -> Vec<(f64, f64)> {
        let first = self
            .best(shown.start)
            .map(|best| (place(shown.start), best));
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
fn figure(experiment: &Experiment, measure: Option<ChosenMeasure>) -> Option<f64> {
    experiment
        .figure_of(measure)
        .filter(|figure| figure.is_finite())
}

/// Returns the place of experiment `at` on the x-axis.
pub fn place(at: usize) -> f64 {
    (at + 1) as f64
}

/// Returns the experiment whose place on the x-axis is nearest.
pub fn nearest(figure: f64) -> usize {
    // A negative number and NaN become 0.
    (figure - 1.0).round() as usize
}

/// Tukey's fences of some figures.
fn fences(points: &Points) -> RangeInclusive<f64> {
    let mut figures: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    let count = figures.len();
    if count == 0 {
        return 0.0..=0.0;
    }
    let mut quartile = |at: usize| *figures.select_nth_unstable_by(at, f64::total_cmp).1;
    let (low, high) = (quartile(count / 4), quartile(count * 3 / 4));
    let fence = (high - low) * 1.5;
    low - fence..=high + fence
}

/// An axis on which all of `must` and of the figures that matter have their place. A level joins
/// where two thirds of the height are left to the others.
pub fn range(must: &[f64], others: Reach, reference_lines: &[f64], scale: Scale) -> Axis {
    let all = || must.iter().copied().chain(others.figures());
    let axis = Axis::over(all(), scale);
    let near = reference_lines
        .iter()
        .filter(|level| (-0.5..=1.5).contains(&axis.share(**level)));
    Axis::over(all().chain(near.copied()), scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::report::Measure;
    use lab_run::chosen::Chosen;
    use lab_run::experiment::{Correctness, Measured, Row};

    fn experiment(figure: f64, status: Status) -> Experiment {
        let row = Row {
            commit: "0123456".into(),
            throughput_sps: figure,
            kernel_us: 1.0,
            correctness: Correctness::Pass,
            status,
            description: String::new(),
        };
        Experiment {
            row,
            run: None,
            kernel: None,
            device: None,
            renamed_from: None,
            foreign: false,
            emulated: false,
            decided: None,
            peers: Vec::new(),
            trailers: Vec::new(),
            measured: Measured {
                objective: Some(Measure {
                    value: figure,
                    low: None,
                    high: None,
                }),
                ..Measured::default()
            },
        }
    }

    /// One kept of 105, and these discarded.
    fn chart(discarded: &[f64]) -> ChartPoints {
        let others = discarded
            .iter()
            .map(|figure| experiment(*figure, Status::Discard));
        let all: Vec<Experiment> = std::iter::once(experiment(105.0, Status::Keep))
            .chain(others)
            .collect();
        ChartPoints::of(all.iter(), Goal::Maximize)
    }

    #[test]
    fn a_wild_attempt_and_a_far_level_do_not_flatten_the_rest() {
        let chart = chart(&[100.0, 104.0, 98.0, 101.0, 3.0, 99.0, 103.0, 102.0]);
        let ends = |reference_lines: &[f64]| {
            let axis = range(&[], chart.reach(&(0..9)), reference_lines, Scale::Linear);
            (axis.low().round(), axis.high().round())
        };
        assert_eq!(ends(&[]), (98.0, 105.0));
        assert_eq!(ends(&[1_000.0]), (98.0, 105.0));
        assert_eq!(ends(&[108.0]), (97.0, 109.0));
    }

    #[test]
    fn the_newest_alone_have_fences_of_their_own_beside_the_best_before_them() {
        let chart = chart(&[100.0, 101.0, 99.0, 100.0, 20.0, 21.0, 19.0, 20.0]);
        let reach = chart.reach(&(5..9));
        assert_eq!((reach.least, reach.most), (Some(19.0), Some(105.0)));
        assert_eq!(reach, chart.matters(&(5..9)));
        assert_eq!(chart.reach(&(0..9)), chart.matters(&(0..9)));
    }

    #[test]
    fn the_best_is_of_this_user() {
        let mut all = [10.0, 900.0, 12.0].map(|figure| experiment(figure, Status::Keep));
        all[1].foreign = true;
        let chart = ChartPoints::of(all.iter(), Goal::Maximize);
        assert_eq!(
            [0, 1, 2].map(|at| chart.best(at)),
            [Some(10.0), Some(10.0), Some(12.0)]
        );
    }

    #[test]
    fn the_newest_and_best_of_a_clone_are_inside_the_chart() {
        // A clone has the rows of others, and none of their records.
        let slow = [19.0, 20.0, 21.0, 20.0, 22.0, 21.0, 20.0, 19.0, 20.0];
        let fast = [41.3, 42.2];
        let all = slow.iter().chain(&fast);
        let mut all: Vec<_> = all.map(|it| experiment(*it, Status::Keep)).collect();
        all.push(experiment(900.0, Status::Discard));
        all.iter_mut().for_each(|one| one.foreign = true);
        let chart = ChartPoints::of(all.iter(), Goal::Maximize);
        let axis = range(&[], chart.reach(&(0..12)), &[], Scale::Linear);
        assert!(axis.high() > 42.2, "{axis:?}");
        assert!(axis.high() < 100.0, "a wild attempt does not flatten them");
    }

    #[test]
    fn emulated_experiments_have_no_best() {
        let mut all = [10.0, 12.0].map(|figure| experiment(figure, Status::Keep));
        all.iter_mut().for_each(|one| one.emulated = true);
        let chart = ChartPoints::of(all.iter(), Goal::Maximize);
        assert_eq!((chart.best(1), chart.steps(&(0..2))), (None, Vec::new()));
        assert_eq!(chart.kinds(&(0..2)).kept.len(), 2);
    }

    #[test]
    fn a_change_of_the_rules_ends_the_best_and_is_no_experiment() {
        let mut all = [10.0, 0.0, 4.0, 5.0].map(|figure| experiment(figure, Status::Keep));
        all[1].row.status = Status::Rules;
        let chart = ChartPoints::of(all.iter(), Goal::Maximize);
        assert_eq!(
            [0, 1, 2, 3].map(|at| chart.best(at)),
            [Some(10.0), None, Some(4.0), Some(5.0)]
        );
        let kinds = chart.kinds(&(0..4));
        assert_eq!((kinds.kept.len(), kinds.rules.len()), (3, 1));
        assert_eq!(chart.experiments(), 3);
    }

    #[test]
    fn the_best_is_of_experiments_that_judged_as_many_workloads_as_the_newest() {
        let kept = |figure, part| {
            let mut kept = experiment(figure, Status::Keep);
            kept.measured.part = part;
            kept
        };
        let all = [kept(10.0, None), kept(90.0, Some(8)), kept(12.0, None)];
        let chart = ChartPoints::of(all.iter(), Goal::Maximize);
        assert_eq!(
            [0, 1, 2].map(|at| chart.best(at)),
            [Some(10.0), Some(10.0), Some(12.0)]
        );
        assert_eq!(
            all.each_ref().map(|one| chart.is_beside_best(one)),
            [true, false, true]
        );
        assert_eq!(
            ChartPoints::of(all[..2].iter(), Goal::Maximize).best(1),
            Some(90.0)
        );
    }

    #[test]
    fn the_chart_shows_the_measure_that_the_problem_chose() {
        let timed = |samples, us| {
            let mut timed = experiment(samples, Status::Keep);
            let measure = Measure {
                value: us,
                low: None,
                high: None,
            };
            timed.measured.chosen = Some(Chosen {
                of: ChosenMeasure::Time,
                measure,
            });
            timed
        };
        let mut older = experiment(7.0, Status::Keep);
        older.row.kernel_us = 9.0;
        let mut untimed = experiment(6.0, Status::Keep);
        untimed.row.kernel_us = 0.0;
        let all = [
            older,
            untimed,
            timed(1.0, 8.0),
            timed(1.0, 8.5),
            timed(1.0, 4.0),
        ];
        let chart = ChartPoints::of(all.iter(), Goal::Maximize);
        assert_eq!(
            chart.objective(&Objective::Throughput),
            Objective::KernelTime
        );
        // Of the older one the row says the time; of the second nothing is known.
        assert_eq!(
            all.each_ref().map(|one| chart.figure(one)),
            [Some(9.0), None, Some(8.0), Some(8.5), Some(4.0)]
        );
        assert_eq!(
            [0, 1, 2, 3, 4].map(|at| chart.best(at)),
            [9.0, 9.0, 8.0, 8.0, 4.0].map(Some)
        );
        let kinds = chart.kinds(&(0..5));
        assert_eq!((kinds.kept.len(), kinds.wrong.len()), (4, 0));
        let without = ChartPoints::of(all[..2].iter(), Goal::Maximize);
        assert_eq!(without.best(1), Some(7.0), "samples per second, as before");
    }

    #[test]
    fn a_logarithmic_axis_begins_with_what_is_above_zero() {
        let chart = chart(&[0.0, 100.0, 0.0, 90.0]);
        let axis = |scale| range(&[], chart.reach(&(0..5)), &[], scale);
        assert_eq!(axis(Scale::Linear).low(), 0.0);
        assert!(
            (80.0..90.0).contains(&axis(Scale::Log).low()),
            "{:?}",
            axis(Scale::Log)
        );
    }
}
