//! Writes the cells that changed, and lets the terminal move rows that only moved: a run.log that
//! goes on costs its new lines, not all that are visible. A slow line is the reason.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Write};

/// Rows are moved if so many cells need not be written then: the move itself takes about 30 bytes.
const WORTH: usize = 60;

/// A terminal that knows what it shows.
pub struct Scrolling<W: Write> {
    terminal: CrosstermBackend<W>,
    /// The cells on the screen.
    shown: Buffer,
    /// Cells that were written since [`Scrolling::take_written`].
    written: usize,
}

/// Rows that moved by so many, up or down: they are at these rows now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moved {
    first: usize,
    last: usize,
    by: usize,
    up: bool,
}

impl<W: Write> Scrolling<W> {
    pub fn new(terminal: CrosstermBackend<W>) -> io::Result<Self> {
        let size = terminal.size()?;
        Ok(Scrolling {
            terminal,
            shown: Buffer::empty(Rect::from((Position::ORIGIN, size))),
            written: 0,
        })
    }

    /// How many cells were written since the last call.
    pub fn take_written(&mut self) -> usize {
        std::mem::take(&mut self.written)
    }

    /// Has the terminal move rows within a region, and leaves blank rows behind.
    fn scroll(&mut self, moved: Moved) -> io::Result<()> {
        let Moved {
            first,
            last,
            by,
            up,
        } = moved;
        // The region holds the rows before and after the move.
        let (top, bottom) = if up {
            (first, last + by)
        } else {
            (first - by, last)
        };
        // Rows that are deleted or inserted at the top move those below, within the region.
        let how = if up { 'M' } else { 'L' };
        let (first, last) = (top + 1, bottom + 1);
        write!(
            self.terminal,
            "\x1b[0m\x1b[{first};{last}r\x1b[{first};1H\x1b[{by}{how}\x1b[r"
        )?;
        let columns = usize::from(self.shown.area.width);
        let cells = &mut self.shown.content[top * columns..(bottom + 1) * columns];
        let blank = by * columns;
        if up {
            cells.rotate_left(blank);
            let end = cells.len() - blank;
            cells[end..].fill(Cell::default());
        } else {
            cells.rotate_right(blank);
            cells[..blank].fill(Cell::default());
        }
        Ok(())
    }
}

/// A number for each row of a buffer: equal rows have equal ones.
fn row_hashes(buffer: &Buffer) -> Vec<u64> {
    let rows = buffer.content.chunks(usize::from(buffer.area.width).max(1));
    let hash = |row| BuildHasherDefault::<DefaultHasher>::default().hash_one(row);
    rows.map(hash).collect()
}

/// Puts cells into a buffer. Returns how many each row got.
fn put(buffer: &mut Buffer, cells: &[(u16, u16, &Cell)]) -> Vec<usize> {
    let mut rows = vec![0; usize::from(buffer.area.height)];
    for (x, y, cell) in cells {
        if let Some(place) = buffer.cell_mut((*x, *y)) {
            place.clone_from(cell);
            rows[usize::from(*y)] += 1;
        }
    }
    rows
}

/// The rows of `next` that are at another place in `shown`, if moving them saves enough. `changed`
/// counts the cells of each row that differ.
fn moved(shown: &Buffer, next: &Buffer, changed: &[usize]) -> Option<Moved> {
    let first = changed.iter().position(|count| *count > 0)?;
    let last = changed.iter().rposition(|count| *count > 0)?;
    let (from, to) = (row_hashes(shown), row_hashes(next));
    let mut best = None;
    for by in 1..=(last - first) {
        for up in [true, false] {
            let mut at = first;
            while at <= last {
                let begin = at;
                let is_moved = |y: usize| {
                    let before = if up { y + by } else { y.wrapping_sub(by) };
                    let is_inside = y <= last && (first..=last).contains(&before);
                    is_inside && to[y] == from[before]
                };
                while is_moved(at) {
                    at += 1;
                }
                let saved: usize = changed[begin..at].iter().sum();
                let found = Moved {
                    first: begin,
                    last: at.saturating_sub(1),
                    by,
                    up,
                };
                if saved > best.map_or(WORTH, |(most, _)| most) {
                    best = Some((saved, found));
                }
                at += 1;
            }
        }
    }
    best.map(|(_, found)| found)
}

