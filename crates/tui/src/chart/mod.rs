//! Charts: data in, cells out. What is drawn is a range on two axes, series between them, levels to measure
//! them by, and a cursor; nothing here knows what the figures are of.
//!
//! ```text
//!       ● kept 4  ○ discarded 3  ✗ crash 1          the legend
//! 150k ┤                          ┊  ●⠉⠉⠉⠉
//!      │┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┊┄┄ estimate 140k   a level
//! 100k ┤            ●⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉○⠉⠁                 a step line, marks
//!      │ ●⠉⠉⠉⠉○⠉⠉⠉⠉⠁                ┊
//!      └───────────────✗──────────┊─────          the ground line: what has no figure
//!        1            4            8  experiment
//! ```
//! The dots are ratatui's canvas. Its `Chart` widget does not serve: its labels stand at even distances
//! instead of at round numbers, and it has no levels, no cursor, no marks and no way to be shown without
//! braille and colours.

mod axis;
mod glyphs;
mod layers;
mod plot;

pub use axis::{Axis, Scale, Tick};
pub use glyphs::Glyphs;

use super::text::width;
use super::theme::Theme;
use plot::Plot;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// What is drawn of a series. The first figure of each pair is on the x-axis. Points are in rising order of x; a
/// figure that is no number is left out, and breaks a line.
#[derive(Clone, Copy, Debug)]
pub enum Drawn<'a> {
    Line(&'a [(f64, f64)]),
    /// Stays what it is until the next point.
    Step(&'a [(f64, f64)]),
    /// A sign for each point: the sign, and the one for ASCII. A point at `f64::NEG_INFINITY` stands on the
    /// ground line; one that is out of range at the edge, as an arrow.
    Marks(&'static str, &'static str, &'a [(f64, f64)]),
    /// An interval: where it stands, its low and its high end.
    Spans(&'a [(f64, f64, f64)]),
    /// From, to, and how tall: a histogram's. What is there at all is never drawn as nothing.
    Bars(&'a [(f64, f64, f64)]),
}

/// Drawn in the order given: later ones lie over earlier ones.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// In the legend; empty leaves it out.
    pub name: String,
    pub style: Style,
    pub drawn: Drawn<'a>,
}

/// Which axis a level's figure is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    X,
    Y,
}

/// A dashed line across the chart, with its name: a floor, a limit. Out of range it is named at the edge.
#[derive(Clone, Debug)]
pub struct Level {
    pub on: On,
    pub at: f64,
    pub name: String,
    pub style: Style,
}

/// A column, and what is read off there.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub x: f64,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Chart<'a> {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series<'a>>,
    pub levels: Vec<Level>,
    pub cursor: Option<Cursor>,
}

/// Fewer rows than this leave none for a legend, and none for the figures of the x-axis.
const ROWS_WITH_LEGEND: u16 = 9;
const ROWS_WITH_X: u16 = 7;

impl Chart<'_> {
    /// Draws it all, and returns where the plot is, without the axes. Where `area` is too small for an axis and a
    /// plot nothing is drawn.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme, glyphs: Glyphs) -> Option<Rect> {
        let legend =
            u16::from(area.height >= ROWS_WITH_LEGEND && self.series.iter().any(|s| !s.name.is_empty()));
        let foot = 1 + u16::from(area.height >= ROWS_WITH_X);
        let rows = area.height.saturating_sub(legend + foot);
        let ticks = self.y.ticks(usize::from((rows / 3).clamp(2, 9)));
        let labels = ticks.iter().map(|tick| width(&tick.label)).max().unwrap_or(0).max(4) as u16;
        if rows < 2 || area.width < labels + 12 {
            return None;
        }
        let plot = Plot {
            area: Rect {
                x: area.x + labels + 1,
                y: area.y + legend,
                width: area.width - labels - 1,
                height: rows,
            },
            x: self.x,
            y: self.y,
            glyphs,
        };
        layers::axes(&plot, &ticks, area.x, foot > 1, buffer, theme);
        layers::levels(&plot, &self.levels, buffer);
        if let Some(cursor) = &self.cursor {
            layers::column(&plot, cursor, buffer, theme);
        }
        for series in &self.series {
            layers::series(&plot, series, buffer);
        }
        if let Some(cursor) = &self.cursor {
            layers::read_out(&plot, cursor, buffer, theme);
        }
        layers::names(&plot, &self.levels, buffer);
        if legend > 0 {
            let row = Rect { x: plot.area.x + 1, width: plot.area.width - 1, height: 1, ..area };
            layers::legend(&self.series, row, buffer, theme, glyphs);
        }
        Some(plot.area)
    }
}

#[cfg(test)]
mod tests;
