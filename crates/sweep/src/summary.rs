//! What the points of a sweep come to: the best ones, and how much each parameter matters.

use crate::record::{PointOutcome, Sweep, SweepPoint};
use itertools::Itertools;
use lab_project::config::Goal;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// What a sweep on an emulated device says in place of its best point.
pub const NO_BEST: &str = "choose a point: emulated times have no best";

/// How many points came to which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PointCounts {
    pub passed: usize,
    /// Correct, and ended early.
    pub slower: usize,
    pub wrong: usize,
    pub not_built: usize,
    pub crashed: usize,
}

impl PointCounts {
    pub fn of(points: &[SweepPoint]) -> PointCounts {
        let mut counts = PointCounts::default();
        for point in points {
            *match point.outcome {
                PointOutcome::Pass => &mut counts.passed,
                PointOutcome::Slower => &mut counts.slower,
                PointOutcome::Fail => &mut counts.wrong,
                PointOutcome::BuildError => &mut counts.not_built,
                PointOutcome::Crash => &mut counts.crashed,
            } += 1;
        }
        counts
    }

    /// `20 passed, 3 slower, 1 does not build`
    pub fn in_words(&self) -> String {
        let all = [
            (self.passed, "passed"),
            (self.slower, "slower, ended early"),
            (self.wrong, "wrong"),
            (self.not_built, "not built"),
            (self.crashed, "crashed"),
        ];
        let some = all
            .into_iter()
            .filter(|(count, word)| *count > 0 || *word == "passed");
        some.map(|(count, word)| format!("{count} {word}"))
            .join("; ")
    }
}

/// How good a point is among these, more being better; `None` without a figure. Where all of them
/// were timed in turns with the incumbent, the ratio to it counts: it does not drift with the clocks.
/// A point that ended before it was timed so has its figure's part of the figure of one that was.
pub fn score_of(points: &[SweepPoint]) -> impl Fn(&SweepPoint) -> Option<f64> + use<> {
    let mut passed = points
        .iter()
        .filter(|point| point.outcome == PointOutcome::Pass);
    let in_turns = passed.clone().all(|point| point.change.is_some());
    let of_figure = passed.find_map(|point| Some(ratio(point)? / rate(point)?));
    move |point| {
        let score = match in_turns {
            true => ratio(point).or_else(|| Some(rate(point)? * of_figure?)),
            false => rate(point),
        };
        score.filter(|score| score.is_finite() && *score > 0.0)
    }
}

/// The ratio to the incumbent, if the two were timed in turns.
fn ratio(point: &SweepPoint) -> Option<f64> {
    Some(1.0 + point.improvement()?.ratio)
}

/// The figure, more being better.
fn rate(point: &SweepPoint) -> Option<f64> {
    let value = point.figure.as_ref()?.measure.value;
    Some(match point.goal {
        Goal::Maximize => value,
        Goal::Minimize => 1.0 / value,
    })
}

/// The points that passed and have a figure, the best first. Of an emulated device, whose times are not
/// compared, in their order.
pub fn ranked(points: &[SweepPoint]) -> Vec<&SweepPoint> {
    let score = score_of(points);
    let passed = points
        .iter()
        .filter(|point| point.outcome == PointOutcome::Pass);
    let mut scored: Vec<(f64, &SweepPoint)> = passed
        .filter_map(|point| Some((score(point)?, point)))
        .collect();
    match scored.iter().any(|(_, point)| point.emulated) {
        // Several devices record them in another order.
        true => scored.sort_by_key(|(_, point)| point.number),
        false => scored.sort_by(|(a, _), (b, _)| b.total_cmp(a)),
    }
    scored.into_iter().map(|(_, point)| point).collect()
}

/// All points: those that passed, the best first, and then the others.
pub fn listed(points: &[SweepPoint]) -> Vec<&SweepPoint> {
    let is_other = |point: &&SweepPoint| point.outcome != PointOutcome::Pass;
    let mut others: Vec<&SweepPoint> = points.iter().filter(is_other).collect();
    others.sort_by_key(|point| point.outcome);
    [ranked(points), others].concat()
}

/// The best points for each pair of values of two parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// The parameters of the rows and of the columns, and what the signs mean.
    pub head: String,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// A row for each of `rows`.
    pub cells: Vec<Vec<Heat>>,
}

/// What is known of the points with two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heat {
    /// A `lab: require` line excludes all of them.
    Excluded,
    /// None was tried.
    Unknown,
    /// None was correct.
    Bad,
    /// One was correct, on an emulated device.
    Correct,
    /// The best of them, as a part of the best of all: from 0 to 1.
    Best(f64),
}

impl Heat {
    /// What a cell of the map shows.
    pub fn sign(self) -> String {
        match self {
            Heat::Excluded => "–".to_owned(),
            Heat::Unknown => "·".to_owned(),
            Heat::Bad => "✗".to_owned(),
            Heat::Correct => "✓".to_owned(),
            Heat::Best(part) => format!("{:.0}", 100.0 * part),
        }
    }
}

