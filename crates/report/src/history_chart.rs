//! The chart of experiments over time: kept ones prominent, discarded ones faint, the best kept
//! figure so far as a step line, floor and estimate dashed.

use crate::chart::{Chart, Plot, Spot, X_TICKS, shape};
use lab_history::bounds::reference_lines;
use lab_history::chart_points::{ChartPoints, nearest, place, range};
use lab_history::kernels::day;
use lab_project::config::Config;
use lab_project::objective::Objective;
use lab_run::experiment::Experiment;
use lab_run::record::Record;
use lab_text::axis::{Axis, Scale};
use lab_text::figures::count;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The experiments of one kernel on one device, as a chart shows them.
pub struct Charted<'e> {
    /// Oldest first.
    experiments: &'e [&'e Experiment],
    pub points: ChartPoints,
    /// The measure of the figures.
    pub objective: Objective,
    /// Floor and estimate with their names.
    levels: Vec<(f64, String)>,
    /// This user's lab wrote none of the records.
    pub is_foreign: bool,
}

impl<'e> Charted<'e> {
    /// `incumbent` is the record of the kept kernel, on a GPU.
    pub fn of(
        experiments: &'e [&'e Experiment],
        config: &Config,
        incumbent: Option<&Record>,
    ) -> Self {
        let mut measured = experiments.iter().filter(|e| e.figure().is_some());
        let is_foreign = experiments.iter().any(|e| e.foreign) && measured.all(|e| e.foreign);
        // Where every record is somebody else's, they are compared among themselves.
        let own = |e: &&Experiment| Experiment {
            foreign: e.foreign && !is_foreign,
            ..(*e).clone()
        };
        let own: Vec<Experiment> = experiments.iter().map(own).collect();
        let points = ChartPoints::of(own.iter(), config.goal);
        let objective = points.objective(&config.objective);
        let levels = incumbent.map(|record| reference_lines(&record.report(), &objective));
        Charted {
            experiments,
            levels: levels.unwrap_or_default(),
            points,
            objective,
            is_foreign,
        }
    }

    /// Draws the chart. `first` is the first experiment with a text of its own. Where the file has
    /// rows, its row is called `id` with `-e` and its number.
    pub fn draw(&self, id: &str, title: String, first: usize, has_rows: bool) -> Chart {
        let all = 0..self.experiments.len();
        let ends: Vec<f64> = self.levels.iter().map(|(at, _)| *at).collect();
        let last = place(self.experiments.len().max(1) - 1);
        let plot = Plot {
            x: Axis::between(0.5, last + 0.5, Scale::Linear).whole(),
            y: range(&[], self.points.reach(&all), &ends, Scale::Linear),
            // Experiments have whole numbers.
            x_ticks: X_TICKS.min(self.experiments.len()),
        };
        let names = [&*dates(self.experiments), self.objective.unit()];
        let mut chart = Chart::new(format!("{id}-chart"), title, &plot, names);
        let steps = self.points.steps(&all);
        chart.line("best-kept", step_line(&plot, &steps, last));
        for (at, name) in &self.levels {
            chart.level(&plot, *at, name);
        }
        let kinds = self.points.kinds(&all);
        let changed = kinds.rules;
        let across = changed.iter().map(|(x, _)| plot.across(*x));
        chart.line("rules", across.collect());
        // Later ones lie over earlier ones.
        let kinds = [
            ("discard", "discarded", kinds.discarded),
            ("foreign", "foreign", kinds.foreign),
            ("wrong", "wrong", kinds.wrong),
            ("crash", "crash", kinds.crashed),
            ("kept", "kept", kinds.kept),
        ];
        let mut said = Vec::new();
        for (class, name, of_kind) in kinds.into_iter().filter(|(.., of)| !of.is_empty()) {
            self.marks(&plot, &mut chart, class, of_kind, (id, first, has_rows));
            said.push(format!("{} {name}", of_kind.len()));
            chart.name(class, format!("{name} {}", of_kind.len()));
        }
        if !changed.is_empty() {
            let text = format!("rules changed {}", changed.len());
            said.push(text.clone());
            chart.name("rules", text);
        }
        if let Some((_, best)) = steps.last().filter(|(_, best)| !best.is_nan()) {
            let text = format!("best kept {}", count(*best));
            said.push(format!("{text} {}", self.objective.unit()));
            chart.name("best-kept", text);
        }
        said.extend(self.levels.iter().map(|(_, name)| name.clone()));
        chart.description = said.join(", ");
        chart
    }

    /// The intervals of the figures of these points, where they are of the chart's measure.
    fn spans(&self, plot: &Plot, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (x, _) in points {
            let of = self.experiments[nearest(*x)];
            let is_of_chart = of.measure() == self.points.measure();
            let shown = of.measured.shown().filter(|_| is_of_chart);
            if let Some((low, high)) = shown.and_then(|shown| shown.low.zip(shown.high)) {
                let (low, high) = (plot.at(*x, low), plot.at(*x, high));
                let _ = write!(path, "M{} {}V{}", low.x, low.y, high.y);
            }
        }
        path
    }

    /// The marks of a kind. Those before the first with a text have no interval either, and one mark
    /// stands for all in one place.
    fn marks(
        &self,
        plot: &Plot,
        chart: &mut Chart,
        class: &'static str,
        points: &[(f64, f64)],
        (id, first, has_rows): (&str, usize, bool),
    ) {
        let first = place(first);
        let (old, listed) = points.split_at(points.partition_point(|(x, _)| *x < first));
        let of_old = if class == "discard" { "many" } else { class };
        let many = old
            .iter()
            .map(|(x, y)| shape(class, plot.at(*x, *y).coarse()));
        let many: BTreeSet<String> = many.collect();
        chart.line(of_old, many.into_iter().collect());
        let is_kept = class == "kept";
        let of_spans = if is_kept { "span" } else { "span-discard" };
        chart.line(of_spans, self.spans(plot, listed));
        for (x, y) in listed {
            let row = &self.experiments[nearest(*x)].row;
            let figure = y
                .is_finite()
                .then(|| count(*y) + " " + self.objective.unit());
            let figure = figure.unwrap_or_default();
            let title = format!("{x} {} {figure} {}", row.status, row.commit);
            let href = has_rows.then(|| format!("{id}-e{x}"));
            let path = shape(class, plot.at(*x, *y));
            chart.mark(class, path, title, href.unwrap_or_default());
        }
    }
}

