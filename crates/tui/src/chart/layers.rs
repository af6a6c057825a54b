//! What a chart is made of, one over the other: axes, levels, the cursor, the series, names.

use super::axis::Tick;
use super::glyphs::Glyphs;
use super::plot::{Plot, Row};
use super::{Cursor, Drawn, Level, On, Series};
use crate::text::{fit, pad_left, width};
use crate::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Both axes and their figures; those of the y-axis begin at column `left`.
pub fn axes(plot: &Plot, ticks: &[Tick], left: u16, has_x: bool, buffer: &mut Buffer, theme: &Theme) {
    let style = theme.quiet();
    let sign = |line, ascii| plot.glyphs.pick(line, ascii);
    let bar = plot.area.x - 1;
    let ground = plot.area.bottom();
    for y in plot.area.top()..ground {
        buffer.set_string(bar, y, sign("│", "|"), style);
    }
    buffer.set_string(bar, ground, sign("└", "+"), style);
    for x in plot.area.left()..plot.area.right() {
        buffer.set_string(x, ground, sign("─", "-"), style);
    }
    let room = usize::from(bar - left);
    for tick in ticks {
        let Row::In(y) = plot.row(tick.value) else { continue };
        buffer.set_string(left, y, pad_left(&tick.label, room), style);
        buffer.set_string(bar, y, sign("┤", "+"), style);
    }
    if has_x {
        x_figures(plot, buffer, style);
    }
}

fn x_figures(plot: &Plot, buffer: &mut Buffer, style: Style) {
    let y = plot.area.bottom() + 1;
    let name = plot.x.name();
    let mut end = plot.area.right();
    if !name.is_empty() && plot.area.width > 3 * width(name) as u16 {
        end -= width(name) as u16 + 1;
        buffer.set_string(end + 1, y, name, style);
    }
    // A figure may begin under the y-axis, and none touches another.
    let mut free = plot.area.x - 1;
    for tick in plot.x.ticks(usize::from(plot.area.width / 8).max(2)) {
        let Some(column) = plot.column(tick.value) else { continue };
        let columns = width(&tick.label) as u16;
        let from = column.saturating_sub(columns / 2);
        if from < free || from + columns > end {
            continue;
        }
        buffer.set_string(from, y, &tick.label, style);
        buffer.set_string(column, y - 1, plot.glyphs.pick("┬", "+"), style);
        free = from + columns + 2;
    }
}

/// The dashed lines; their names come after all else, where room is left.
pub fn levels(plot: &Plot, levels: &[Level], buffer: &mut Buffer) {
    for level in levels {
        match level.on {
            On::Y => {
                let Row::In(y) = plot.row(level.at) else { continue };
                let dash = plot.glyphs.pick("┄", "-");
                // Every second cell in ASCII, where a whole line is a series'.
                let stride = if plot.glyphs == Glyphs::Ascii { 2 } else { 1 };
                for x in (plot.area.left()..plot.area.right()).step_by(stride) {
                    buffer.set_string(x, y, dash, level.style);
                }
            }
            On::X => {
                let Some(x) = plot.column(level.at) else { continue };
                for y in plot.area.top()..plot.area.bottom() {
                    buffer.set_string(x, y, plot.glyphs.pick("┆", ":"), level.style);
                }
            }
        }
    }
}