impl HeatMap {
    /// The map over two parameters of a sweep, by their places in its list.
    pub fn of(sweep: &Sweep, [row, column]: [usize; 2]) -> HeatMap {
        let score = score_of(&sweep.points);
        let score = |point: &SweepPoint| score(point).filter(|_| point.outcome.is_correct());
        let is_emulated = sweep.is_emulated();
        let best = sweep.points.iter().filter_map(&score).fold(0.0, f64::max);
        let [rows, columns] = [row, column].map(|at| sweep.start.parameters[at].values.clone());
        let mut at: HashMap<(&String, &String), Vec<&SweepPoint>> = HashMap::new();
        for point in &sweep.points {
            let pair = (&point.values[row], &point.values[column]);
            at.entry(pair).or_default().push(point);
        }
        let excluded = &sweep.start.excluded;
        let cell = |of_row: usize, of_column: usize| {
            let here = at.get(&(&rows[of_row], &columns[of_column]));
            let here = here.map_or(&[][..], Vec::as_slice);
            let scores = here.iter().filter_map(|point| score(point));
            match scores.reduce(f64::max) {
                Some(_) if is_emulated => Heat::Correct,
                Some(score) => Heat::Best(score / best),
                None if excluded.contains(&((row, of_row), (column, of_column))) => Heat::Excluded,
                None if here.is_empty() => Heat::Unknown,
                None => Heat::Bad,
            }
        };
        let places = 0..columns.len();
        let cells = (0..rows.len()).map(|row| places.clone().map(|it| cell(row, it)).collect());
        let cells = cells.collect();
        let correct = if is_emulated {
            "✓ correct"
        } else {
            "% of the best"
        };
        let others = match excluded.is_empty() {
            true => "",
            false => ", – excluded",
        };
        let [down, across] = [row, column].map(|at| &sweep.start.parameters[at].name);
        HeatMap {
            cells,
            head: format!(
                "{down} down, {across} across ({correct}, ✗ not correct, · not tried{others})"
            ),
            rows,
            columns,
        }
    }
}

/// How much a parameter matters.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Importance {
    pub name: String,
    /// The part of the variance of the logarithm of the figure that the mean for each value of this
    /// parameter explains, from 0 to 1. The rest is due to other parameters, to values that matter
    /// only together, and to noise.
    pub explained: f64,
}

/// The importance of each parameter, the largest first. Empty with fewer than three correct points,
/// if all are alike, and of an emulated device.
pub fn importance(sweep: &Sweep) -> Vec<Importance> {
    let score = score_of(&sweep.points);
    let correct = sweep
        .points
        .iter()
        .filter(|point| point.outcome.is_correct());
    let points: Vec<(&SweepPoint, f64)> = correct
        .filter_map(|point| Some((point, score(point)?.ln())))
        .collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let all: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let middle = mean(&all);
    let total: f64 = all.iter().map(|value| (value - middle).powi(2)).sum();
    if points.len() < 3 || total <= 0.0 || sweep.is_emulated() {
        return Vec::new();
    }
    let explained = |at: usize| {
        let mut groups: HashMap<&str, Vec<f64>> = HashMap::new();
        for (point, value) in &points {
            let group = point.values.get(at).map_or("", String::as_str);
            groups.entry(group).or_default().push(*value);
        }
        let between = groups
            .values()
            .map(|group| (mean(group) - middle).powi(2) * group.len() as f64);
        (between.sum::<f64>() / total).min(1.0)
    };
    let parameters = sweep.start.parameters.iter().enumerate();
    let mut found: Vec<Importance> = parameters
        .map(|(at, parameter)| Importance {
            name: parameter.name.clone(),
            explained: explained(at),
        })
        .collect();
    found.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    found
}