/// `experiment, 2026-11-01 to 2026-11-28`
fn dates(experiments: &[&Experiment]) -> String {
    let first = experiments.iter().find_map(|e| day(e));
    let last = experiments.iter().rev().find_map(|e| day(e));
    match first.zip(last) {
        Some((first, last)) if first == last => format!("experiment, {first}"),
        Some((first, last)) => format!("experiment, {first} to {last}"),
        None => "experiment".to_owned(),
    }
}

fn step_line(plot: &Plot, steps: &[(f64, f64)], last: f64) -> String {
    let mut path = String::new();
    let mut spots: Vec<Spot> = steps.iter().map(|(x, y)| plot.at(*x, *y)).collect();
    // Of several steps in one place the last one is seen.
    spots.reverse();
    spots.dedup_by_key(|spot| spot.x.to_bits());
    let mut is_open = false;
    for Spot { x, y } in spots.into_iter().rev() {
        let _ = match (is_open, y.is_nan()) {
            // A change of the rules ends the line.
            (true, true) => write!(path, "H{x}"),
            (false, true) => Ok(()),
            (true, false) => write!(path, "H{x}V{y}"),
            (false, false) => write!(path, "M{x} {y}"),
        };
        is_open = !y.is_nan();
    }
    if is_open {
        let _ = write!(path, "H{}", plot.at(last + 0.5, 0.0).x);
    }
    path
}
