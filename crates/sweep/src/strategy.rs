//! The order in which points are tried.

use crate::record::{PointOutcome, SweepPoint};
use crate::summary::score_of;
use lab_source::tune::{Parameter, Space};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::HashSet;
use tpe::{TpeOptimizer, categorical_range, histogram_estimator, parzen_estimator};

/// How a sweep chooses its next point. The point that the kernel is as it is written comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All points, in the order of the tune lines; the last parameter changes fastest.
    #[default]
    Grid,
    /// All points, in a random order.
    Random,
    /// Tree-structured Parzen estimator: after some random points, values that were frequent among
    /// the best points and rare among the others.
    Tpe,
}

/// Points that are measured before the estimator has a say.
const STARTUP: usize = 10;

/// How often the estimator is asked until it names a point that was not tried.
const ATTEMPTS: usize = 32;

/// Chooses points, each once.
pub struct Chooser<'a> {
    space: &'a Space,
    strategy: Strategy,
    /// All points, in the order for a grid or a random order.
    order: Vec<usize>,
    /// How many of `order` were looked at.
    at: usize,
    taken: HashSet<usize>,
    random: StdRng,
}

impl<'a> Chooser<'a> {
    /// Chooses among the points that are not `measured` yet. The same seed gives the same order.
    pub fn new(
        space: &'a Space,
        strategy: Strategy,
        seed: u64,
        measured: &[SweepPoint],
    ) -> Chooser<'a> {
        let mut order = space.points.clone();
        if strategy != Strategy::Grid {
            order.sort_by_cached_key(|point| {
                let mut hash = blake3::Hasher::new();
                hash.update(&seed.to_le_bytes())
                    .update(&point.to_le_bytes());
                *hash.finalize().as_bytes()
            });
        }
        let written = space.written();
        order.sort_by_key(|point| Some(*point) != written);
        let taken: HashSet<usize> = measured.iter().map(|point| point.point).collect();
        // A sweep that goes on does not draw the same numbers again.
        let random = StdRng::seed_from_u64(seed ^ taken.len() as u64);
        Chooser {
            space,
            strategy,
            order,
            at: 0,
            taken,
            random,
        }
    }

    /// The next point; `None` once all were chosen.
    pub fn next(&mut self, measured: &[SweepPoint]) -> Option<usize> {
        let modelled = match self.strategy {
            Strategy::Tpe if measured.len() >= STARTUP => self.estimated(measured),
            _ => None,
        };
        let point = modelled.or_else(|| self.in_order())?;
        self.taken.insert(point);
        Some(point)
    }

    fn in_order(&mut self) -> Option<usize> {
        let rest = self.order.get(self.at..)?;
        let skipped = rest.iter().position(|point| !self.taken.contains(point))?;
        self.at += skipped + 1;
        rest.get(skipped).copied()
    }

    /// A point that the estimator expects to be good; `None` if it names only points that were
    /// chosen, or that are not allowed.
    fn estimated(&mut self, measured: &[SweepPoint]) -> Option<usize> {
        let score = score_of(measured);
        let losses = measured.iter().map(|point| {
            let of_pass = score(point).filter(|_| point.outcome == PointOutcome::Pass);
            (
                self.space.choices(point.point),
                of_pass.map_or(f64::INFINITY, |score| -score.ln()),
            )
        });
        let losses: Vec<(Vec<usize>, f64)> = losses.filter(|(_, loss)| !loss.is_nan()).collect();
        let mut optimizers = Vec::new();
        for (at, parameter) in self.space.parameters.iter().enumerate() {
            let mut optimizer = optimizer(parameter)?;
            for (choices, loss) in &losses {
                // The middle of the choice's part of the range.
                optimizer.tell(choices[at] as f64 + 0.5, *loss).ok()?;
            }
            optimizers.push(optimizer);
        }
        for _ in 0..ATTEMPTS {
            let mut choices = Vec::new();
            for (optimizer, parameter) in optimizers.iter_mut().zip(&self.space.parameters) {
                let asked = optimizer.ask(&mut self.random).ok()?;
                choices.push((asked.max(0.0) as usize).min(parameter.values.len() - 1));
            }
            let point = self.space.point(&choices);
            let is_allowed = self.space.points.binary_search(&point).is_ok();
            if is_allowed && !self.taken.contains(&point) {
                return Some(point);
            }
        }
        None
    }
}

