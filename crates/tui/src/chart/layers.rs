//! The layers of a chart, from bottom to top: axes, reference lines, the cursor, the series, names,
//! the legend.

use super::axis::Tick;
use super::plot::{Plot, PlotRow};
use super::symbols::SymbolSet;
use super::{AxisId, Cursor, ReferenceLine, Series, SeriesShape};
use crate::text::{fit, pad_left, width};
use crate::theme::style::{ACCENT, QUIET, STRONG};
use ratatui::prelude::*;

/// Draws both axes with their numbers. The numbers of the y-axis begin at column `left`.
pub fn axes(plot: &Plot, ticks: &[Tick], left: u16, has_x: bool, buffer: &mut Buffer) {
    let style = QUIET;
    let symbol = |line, ascii| plot.symbols.pick(line, ascii);
    let bar = plot.area.x - 1;
    let base = plot.area.bottom();
    for y in plot.area.top()..base {
        buffer.set_string(bar, y, symbol("│", "|"), style);
    }
    buffer.set_string(bar, base, symbol("└", "+"), style);
    for x in plot.area.left()..plot.area.right() {
        buffer.set_string(x, base, symbol("─", "-"), style);
    }
    let columns = usize::from(bar - left);
    for tick in ticks {
        let PlotRow::In(y) = plot.row(tick.value) else {
            continue;
        };
        buffer.set_string(left, y, pad_left(&tick.label, columns), style);
        buffer.set_string(bar, y, symbol("┤", "+"), style);
    }
    if has_x {
        x_numbers(plot, buffer, style);
    }
}

fn x_numbers(plot: &Plot, buffer: &mut Buffer, style: Style) {
    let y = plot.area.bottom() + 1;
    let name = plot.x.name();
    let mut end = plot.area.right();
    if !name.is_empty() && plot.area.width > 3 * width(name) as u16 {
        end -= width(name) as u16 + 1;
        buffer.set_string(end + 1, y, name, style);
    }
    // A number may begin under the y-axis. Two numbers never touch.
    let mut free = plot.area.x - 1;
    for tick in plot.x.ticks(usize::from(plot.area.width / 8).max(2)) {
        let Some(column) = plot.column(tick.value) else {
            continue;
        };
        let columns = width(&tick.label) as u16;
        let from = column.saturating_sub(columns / 2);
        if from < free || from + columns > end {
            continue;
        }
        buffer.set_string(from, y, &tick.label, style);
        buffer.set_string(column, y - 1, plot.symbols.pick("┬", "+"), style);
        free = from + columns + 2;
    }
}

/// Draws the dashed lines. [`names`] draws their names last, where cells are free.
pub fn reference_lines(plot: &Plot, reference_lines: &[ReferenceLine], buffer: &mut Buffer) {
    for level in reference_lines {
        match level.axis {
            AxisId::Y => {
                let PlotRow::In(y) = plot.row(level.at) else {
                    continue;
                };
                let dash = plot.symbols.pick("┄", "-");
                // In ASCII every second cell only: an uninterrupted line is a series.
                let stride = if plot.symbols == SymbolSet::Ascii {
                    2
                } else {
                    1
                };
                for x in (plot.area.left()..plot.area.right()).step_by(stride) {
                    buffer.set_string(x, y, dash, level.style);
                }
            }
            AxisId::X => {
                let Some(x) = plot.column(level.at) else {
                    continue;
                };
                for y in plot.area.top()..plot.area.bottom() {
                    buffer.set_string(x, y, plot.symbols.pick("┆", ":"), level.style);
                }
            }
        }
    }
}

