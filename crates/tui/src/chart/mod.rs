//! Charts: two axes, series of points, reference lines with names, and a cursor, drawn into the
//! cells of a buffer. A chart does not know what its numbers measure.
//!
//! ```text
//!       ● kept 4  ○ discarded 3  ✗ crash 1          the legend
//! 150k ┤                          ┊  ●⠉⠉⠉⠉
//!      │┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┊┄┄ estimate 140k   a reference line
//! 100k ┤            ●⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉○⠉⠁                 a step line, marks
//!      │ ●⠉⠉⠉⠉○⠉⠉⠉⠉⠁                ┊
//!      └───────────────✗──────────┊─────          the base line, with the points that have no value
//!        1            4            8  experiment
//! ```
//! ratatui's canvas draws the dots. Its `Chart` widget is not used: it puts labels at even
//! distances instead of at round numbers, and it has no reference lines, no cursor, no marks and no
//! form without braille and colours.

mod layers;
mod plot;
mod symbols;

pub use lab_text::axis::{Axis, Scale, Tick};
pub use symbols::SymbolSet;

use super::text::width;
use plot::Plot;
use ratatui::prelude::*;

/// The shape of a series and its points `(x, y)`, in rising order of x. A point with a NaN is left
/// out and interrupts a line.
#[derive(Clone, Copy, Debug)]
pub enum SeriesShape<'a> {
    Line(&'a [(f64, f64)]),
    /// A line that stays at a value until the next point.
    Step(&'a [(f64, f64)]),
    /// A mark at each point: the symbol, the symbol in ASCII, the points. A point at
    /// `f64::NEG_INFINITY` is on the base line. A point above or below the range is an arrow at the
    /// edge.
    Marks(&'static str, &'static str, &'a [(f64, f64)]),
    /// Intervals: x, the low end, the high end.
    Spans(&'a [(f64, f64, f64)]),
    /// Bars of a histogram: from x, to x, height. A bar with a height above 0 fills at least an
    /// eighth of a cell.
    Bars(&'a [(f64, f64, f64)]),
}

/// Points with a shape, a style and a name. A chart draws its series in order: a later series lies
/// over an earlier one.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name in the legend. Empty: the legend does not name it.
    pub name: String,
    pub style: Style,
    pub shape: SeriesShape<'a>,
}

/// The axis that a reference line crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisId {
    X,
    Y,
}

/// A dashed line across the chart with a name: a floor, a limit. Out of range, only its name is
/// drawn, at the edge.
#[derive(Clone, Debug)]
pub struct ReferenceLine {
    pub axis: AxisId,
    pub at: f64,
    pub name: String,
    pub style: Style,
}

/// A marked column, and the text beside it.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub x: f64,
    pub text: String,
}

/// A chart and its content.
///
/// ```
/// use lab_tui::chart::{Axis, Chart, SeriesShape, SymbolSet, Scale, Series};
/// use ratatui::buffer::Buffer;
/// use ratatui::layout::Rect;
/// use ratatui::style::Style;
///
/// let points = [(0.0, 1.0), (10.0, 2.0)];
/// let chart = Chart {
///     x: Axis::between(0.0, 10.0, Scale::Linear),
///     y: Axis::between(0.0, 2.0, Scale::Linear),
///     series: vec![Series { name: "figure".into(), style: Style::new(), shape: SeriesShape::Line(&points) }],
///     reference_lines: Vec::new(),
///     cursor: None,
/// };
/// let area = Rect::new(0, 0, 40, 10);
/// let plot = chart.render(area, &mut Buffer::empty(area), SymbolSet::Braille);
/// assert!(plot.is_some_and(|plot| plot.width < area.width), "the axes take some columns");
/// ```
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series<'a>>,
    pub reference_lines: Vec<ReferenceLine>,
    pub cursor: Option<Cursor>,
}

/// With fewer rows than these, a chart has no legend, and no numbers on its x-axis.
const ROWS_WITH_LEGEND: u16 = 9;
const ROWS_WITH_X: u16 = 7;

impl Chart<'_> {
    /// Draws the chart and returns the area of the plot, without the axes. Draws nothing and
    /// returns `None` where `area` is too small for an axis and a plot.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, symbols: SymbolSet) -> Option<Rect> {
        let legend = u16::from(
            area.height >= ROWS_WITH_LEGEND && self.series.iter().any(|s| !s.name.is_empty()),
        );
        let foot = 1 + u16::from(area.height >= ROWS_WITH_X);
        let rows = area.height.saturating_sub(legend + foot);
        let ticks = self.y.ticks(usize::from((rows / 3).clamp(2, 9)));
        let labels = ticks
            .iter()
            .map(|tick| width(&tick.label))
            .max()
            .unwrap_or(0)
            .max(4) as u16;
        if rows < 2 || area.width < labels + 12 {
            return None;
        }
        let mut plot = Plot {
            area: Rect {
                x: area.x + labels + 1,
                y: area.y + legend,
                width: area.width - labels - 1,
                height: rows,
            },
            x: self.x,
            y: self.y,
            symbols,
            buffer,
        };
        plot.axes(&ticks, area.x, foot > 1);
        plot.reference_lines(&self.reference_lines);
        self.cursor
            .iter()
            .for_each(|cursor| plot.cursor_column(cursor));
        self.series.iter().for_each(|series| plot.series(series));
        self.cursor.iter().for_each(|cursor| plot.read_out(cursor));
        plot.names(&self.reference_lines);
        if legend > 0 {
            let (x, width) = (plot.area.x + 1, plot.area.width - 1);
            plot.legend(&self.series, Rect::new(x, area.y, width, 1));
        }
        Some(plot.area)
    }
}

#[cfg(test)]
mod tests;