/// The pairs of parameters that a map can show, by their places: the one that matters most first. Of
/// an emulated device, and with too few points to know, in the kernel's order.
pub fn pairs(sweep: &Sweep) -> Vec<[usize; 2]> {
    let parameters = &sweep.start.parameters;
    let at = |part: &Importance| parameters.iter().position(|it| it.name == part.name);
    let mut order: Vec<usize> = importance(sweep).iter().filter_map(at).collect();
    if order.len() < parameters.len() {
        order = (0..parameters.len()).collect();
    }
    let rows = order.iter().enumerate();
    let pairs =
        rows.flat_map(|(place, row)| order[place + 1..].iter().map(|column| [*row, *column]));
    pairs.collect()
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::record::{SweepId, SweepParameter, SweepStart};
    use lab_project::objective::Objective;
    use lab_protocol::report::Report;
    use lab_run::Fingerprint;
    use lab_run::record::Origin;
    use lab_run::verdict::{Change, Figure};

    /// A point that passed with this throughput.
    pub fn point(number: u32, point: usize, throughput: f64) -> SweepPoint {
        let report = Report::read(&format!("throughput_sps: {throughput}\n"));
        SweepPoint {
            origin: Origin::Own,
            sweep: SweepId(1),
            fingerprint: Fingerprint("f".into()),
            number,
            point,
            values: vec![(point / 2).to_string(), (point % 2).to_string()],
            written: false,
            blob: "0".repeat(40),
            outcome: PointOutcome::Pass,
            why: String::new(),
            figure: Figure::of(&report, Objective::Throughput),
            goal: Goal::Maximize,
            change: None,
            device: None,
            driver: None,
            compiler: None,
            device_state: None,
            emulated: false,
            caveats: Vec::new(),
            started: lab_run::now(),
            seconds: 1.0,
            elapsed_s: f64::from(number),
        }
    }

    fn sweep(points: Vec<SweepPoint>) -> Sweep {
        let parameter = |name: &str| SweepParameter {
            name: name.to_owned(),
            values: vec!["0".into(), "1".into()],
        };
        let (version, lab) = SweepStart::written_by();
        Sweep {
            start: SweepStart {
                version,
                lab,
                origin: Origin::Own,
                sweep: SweepId(1),
                kernel: "kernel.cu".into(),
                fingerprint: Fingerprint("f".into()),
                clean_tree: None,
                target: "auto".into(),
                parameters: vec![parameter("A"), parameter("B")],
                requires: Vec::new(),
                excluded: std::collections::BTreeSet::default(),
                points: 4,
                seed: 1,
                started: lab_run::now(),
            },
            points,
        }
    }

    fn numbers(points: &[SweepPoint]) -> Vec<u32> {
        ranked(points).iter().map(|point| point.number).collect()
    }

    #[test]
    fn the_best_point_is_first_and_what_did_not_pass_is_left_out() {
        let mut points = vec![point(1, 0, 100.0), point(2, 1, 300.0), point(3, 2, 200.0)];
        assert_eq!(numbers(&points), [2, 3, 1]);
        points[1].outcome = PointOutcome::Slower;
        assert_eq!(numbers(&points), [3, 1]);
        points[1].outcome = PointOutcome::Pass;
        points
            .iter_mut()
            .for_each(|point| point.goal = Goal::Minimize);
        assert_eq!(numbers(&points), [1, 3, 2]);
        points[0].emulated = true;
        assert_eq!(numbers(&points), [1, 2, 3], "such times are not compared");
    }

    #[test]
    fn ratios_to_the_incumbent_go_before_figures_if_all_points_have_one() {
        let mut points = vec![point(1, 0, 100.0), point(2, 1, 300.0)];
        let change = |ratio| {
            Some(Change {
                ratio,
                ..Change::default()
            })
        };
        points[0].change = change(0.2);
        assert_eq!(numbers(&points), [2, 1]);
        points[1].change = change(0.1);
        assert_eq!(numbers(&points), [1, 2]);
    }

    #[test]
    fn a_heat_map_has_the_best_point_of_each_pair() {
        let mut points = vec![point(1, 0, 50.0), point(2, 1, 100.0), point(3, 2, 80.0)];
        points[2].outcome = PointOutcome::Fail;
        let map = HeatMap::of(&sweep(points), [0, 1]);
        assert!(map.head.starts_with("A down, B across"), "{}", map.head);
        assert_eq!(map.cells[0], [Heat::Best(0.5), Heat::Best(1.0)]);
        assert_eq!(map.cells[1], [Heat::Bad, Heat::Unknown]);
        let mut emulated = sweep(vec![point(1, 0, 50.0)]);
        emulated.points[0].emulated = true;
        assert_eq!(HeatMap::of(&emulated, [0, 1]).cells[0][0], Heat::Correct);
        let turned = HeatMap::of(&sweep(vec![point(1, 1, 50.0)]), [1, 0]);
        assert_eq!(
            turned.cells,
            [
                [Heat::Unknown, Heat::Unknown],
                [Heat::Best(1.0), Heat::Unknown]
            ]
        );
    }

    #[test]
    fn a_point_that_ended_before_its_turns_is_in_the_map() {
        let mut points = vec![point(1, 0, 100.0), point(2, 1, 40.0)];
        points[0].change = Some(Change {
            ratio: 0.25,
            ..Change::default()
        });
        points[1].outcome = PointOutcome::Slower;
        let map = HeatMap::of(&sweep(points), [0, 1]);
        assert_eq!(map.cells[0], [Heat::Best(1.0), Heat::Best(0.4)]);
    }

    #[test]
    fn a_parameter_that_alone_decides_explains_everything() {
        let points = vec![
            point(1, 0, 10.0),
            point(2, 1, 10.0),
            point(3, 2, 20.0),
            point(4, 3, 20.0),
        ];
        let found = importance(&sweep(points.clone()));
        assert_eq!((found[0].name.as_str(), found[1].name.as_str()), ("A", "B"));
        assert!((found[0].explained - 1.0).abs() < 1e-9 && found[1].explained.abs() < 1e-9);
        assert!(
            importance(&sweep(points[..2].to_vec())).is_empty(),
            "two points tell nothing"
        );
    }
}