/// Draws the name of each reference line in its row, at the right end or at the left, where the
/// cells are free. The name of a line out of range is at that edge, after an arrow.
pub fn names(plot: &Plot, reference_lines: &[ReferenceLine], buffer: &mut Buffer) {
    for level in reference_lines {
        let arrow = |up: bool| {
            if up {
                plot.symbols.pick("▴ ", "^ ")
            } else {
                plot.symbols.pick("▾ ", "v ")
            }
        };
        let (y, text) = match level.axis {
            AxisId::Y if level.at.is_nan() => continue,
            AxisId::Y => match plot.row(level.at) {
                PlotRow::In(y) => (y, level.name.clone()),
                PlotRow::Above(y) => (y, format!("{}{}", arrow(true), level.name)),
                PlotRow::Below(y) => (y, format!("{}{}", arrow(false), level.name)),
            },
            AxisId::X => match plot.column(level.at) {
                Some(x) => {
                    beside(plot, x, plot.area.top(), &level.name, level.style, buffer);
                    continue;
                }
                None => continue,
            },
        };
        let text = format!(" {text} ");
        let columns = width(&text) as u16;
        if columns > plot.area.width {
            continue;
        }
        // In its own row, else in the row below or above.
        let rows = [y, y + 1, y.saturating_sub(1)]
            .into_iter()
            .filter(|y| plot.area.rows().any(|r| r.y == *y));
        let positions = rows.flat_map(|y| [(plot.area.right() - columns, y), (plot.area.x, y)]);
        let dash = plot.symbols.pick("┄", "-");
        let is_free =
            |x: u16, y: u16| matches!(buffer[(x, y)].symbol(), s if s == " " || s == dash);
        let mut positions = positions.filter(|(x, y)| (*x..*x + columns).all(|x| is_free(x, *y)));
        if let Some((x, y)) = positions.next() {
            buffer.set_string(x, y, &text, level.style);
        }
    }
}

/// Draws the column of the cursor, below all series.
pub fn column(plot: &Plot, cursor: &Cursor, buffer: &mut Buffer) {
    let Some(x) = plot.column(cursor.x) else {
        return;
    };
    for y in plot.area.top()..=plot.area.bottom() {
        buffer.set_string(x, y, plot.symbols.pick("┊", ":"), ACCENT);
    }
}

/// Draws the text of the cursor, beside its column in the top row.
pub fn read_out(plot: &Plot, cursor: &Cursor, buffer: &mut Buffer) {
    if let Some(x) = plot.column(cursor.x) {
        beside(plot, x, plot.area.top(), &cursor.text, STRONG, buffer);
    }
}

/// Draws a text to the right of column `x`, or to its left where more columns are free.
fn beside(plot: &Plot, x: u16, y: u16, text: &str, style: Style, buffer: &mut Buffer) {
    let columns = width(text) as u16 + 2;
    let right = plot.area.right() - x - 1;
    let left = x - plot.area.x;
    let (from, free) = if right >= columns || right >= left {
        (x + 1, right)
    } else {
        (x.saturating_sub(columns).max(plot.area.x), left)
    };
    if free >= 3 && !text.is_empty() {
        let text = fit(text, usize::from(free - 2));
        buffer.set_string(from, y, format!(" {text} "), style);
    }
}

/// Draws one series.
pub fn series(plot: &Plot, series: &Series, buffer: &mut Buffer) {
    match series.shape {
        SeriesShape::Line(points) => plot.lines(points.iter().copied(), series.style, buffer),
        SeriesShape::Step(points) => {
            let corners = points.iter().scan(None, |before, (x, y)| {
                let corner = (*x, before.replace(*y).unwrap_or(*y));
                Some([corner, (*x, *y)])
            });
            plot.lines(corners.flatten(), series.style, buffer);
        }
        SeriesShape::Marks(symbol, ascii, points) => {
            let symbol = plot.symbols.pick(symbol, ascii);
            for (x, y) in points {
                mark(plot, *x, *y, symbol, series.style, buffer);
            }
        }
        SeriesShape::Spans(spans) => {
            for span in spans {
                error_bar(plot, *span, series.style, buffer);
            }
        }
        SeriesShape::Bars(bars) => {
            for edges in bars {
                bar(plot, *edges, series.style, buffer);
            }
        }
    }
}