/// The estimator of one parameter. Numbers have neighbours, words have none.
fn optimizer(parameter: &Parameter) -> Option<TpeOptimizer> {
    let range = categorical_range(parameter.values.len()).ok()?;
    let is_number = |value: &String| value.parse::<f64>().is_ok();
    let estimator = match parameter.values.iter().all(is_number) {
        true => parzen_estimator(),
        false => histogram_estimator(),
    };
    Some(TpeOptimizer::new(estimator, range))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lab_source::tune::Syntax;

    /// 1000 points, of which the one with 7, 3 and `C` is the best.
    fn space() -> Space {
        let lines = "// lab: tune A = 1..20\n// lab: tune B = 1..10\n// lab: tune T = A5, B5, C5, D5, E5\n\
                     constexpr int A = 1, B = 1;\nusing T = A5;\nint x = A + B + T();\n";
        Space::read(lines, Syntax::Cpp).unwrap()
    }

    fn measured(space: &Space, point: usize, number: usize) -> SweepPoint {
        let choices = space.choices(point);
        let off = |choice: usize, best: usize| (choice as f64 - best as f64).powi(2);
        let loss = off(choices[0], 6) / 50.0 + off(choices[1], 2) / 20.0;
        let loss = loss + if choices[2] == 2 { 0.0 } else { 1.0 };
        crate::summary::tests::point(number as u32, point, 1000.0 / (1.0 + loss))
    }

    /// The best figure after so many points.
    fn best_after(strategy: Strategy, seed: u64, count: usize) -> f64 {
        let space = space();
        let mut chooser = Chooser::new(&space, strategy, seed, &[]);
        let mut points = Vec::new();
        for number in 1..=count {
            let point = chooser.next(&points).unwrap();
            points.push(measured(&space, point, number));
        }
        let best = crate::summary::ranked(&points)[0];
        best.figure.as_ref().unwrap().measure.value
    }

    #[test]
    fn every_strategy_tries_each_point_once_and_the_written_one_first() {
        for strategy in [Strategy::Grid, Strategy::Random, Strategy::Tpe] {
            let space = Space {
                points: space()
                    .points
                    .into_iter()
                    .filter(|point| point % 50 < 7)
                    .collect(),
                ..space()
            };
            let mut chooser = Chooser::new(&space, strategy, 5, &[]);
            let (mut points, mut tried) = (Vec::new(), Vec::new());
            while let Some(point) = chooser.next(&points) {
                tried.push(point);
                points.push(measured(&space, point, tried.len()));
            }
            assert_eq!(tried[0], 0, "{strategy:?}");
            tried.sort_unstable();
            assert_eq!(tried, space.points, "{strategy:?}");
        }
    }

    #[test]
    fn a_sweep_that_goes_on_tries_only_the_points_that_are_left() {
        let space = space();
        let points: Vec<SweepPoint> = (0..990)
            .map(|point| measured(&space, point, point + 1))
            .collect();
        for strategy in [Strategy::Grid, Strategy::Random, Strategy::Tpe] {
            let mut chooser = Chooser::new(&space, strategy, 5, &points);
            let mut left: Vec<usize> = std::iter::from_fn(|| chooser.next(&points)).collect();
            left.sort_unstable();
            assert_eq!(left, (990..1000).collect::<Vec<_>>(), "{strategy:?}");
        }
    }

    #[test]
    fn the_estimator_finds_better_points_than_chance() {
        let seeds = 1..=9;
        let better = seeds
            .filter(|seed| {
                best_after(Strategy::Tpe, *seed, 60) > best_after(Strategy::Random, *seed, 60)
            })
            .count();
        assert!(better >= 7, "in {better} of 9 sweeps");
    }
}