impl<W: Write> Backend for Scrolling<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let content: Vec<_> = content.collect();
        if content.len() <= WORTH {
            put(&mut self.shown, &content);
            self.written += content.len();
            return self.terminal.draw(content.into_iter());
        }
        let mut next = self.shown.clone();
        let changed = put(&mut next, &content);
        let found = moved(&self.shown, &next, &changed);
        if let Some(found) = found {
            self.scroll(found)?;
            let rest = self.shown.diff(&next);
            self.written += rest.len();
            self.terminal.draw(rest.into_iter())?;
        } else {
            self.written += content.len();
            self.terminal.draw(content.into_iter())?;
        }
        self.shown = next;
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.terminal.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.terminal.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.terminal.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, part: ClearType) -> io::Result<()> {
        let size = self.size()?;
        self.shown = Buffer::empty(Rect::from((Position::ORIGIN, size)));
        self.terminal.clear_region(part)
    }

    fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.terminal.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.terminal)
    }
}

impl<W: Write> Write for Scrolling<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.terminal.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.terminal)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use ratatui::style::{Color, Style};
    use std::cell::RefCell;
    use std::rc::Rc;

    const COLUMNS: u16 = 40;
    const ROWS: u16 = 12;

    /// A terminal of [`COLUMNS`] and [`ROWS`], and the bytes that it got.
    #[derive(Clone)]
    struct Screen(Rc<RefCell<(vt100::Parser, usize)>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (parser, count) = &mut *self.0.borrow_mut();
            parser.process(bytes);
            *count += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Draws frames of these rows one after the other. Returns how many bytes the last one took.
    fn draw(frames: &[Vec<String>]) -> usize {
        let screen = Screen(Rc::new(RefCell::new((
            vt100::Parser::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0),
            0,
        ))));
        let area = Rect::new(0, 0, COLUMNS, ROWS);
        let mut terminal = Scrolling {
            terminal: CrosstermBackend::new(screen.clone()),
            shown: Buffer::empty(area),
            written: 0,
        };
        let mut before = Buffer::empty(area);
        let mut last = 0;
        for frame in frames {
            let mut next = Buffer::empty(area);
            for (y, text) in (0..ROWS).zip(frame) {
                // Rows that only differ by a colour are other rows.
                let style = Style::new().bg(Color::Indexed(text.len() as u8));
                next.set_stringn(0, y, text, usize::from(COLUMNS), style);
            }
            let begin = screen.0.borrow().1;
            terminal.draw(before.diff(&next).into_iter()).unwrap();
            let (parser, count) = &*screen.0.borrow();
            for y in 0..ROWS {
                for x in 0..COLUMNS {
                    let cell = parser.screen().cell(y, x).unwrap();
                    let wanted = &next[(x, y)];
                    let symbol = Some(cell.contents()).filter(|text| !text.is_empty());
                    assert_eq!(symbol.unwrap_or(" "), wanted.symbol(), "{x} {y}");
                    let colour = match wanted.bg {
                        Color::Indexed(colour) => vt100::Color::Idx(colour),
                        _ => vt100::Color::Default,
                    };
                    assert_eq!(cell.bgcolor(), colour, "{x} {y}");
                }
            }
            last = count - begin;
            before = next;
        }
        last
    }

    /// A head that counts, and lines of a log from this one on.
    fn log(first: usize) -> Vec<String> {
        let line = |at: usize| format!("line {at} of a log, {}", at * 7919);
        let rows = (first..first + usize::from(ROWS) - 1).map(line);
        std::iter::once(format!("at {first}")).chain(rows).collect()
    }

    #[test]
    fn rows_that_moved_are_not_written_again() {
        let whole = draw(&[log(10)]);
        for next in [11, 12, 9, 7] {
            let moved = draw(&[log(10), log(next)]);
            assert!(4 * moved < 2 * whole, "to {next}: {moved} of {whole} bytes");
        }
        // All rows are others.
        assert!(draw(&[log(10), log(50)]) > whole / 2);
    }

    proptest! {
        #[test]
        fn the_terminal_shows_every_frame(frames in prop::collection::vec(prop::collection::vec(0u8..6, 12), 1..6)) {
            let row = |kind: &u8| match kind {
                0 => String::new(),
                kind => format!("{kind} ").repeat(5 * usize::from(*kind)),
            };
            let frames: Vec<Vec<String>> = frames.iter().map(|frame| frame.iter().map(row).collect()).collect();
            draw(&frames);
        }
    }
}