fn mark(plot: &Plot, x: f64, y: f64, symbol: &str, style: Style, buffer: &mut Buffer) {
    let Some(x) = plot.column(x).filter(|_| !y.is_nan()) else {
        return;
    };
    let (y, symbol) = match plot.row(y) {
        _ if y == f64::NEG_INFINITY => (plot.area.bottom(), symbol),
        PlotRow::In(y) => (y, symbol),
        PlotRow::Above(y) => (y, plot.symbols.pick("▴", "^")),
        PlotRow::Below(y) => (y, plot.symbols.pick("▾", "v")),
    };
    // A series may have very many marks, so this does not measure the symbol's width as
    // `set_string` does.
    buffer[(x, y)].set_symbol(symbol).set_style(style);
}

/// Draws an interval. An interval within one row is not shape: the mark has the same height.
fn error_bar(plot: &Plot, (x, low, high): (f64, f64, f64), style: Style, buffer: &mut Buffer) {
    let Some(x) = plot.column(x).filter(|_| low <= high) else {
        return;
    };
    let at = |y| match plot.row(y) {
        PlotRow::In(y) | PlotRow::Above(y) | PlotRow::Below(y) => y,
    };
    let (top, bottom) = (at(high), at(low));
    if top == bottom {
        return;
    }
    for y in top..=bottom {
        let symbol = match y {
            y if y == top => plot.symbols.pick("┬", "+"),
            y if y == bottom => plot.symbols.pick("┴", "+"),
            _ => plot.symbols.pick("│", "|"),
        };
        buffer.set_string(x, y, symbol, style);
    }
}

/// Draws the bar of a histogram.
fn bar(plot: &Plot, (from, to, height): (f64, f64, f64), style: Style, buffer: &mut Buffer) {
    let offset = |x: f64| plot.x.share(x).clamp(0.0, 1.0) * f64::from(plot.area.width);
    // A height of NaN or 0 is no bar.
    let is_visible = height > 0.0 && plot.x.share(to) > 0.0 && plot.x.share(from) < 1.0;
    if !is_visible {
        return;
    }
    let (first, end) = (offset(from).round() as u16, offset(to).round() as u16);
    let last = end.max(first + 1).min(plot.area.width);
    let eighths = (plot.y.share(height).clamp(0.0, 1.0) * f64::from(plot.area.height) * 8.0)
        .round()
        .max(1.0) as u16;
    for up in 0..eighths.div_ceil(8) {
        let symbol = plot.symbols.filled(usize::from(eighths - up * 8));
        for x in first..last {
            buffer.set_string(plot.area.x + x, plot.area.bottom() - 1 - up, symbol, style);
        }
    }
}

/// Draws the symbols and names of the series in one row, the topmost series first. Names that do
/// not fit are left out.
pub fn legend(series: &[Series], row: Rect, buffer: &mut Buffer, symbols: SymbolSet) {
    let mut x = row.x;
    for series in series.iter().rev().filter(|series| !series.name.is_empty()) {
        let symbol = match series.shape {
            SeriesShape::Line(_) => symbols.pick("⠒⠒", "--"),
            SeriesShape::Step(_) => symbols.pick("⠤⠚", "_|"),
            SeriesShape::Marks(symbol, ascii, _) => symbols.pick(symbol, ascii),
            SeriesShape::Spans(_) => symbols.pick("┬┴", "|"),
            SeriesShape::Bars(_) => symbols.filled(6),
        };
        let columns = (width(symbol) + 1 + width(&series.name)) as u16;
        if x + columns > row.right() {
            break;
        }
        buffer.set_string(x, row.y, symbol, series.style);
        buffer.set_string(x + width(symbol) as u16 + 1, row.y, &series.name, QUIET);
        x += columns + 2;
    }
}
