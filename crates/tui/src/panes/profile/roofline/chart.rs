//! The chart of a roofline: both axes logarithmic, with decades as ticks. TFLOP/s upwards, FLOP for
//! each byte of DRAM to the right.

use crate::prelude::*;
use lab_history::profile::roofline::Roofline;
use lab_text::figures::figure;

/// The marks of this kernel, of the incumbent, of both in one cell, and of the ridge point.
pub const OWN: char = '●';
pub const OTHER: char = '○';
const BOTH: char = '◉';
pub const RIDGE: char = '◆';

/// Most columns and rows of the plot; with fewer columns than the least there is no chart.
const COLUMNS: usize = 64;
const LEAST: usize = 24;
const ROWS: usize = 8;

/// Columns of the figures of the upward axis, with the blank after them.
const FIGURES: usize = 8;

const UPWARD: &str = "TFLOP/s";
const TO_THE_RIGHT: &str = " FLOP/B";
const TERA: f64 = 1e12;

/// A part of a logarithmic axis, and its cells.
struct Axis {
    from: f64,
    to: f64,
    cells: usize,
}

impl Axis {
    /// The axis between the decimal logarithms `from` and `to`.
    fn new(from: f64, to: f64, cells: usize) -> Axis {
        Axis { from, to, cells }
    }

    /// The cell of a value; the first or the last one for a value outside.
    fn cell(&self, value: f64) -> usize {
        let fraction = (value.log10() - self.from) / (self.to - self.from);
        ((fraction.clamp(0.0, 1.0) * self.cells as f64) as usize).min(self.cells - 1)
    }

    /// The value in the middle of a cell.
    fn value(&self, cell: usize) -> f64 {
        10_f64.powf(self.from + (self.to - self.from) * (cell as f64 + 0.5) / self.cells as f64)
    }

    /// The powers of ten on the axis.
    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.from.ceil() as i32..=self.to.floor() as i32).map(|power| 10_f64.powi(power))
    }
}

/// The chart, from its title to its ticks; empty where it does not fit.
pub fn rows(own: &Roofline, other: Option<&Roofline>, columns: usize) -> Vec<Line<'static>> {
    let Some(plot) = columns
        .checked_sub(FIGURES + 1)
        .filter(|plot| *plot >= LEAST)
    else {
        return Vec::new();
    };
    let points: Vec<(&Roofline, char)> = [Some((own, OWN)), other.map(|other| (other, OTHER))]
        .into_iter()
        .flatten()
        .collect();
    let ridge = own.peak / own.bandwidth;
    let (least, most) = bounds(points.iter().map(|(roof, _)| roof.intensity).chain([ridge]));
    let across = Axis::new(least.log10() - 0.5, most.log10() + 0.5, plot.min(COLUMNS));
    let (lowest, highest) = bounds(
        points
            .iter()
            .map(|(roof, _)| roof.achieved)
            .chain([own.peak]),
    );
    let upward = Axis::new(lowest.log10() - 0.3, highest.log10() + 0.1, ROWS);

    let mut cells = vec![vec![' '; across.cells]; ROWS];
    for column in 0..across.cells {
        let limit = own.peak.min(across.value(column) * own.bandwidth);
        if limit.log10() >= upward.from {
            cells[upward.cell(limit)][column] = '·';
        }
    }
    cells[upward.cell(own.peak)][across.cell(ridge)] = RIDGE;
    for (roof, mark) in points.into_iter().rev() {
        let cell = &mut cells[upward.cell(roof.achieved)][across.cell(roof.intensity)];
        *cell = if *cell == OTHER { BOTH } else { mark };
    }
    let both = cells.iter().flatten().any(|cell| *cell == BOTH);

    let mut ticks: Vec<Option<f64>> = vec![None; ROWS];
    for value in upward.decades().chain([own.peak]) {
        ticks[upward.cell(value)] = Some(value);
    }
    let mut out = vec![Line::styled(pad_left(UPWARD, FIGURES - 1), QUIET)];
    for (row, tick) in cells.into_iter().zip(ticks).rev() {
        let label = tick.map(|value| figure(value / TERA)).unwrap_or_default();
        let edge = if tick.is_some() { '┤' } else { '│' };
        let mut spans = vec![format!("{} {edge}", pad_left(&label, FIGURES - 1)).quiet()];
        spans.extend(row.into_iter().map(|cell| match cell {
            OWN | BOTH => cell.to_string().accent(),
            OTHER | RIDGE => cell.to_string().strong(),
            other => other.to_string().quiet(),
        }));
        out.push(Line::from(spans));
    }
    out.extend(bottom(&across).map(|text| Line::styled(text, QUIET)));
    if both {
        out.push(Line::from(format!("{BOTH} both kernels")));
    }
    out
}

/// The axis to the right, and the figures below it.
fn bottom(across: &Axis) -> [String; 2] {
    let mut line = vec!['─'; across.cells];
    let mut figures = vec![' '; across.cells];
    for value in across.decades() {
        let (at, text) = (across.cell(value), figure(value));
        let from = at.saturating_sub(text.len() / 2);
        // A blank on both sides keeps figures apart; the unit has the end of the line.
        let is_free = |cell: usize| figures.get(cell).is_none_or(|letter| *letter == ' ');
        let fits = from + text.len() <= across.cells
            && (from.saturating_sub(1)..=from + text.len()).all(is_free);
        if fits {
            line[at] = '┬';
            text.chars()
                .zip(from..)
                .for_each(|(letter, cell)| figures[cell] = letter);
        }
    }
    let from = across.cells - TO_THE_RIGHT.len();
    TO_THE_RIGHT
        .chars()
        .zip(from..)
        .for_each(|(letter, cell)| line[cell] = letter);
    let text = |cells: Vec<char>| cells.into_iter().collect::<String>();
    let below = " ".repeat(FIGURES);
    [
        format!("{below}└{}", text(line)),
        format!("{below} {}", text(figures)).trim_end().to_owned(),
    ]
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), value| (least.min(value), most.max(value)),
    )
}
