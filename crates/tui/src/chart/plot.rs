//! Where on the screen a figure lies: in dots for lines, in cells for marks, the same place for both.

use super::axis::Axis;
use super::glyphs::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

pub struct Plot {
    /// Without the axes. The ground line is the row below.
    pub area: Rect,
    pub x: Axis,
    pub y: Axis,
    pub glyphs: Glyphs,
}

/// Where a mark goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    In(u16),
    Above(u16),
    Below(u16),
}

impl Plot {
    /// Dots across and down, less one.
    fn last_dot(&self) -> (f64, f64) {
        let (across, down) = self.glyphs.dots();
        (f64::from(self.area.width * across - 1), f64::from(self.area.height * down - 1))
    }

    /// In dots from the lower left corner; out of range what lies out of range. `None` of what is no number.
    fn dot(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (across, up) = self.last_dot();
        let dot = ((self.x.share(x) * across).round(), (self.y.share(y) * up).round());
        (!dot.0.is_nan() && !dot.1.is_nan()).then_some(dot)
    }

    /// The column of a figure on the x-axis, where it is in range.
    pub fn column(&self, x: f64) -> Option<u16> {
        let (across, _) = self.last_dot();
        nearest(self.x.share(x) * across, across).map(|dot| self.area.x + dot / self.glyphs.dots().0)
    }

    /// The row of a figure on the y-axis. Needs one that is a number.
    pub fn row(&self, y: f64) -> Row {
        let (_, up) = self.last_dot();
        let dot = self.y.share(y) * up;
        match nearest(dot, up) {
            Some(dot) => Row::In(self.area.bottom() - 1 - dot / self.glyphs.dots().1),
            None if dot > up => Row::Above(self.area.top()),
            None => Row::Below(self.area.bottom() - 1),
        }
    }

    /// Lines from point to point, each in figures of both axes; a point that is `None` breaks them. In ASCII a
    /// cell is the sign of its direction.
    pub fn lines(&self, points: impl Iterator<Item = (f64, f64)>, style: Style, buffer: &mut Buffer) {
        let mut runs: [Vec<Line>; 3] = Default::default();
        let mut before: Option<(f64, f64)> = None;
        let mut is_drawn = false;
        for (x, y) in points {
            let here = self.dot(x, y).map(|(x, y)| self.within(x, y));
            // Of very many points most are where the one before is.
            if here == before && is_drawn {
                continue;
            }
            is_drawn = false;
            if let (Some((x1, y1)), Some((x2, y2))) = (before, here) {
                is_drawn = true;
                let direction = if y1 == y2 { 0 } else { 1 + usize::from(x1 != x2) };
                runs[direction].push(Line { x1, y1, x2, y2, color: Color::Reset });
            }
            before = here;
        }
        let signs = ['-', '|', '*'];
        match self.glyphs {
            Glyphs::Braille => self.paint(&runs.concat(), Marker::Braille, style, buffer),
            Glyphs::Ascii => {
                for (lines, sign) in runs.iter().zip(signs) {
                    self.paint(lines, self.glyphs.marker(sign), style, buffer);
                }
            }
        }
    }

    /// A line that leaves the chart goes along its edge: a canvas draws nothing of one with an end that is
    /// infinitely far.
    fn within(&self, x: f64, y: f64) -> (f64, f64) {
        let (across, up) = self.last_dot();
        (x.clamp(-1.0, across + 1.0), y.clamp(0.0, up))
    }

    /// A canvas knows colours, and no bold, faint or reversed: it draws on a buffer of its own, and what is
    /// there is laid over what was here before, dot beside dot.
    fn paint(&self, lines: &[Line], marker: Marker, style: Style, buffer: &mut Buffer) {
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
        for place in self.area.positions() {
            let symbol = drawn[place].symbol();
            if symbol == " " {
                continue;
            }
            let cell = &mut buffer[place];
            let both = both(cell.symbol(), symbol);
            match both {
                Some(both) => cell.set_char(both),
                None => cell.set_symbol(symbol),
            }
            .set_style(style);
        }
    }
}

/// The dot that lies nearest, of those from none to `last`. There may be very many to ask of, and `round` is a call.
fn nearest(dot: f64, last: f64) -> Option<u16> {
    (dot > -0.5 && dot < last + 0.5).then_some((dot + 0.5) as u16)
}

/// Two braille cells in one.
fn both(a: &str, b: &str) -> Option<char> {
    let dots = |text: &str| {
        let letter = text.chars().next().filter(|c| ('\u{2800}'..='\u{28ff}').contains(c))?;
        Some(u32::from(letter) - 0x2800)
    };
    char::from_u32(0x2800 + (dots(a)? | dots(b)?))
}