/// Each level's name in its row, at the right end or at the left, wherever nothing else is written. A level that
/// is out of range is named at that edge, behind an arrow.
pub fn names(plot: &Plot, levels: &[Level], buffer: &mut Buffer) {
    for level in levels {
        let arrow =
            |up: bool| if up { plot.glyphs.pick("▴ ", "^ ") } else { plot.glyphs.pick("▾ ", "v ") };
        let (y, text) = match level.on {
            On::Y if level.at.is_nan() => continue,
            On::Y => match plot.row(level.at) {
                Row::In(y) => (y, level.name.clone()),
                Row::Above(y) => (y, format!("{}{}", arrow(true), level.name)),
                Row::Below(y) => (y, format!("{}{}", arrow(false), level.name)),
            },
            On::X => match plot.column(level.at) {
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
        // In its own row, else in a neighbour's.
        let rows =
            [y, y + 1, y.saturating_sub(1)].into_iter().filter(|y| plot.area.rows().any(|r| r.y == *y));
        let places = rows.flat_map(|y| [(plot.area.right() - columns, y), (plot.area.x, y)]);
        let dash = plot.glyphs.pick("┄", "-");
        let is_free = |x: u16, y: u16| matches!(buffer[(x, y)].symbol(), s if s == " " || s == dash);
        let mut places = places.filter(|(x, y)| (*x..*x + columns).all(|x| is_free(x, *y)));
        if let Some((x, y)) = places.next() {
            buffer.set_string(x, y, &text, level.style);
        }
    }
}

/// Where the cursor stands, under everything else.
pub fn column(plot: &Plot, cursor: &Cursor, buffer: &mut Buffer, theme: &Theme) {
    let Some(x) = plot.column(cursor.x) else { return };
    for y in plot.area.top()..=plot.area.bottom() {
        buffer.set_string(x, y, plot.glyphs.pick("┊", ":"), theme.accent());
    }
}

/// What is read off at the cursor: beside it, in the top row.
pub fn read_out(plot: &Plot, cursor: &Cursor, buffer: &mut Buffer, theme: &Theme) {
    if let Some(x) = plot.column(cursor.x) {
        beside(plot, x, plot.area.top(), &cursor.text, theme.strong(), buffer);
    }
}

/// To the right of column `x`, or to its left where that has more room.
fn beside(plot: &Plot, x: u16, y: u16, text: &str, style: Style, buffer: &mut Buffer) {
    let columns = width(text) as u16 + 2;
    let right = plot.area.right() - x - 1;
    let left = x - plot.area.x;
    let (from, room) = match right >= columns || right >= left {
        true => (x + 1, right),
        false => (x.saturating_sub(columns).max(plot.area.x), left),
    };
    if room >= 3 && !text.is_empty() {
        let text = fit(text, usize::from(room - 2));
        buffer.set_string(from, y, format!(" {text} "), style);
    }
}

pub fn series(plot: &Plot, series: &Series, buffer: &mut Buffer) {
    match series.drawn {
        Drawn::Line(points) => plot.lines(points.iter().copied(), series.style, buffer),
        Drawn::Step(points) => {
            let corners = points.iter().scan(None, |before, (x, y)| {
                let corner = (*x, before.replace(*y).unwrap_or(*y));
                Some([corner, (*x, *y)])
            });
            plot.lines(corners.flatten(), series.style, buffer);
        }
        Drawn::Marks(sign, ascii, points) => {
            let sign = plot.glyphs.pick(sign, ascii);
            for (x, y) in points {
                mark(plot, *x, *y, sign, series.style, buffer);
            }
        }
        Drawn::Spans(spans) => spans.iter().for_each(|span| error_bar(plot, *span, series.style, buffer)),
        Drawn::Bars(bars) => bars.iter().for_each(|bar| block(plot, *bar, series.style, buffer)),
    }
}

fn mark(plot: &Plot, x: f64, y: f64, sign: &str, style: Style, buffer: &mut Buffer) {
    let Some(x) = plot.column(x).filter(|_| !y.is_nan()) else { return };
    let (y, sign) = match plot.row(y) {
        _ if y == f64::NEG_INFINITY => (plot.area.bottom(), sign),
        Row::In(y) => (y, sign),
        Row::Above(y) => (y, plot.glyphs.pick("▴", "^")),
        Row::Below(y) => (y, plot.glyphs.pick("▾", "v")),
    };
    // There may be very many: no text is measured for them.
    buffer[(x, y)].set_symbol(sign).set_style(style);
}

/// An interval of less than a row is a mark's own height, and not drawn.
fn error_bar(plot: &Plot, (x, low, high): (f64, f64, f64), style: Style, buffer: &mut Buffer) {
    let Some(x) = plot.column(x).filter(|_| low <= high) else { return };
    let at = |y| match plot.row(y) {
        Row::In(y) | Row::Above(y) | Row::Below(y) => y,
    };
    let (top, bottom) = (at(high), at(low));
    if top == bottom {
        return;
    }
    for y in top..=bottom {
        let sign = match y {
            y if y == top => plot.glyphs.pick("┬", "+"),
            y if y == bottom => plot.glyphs.pick("┴", "+"),
            _ => plot.glyphs.pick("│", "|"),
        };
        buffer.set_string(x, y, sign, style);
    }
}

fn block(plot: &Plot, (from, to, tall): (f64, f64, f64), style: Style, buffer: &mut Buffer) {
    let place = |x: f64| plot.x.share(x).clamp(0.0, 1.0) * f64::from(plot.area.width);
    // NaN and zero are nothing.
    let is_there = tall > 0.0 && plot.x.share(to) > 0.0 && plot.x.share(from) < 1.0;
    if !is_there {
        return;
    }
    let (first, end) = (place(from).round() as u16, place(to).round() as u16);
    let last = end.max(first + 1).min(plot.area.width);
    let eighths =
        (plot.y.share(tall).clamp(0.0, 1.0) * f64::from(plot.area.height) * 8.0).round().max(1.0) as u16;
    for up in 0..eighths.div_ceil(8) {
        let sign = plot.glyphs.filled(usize::from(eighths - up * 8));
        for x in first..last {
            buffer.set_string(plot.area.x + x, plot.area.bottom() - 1 - up, sign, style);
        }
    }
}

/// Signs and names in a row, those that lie on top first; the last ones are left out where they do not fit.
pub fn legend(series: &[Series], row: Rect, buffer: &mut Buffer, theme: &Theme, glyphs: Glyphs) {
    let mut x = row.x;
    for series in series.iter().rev().filter(|series| !series.name.is_empty()) {
        let sign = match series.drawn {
            Drawn::Line(_) => glyphs.pick("⠒⠒", "--"),
            Drawn::Step(_) => glyphs.pick("⠤⠚", "_|"),
            Drawn::Marks(sign, ascii, _) => glyphs.pick(sign, ascii),
            Drawn::Spans(_) => glyphs.pick("┬┴", "|"),
            Drawn::Bars(_) => glyphs.filled(6),
        };
        let columns = (width(sign) + 1 + width(&series.name)) as u16;
        if x + columns > row.right() {
            break;
        }
        buffer.set_string(x, row.y, sign, series.style);
        buffer.set_string(x + width(sign) as u16 + 1, row.y, &series.name, theme.quiet());
        x += columns + 2;
    }
}
