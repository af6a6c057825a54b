//! The layers of a chart, from bottom to top: axes, reference lines, the cursor, the series, names,
//! the legend.

use super::Tick;
use super::plot::{Plot, PlotRow};
use super::symbols::SymbolSet;
use super::{AxisId, Cursor, ReferenceLine, Series, SeriesShape};
use crate::text::{fit, pad_left, width};
use crate::theme::style::{ACCENT, QUIET, STRONG};
use ratatui::prelude::*;

/// The dash of a reference line across the chart, and the same in ASCII.
const DASH: [&str; 2] = ["┄", "-"];

impl Plot<'_> {
    /// Draws both axes with their numbers. The numbers of the y-axis begin at column `left`.
    pub fn axes(&mut self, ticks: &[Tick], left: u16, has_x: bool) {
        let area = self.area;
        let (bar, base) = (area.x - 1, area.bottom());
        self.fill(Rect::new(bar, area.y, 1, area.height), ["│", "|"], QUIET);
        self.fill(Rect::new(bar, base, 1, 1), ["└", "+"], QUIET);
        self.fill(Rect::new(area.x, base, area.width, 1), ["─", "-"], QUIET);
        let columns = usize::from(bar - left);
        for tick in ticks {
            if let PlotRow::In(y) = self.row(tick.value) {
                let label = pad_left(&tick.label, columns);
                self.buffer.set_string(left, y, label, QUIET);
                self.fill(Rect::new(bar, y, 1, 1), ["┤", "+"], QUIET);
            }
        }
        if has_x {
            self.x_numbers();
        }
    }

    fn x_numbers(&mut self) {
        let y = self.area.bottom() + 1;
        let name = self.x.name();
        let mut end = self.area.right();
        if !name.is_empty() && self.area.width > 3 * width(name) as u16 {
            end -= width(name) as u16 + 1;
            self.buffer.set_string(end + 1, y, name, QUIET);
        }
        // A number may begin under the y-axis. Two numbers never touch.
        let mut free = self.area.x - 1;
        for tick in self.x.ticks(usize::from(self.area.width / 8).max(2)) {
            let Some(column) = self.column(tick.value) else {
                continue;
            };
            let columns = width(&tick.label) as u16;
            let from = column.saturating_sub(columns / 2);
            if from < free || from + columns > end {
                continue;
            }
            self.buffer.set_string(from, y, &tick.label, QUIET);
            self.fill(Rect::new(column, y - 1, 1, 1), ["┬", "+"], QUIET);
            free = from + columns + 2;
        }
    }

    /// Draws the dashed lines. [`Plot::names`] draws their names last, where cells are free.
    pub fn reference_lines(&mut self, reference_lines: &[ReferenceLine]) {
        let area = self.area;
        for level in reference_lines {
            match level.axis {
                AxisId::Y => {
                    let PlotRow::In(y) = self.row(level.at) else {
                        continue;
                    };
                    // In ASCII every second cell only: an uninterrupted line is a series.
                    let stride = 1 + usize::from(self.symbols == SymbolSet::Ascii);
                    for x in (area.left()..area.right()).step_by(stride) {
                        self.fill(Rect::new(x, y, 1, 1), DASH, level.style);
                    }
                }
                AxisId::X => {
                    if let Some(x) = self.column(level.at) {
                        let line = Rect::new(x, area.y, 1, area.height);
                        self.fill(line, ["┆", ":"], level.style);
                    }
                }
            }
        }
    }

    /// Draws the name of each reference line in its row, at the right end or at the left, where the
    /// cells are free. The name of a line out of range is at that edge, after an arrow.
    pub fn names(&mut self, reference_lines: &[ReferenceLine]) {
        let area = self.area;
        for level in reference_lines {
            let name = &level.name;
            let (y, text) = match (level.axis, self.row(level.at)) {
                (AxisId::X, _) => {
                    self.beside(level.at, name, level.style);
                    continue;
                }
                _ if level.at.is_nan() => continue,
                (_, PlotRow::In(y)) => (y, format!(" {name} ")),
                (_, PlotRow::Above(y)) => (y, format!(" {} {name} ", self.symbols.pick("▴", "^"))),
                (_, PlotRow::Below(y)) => (y, format!(" {} {name} ", self.symbols.pick("▾", "v"))),
            };
            let columns = width(&text) as u16;
            if columns > area.width {
                continue;
            }
            // In its own row, else in the row below or above.
            let rows = [y, y + 1, y.saturating_sub(1)].into_iter();
            let rows = rows.filter(|y| (area.top()..area.bottom()).contains(y));
            let dash = self.symbols.pick(DASH[0], DASH[1]);
            let is_free = |place: &Rect| {
                let mut symbols = place.positions().map(|at| self.buffer[at].symbol());
                symbols.all(|symbol| symbol == " " || symbol == dash)
            };
            let mut places = rows
                .flat_map(|y| [(area.right() - columns, y), (area.x, y)])
                .map(|(x, y)| Rect::new(x, y, columns, 1));
            if let Some(Rect { x, y, .. }) = places.find(is_free) {
                self.buffer.set_string(x, y, &text, level.style);
            }
        }
    }

    /// Draws the column of the cursor, below all series.
    pub fn cursor_column(&mut self, cursor: &Cursor) {
        if let Some(x) = self.column(cursor.x) {
            let column = Rect::new(x, self.area.y, 1, self.area.height + 1);
            self.fill(column, ["┊", ":"], ACCENT);
        }
    }

    /// Draws the text of the cursor, beside its column in the top row.
    pub fn read_out(&mut self, cursor: &Cursor) {
        self.beside(cursor.x, &cursor.text, STRONG);
    }

    /// Draws a text into the top row, to the right of a value's column, or to its left where more
    /// columns are free.
    fn beside(&mut self, value: f64, text: &str, style: Style) {
        let Some(x) = self.column(value) else { return };
        let columns = width(text) as u16 + 2;
        let right = self.area.right() - x - 1;
        let left = x - self.area.x;
        let (from, free) = if right >= columns || right >= left {
            (x + 1, right)
        } else {
            (x.saturating_sub(columns).max(self.area.x), left)
        };
        if free >= 3 && !text.is_empty() {
            let text = format!(" {} ", fit(text, usize::from(free - 2)));
            self.buffer.set_string(from, self.area.y, text, style);
        }
    }

    /// Draws one series.
    pub fn series(&mut self, Series { shape, style, .. }: &Series) {
        let style = *style;
        match *shape {
            SeriesShape::Line(points) => self.lines(points.iter().copied(), style),
            SeriesShape::Step(points) => {
                let corners = points.iter().scan(None, |before, (x, y)| {
                    let corner = (*x, before.replace(*y).unwrap_or(*y));
                    Some([corner, (*x, *y)])
                });
                self.lines(corners.flatten(), style);
            }
            SeriesShape::Marks(symbol, ascii, points) => {
                let symbol = self.symbols.pick(symbol, ascii);
                points
                    .iter()
                    .for_each(|point| self.mark(*point, symbol, style));
            }
            SeriesShape::Spans(spans) => spans.iter().for_each(|span| self.error_bar(*span, style)),
            SeriesShape::Bars(bars) => bars.iter().for_each(|edges| self.bar(*edges, style)),
        }
    }

    fn mark(&mut self, (x, y): (f64, f64), symbol: &str, style: Style) {
        let Some(x) = self.column(x).filter(|_| !y.is_nan()) else {
            return;
        };
        let (y, symbol) = match self.row(y) {
            _ if y == f64::NEG_INFINITY => (self.area.bottom(), symbol),
            PlotRow::In(y) => (y, symbol),
            PlotRow::Above(y) => (y, self.symbols.pick("▴", "^")),
            PlotRow::Below(y) => (y, self.symbols.pick("▾", "v")),
        };
        // A series may have very many marks, so this does not measure the symbol's width as
        // `set_string` does.
        self.buffer[(x, y)].set_symbol(symbol).set_style(style);
    }

    /// Draws an interval. An interval within one row is not drawn: the mark has the same height.
    fn error_bar(&mut self, (x, low, high): (f64, f64, f64), style: Style) {
        let Some(x) = self.column(x).filter(|_| low <= high) else {
            return;
        };
        let [top, bottom] = [high, low].map(|y| match self.row(y) {
            PlotRow::In(y) | PlotRow::Above(y) | PlotRow::Below(y) => y,
        });
        if top < bottom {
            self.fill(Rect::new(x, top, 1, bottom - top), ["│", "|"], style);
            self.fill(Rect::new(x, top, 1, 1), ["┬", "+"], style);
            self.fill(Rect::new(x, bottom, 1, 1), ["┴", "+"], style);
        }
    }

    /// Draws the bar of a histogram.
    fn bar(&mut self, (from, to, height): (f64, f64, f64), style: Style) {
        let Rect { x, width, .. } = self.area;
        let [start, end] = [from, to].map(|x| self.x.share(x));
        // A height of NaN or 0 is no bar.
        let is_visible = height > 0.0 && end > 0.0 && start < 1.0;
        if !is_visible {
            return;
        }
        let offset = |share: f64| (share.clamp(0.0, 1.0) * f64::from(width)).round() as u16;
        let first = offset(start);
        let last = offset(end).max(first + 1).min(width);
        let eighths = self.y.share(height).clamp(0.0, 1.0) * f64::from(self.area.height) * 8.0;
        let eighths = eighths.round().max(1.0) as u16;
        for up in 0..eighths.div_ceil(8) {
            let symbol = self.symbols.filled(usize::from(eighths - up * 8));
            let y = self.area.bottom() - 1 - up;
            self.fill(Rect::new(x + first, y, last - first, 1), [symbol; 2], style);
        }
    }

    /// Draws the symbols and names of the series in one row, the topmost series first. Names that
    /// do not fit are left out.
    pub fn legend(&mut self, series: &[Series], row: Rect) {
        let mut x = row.x;
        for series in series.iter().rev().filter(|series| !series.name.is_empty()) {
            let symbol = match series.shape {
                SeriesShape::Line(_) => self.symbols.pick("⠒⠒", "--"),
                SeriesShape::Step(_) => self.symbols.pick("⠤⠚", "_|"),
                SeriesShape::Marks(symbol, ascii, _) => self.symbols.pick(symbol, ascii),
                SeriesShape::Spans(_) => self.symbols.pick("┬┴", "|"),
                SeriesShape::Bars(_) => self.symbols.filled(6),
            };
            let name = x + width(symbol) as u16 + 1;
            let end = name + width(&series.name) as u16;
            if end > row.right() {
                break;
            }
            self.buffer.set_string(x, row.y, symbol, series.style);
            self.buffer.set_string(name, row.y, &series.name, QUIET);
            x = end + 2;
        }
    }
}
