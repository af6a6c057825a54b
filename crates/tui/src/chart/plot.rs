//! Maps values to the screen: to dots for lines, to cells for marks. Both maps agree.

use super::Axis;
use super::symbols::SymbolSet;
use ratatui::prelude::*;
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

/// The area of a plot with its axes, and the buffer that it is drawn into.
pub struct Plot<'b> {
    /// The area without the axes. The base line is the row below.
    pub area: Rect,
    pub x: Axis,
    pub y: Axis,
    pub symbols: SymbolSet,
    pub buffer: &'b mut Buffer,
}

/// The row of a value, or the row of the edge that the value is beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotRow {
    In(u16),
    Above(u16),
    Below(u16),
}

impl Plot<'_> {
    /// Draws a symbol, or the same in ASCII, into every cell of an area.
    pub fn fill(&mut self, area: Rect, [braille, ascii]: [&str; 2], style: Style) {
        let symbol = self.symbols.pick(braille, ascii);
        for at in area.positions() {
            self.buffer.set_string(at.x, at.y, symbol, style);
        }
    }

    /// The index of the last dot across and of the last dot up.
    fn last_dot(&self) -> (f64, f64) {
        let (across, down) = self.symbols.dots();
        (
            f64::from(self.area.width * across - 1),
            f64::from(self.area.height * down - 1),
        )
    }

    /// The dot of a point, from the lower left corner; outside the plot for a point out of range.
    /// `None` for NaN.
    fn dot(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (across, up) = self.last_dot();
        let dot = (
            (self.x.share(x) * across).round(),
            (self.y.share(y) * up).round(),
        );
        (!dot.0.is_nan() && !dot.1.is_nan()).then_some(dot)
    }

    /// The column of a value on the x-axis. `None` out of range.
    pub fn column(&self, x: f64) -> Option<u16> {
        let (across, _) = self.last_dot();
        nearest(self.x.share(x) * across, across)
            .map(|dot| self.area.x + dot / self.symbols.dots().0)
    }

    /// The row of a value on the y-axis. The value must not be NaN.
    pub fn row(&self, y: f64) -> PlotRow {
        let (_, up) = self.last_dot();
        let dot = self.y.share(y) * up;
        match nearest(dot, up) {
            Some(dot) => PlotRow::In(self.area.bottom() - 1 - dot / self.symbols.dots().1),
            None if dot > up => PlotRow::Above(self.area.top()),
            None => PlotRow::Below(self.area.bottom() - 1),
        }
    }

    /// Draws lines from point to point. A NaN interrupts them. In ASCII a cell shows the direction
    /// of its line.
    pub fn lines(&mut self, points: impl Iterator<Item = (f64, f64)>, style: Style) {
        let mut runs: [Vec<Line>; 3] = Default::default();
        let mut before: Option<(f64, f64)> = None;
        let mut is_drawn = false;
        for (x, y) in points {
            let here = self.dot(x, y).map(|(x, y)| self.within(x, y));
            // If there are many more points than dots, most points share the dot of the point
            // before.
            if here == before && is_drawn {
                continue;
            }
            is_drawn = false;
            if let (Some((x1, y1)), Some((x2, y2))) = (before, here) {
                is_drawn = true;
                let direction = if y1 == y2 {
                    0
                } else {
                    1 + usize::from(x1 != x2)
                };
                runs[direction].push(Line {
                    x1,
                    y1,
                    x2,
                    y2,
                    color: Color::Reset,
                });
            }
            before = here;
        }
        let signs = ['-', '|', '*'];
        match self.symbols {
            SymbolSet::Braille => self.paint(&runs.concat(), Marker::Braille, style),
            SymbolSet::Ascii => {
                for (lines, sign) in runs.iter().zip(signs) {
                    self.paint(lines, self.symbols.marker(sign), style);
                }
            }
        }
    }

    /// Moves a dot out of range to the edge: the canvas draws nothing of a line with an end at
    /// infinity.
    fn within(&self, x: f64, y: f64) -> (f64, f64) {
        let (across, up) = self.last_dot();
        (x.clamp(-1.0, across + 1.0), y.clamp(0.0, up))
    }

    /// Draws lines with the style. The canvas supports colours only, not bold, faint or reversed.
    /// So it draws into a separate buffer, whose dots are then merged into the cells.
    fn paint(&mut self, lines: &[Line], marker: Marker, style: Style) {
        if lines.is_empty() {
            return;
        }
        let (across, up) = self.last_dot();
        let mut drawn = Buffer::empty(self.area);
        Canvas::default()
            .marker(marker)
            .x_bounds([0.0, across])
            .y_bounds([0.0, up])
            .paint(|context| lines.iter().for_each(|line| context.draw(line)))
            .render(self.area, &mut drawn);
        for position in self.area.positions() {
            let symbol = drawn[position].symbol();
            if symbol == " " {
                continue;
            }
            let cell = &mut self.buffer[position];
            match merge_braille(cell.symbol(), symbol) {
                Some(merged) => cell.set_char(merged),
                None => cell.set_symbol(symbol),
            }
            .set_style(style);
        }
    }
}

/// The index of the nearest dot from 0 to `last`. `None` out of range. A chart calls this for very
/// many points, so it does not call `round`.
fn nearest(dot: f64, last: f64) -> Option<u16> {
    (dot > -0.5 && dot < last + 0.5).then_some((dot + 0.5) as u16)
}

/// The dots of two braille cells in one. `None` where one of them is not braille.
fn merge_braille(a: &str, b: &str) -> Option<char> {
    let dots = |text: &str| {
        let letter = text
            .chars()
            .next()
            .filter(|c| ('\u{2800}'..='\u{28ff}').contains(c))?;
        Some(u32::from(letter) - 0x2800)
    };
    char::from_u32(0x2800 + (dots(a)? | dots(b)?))
}
