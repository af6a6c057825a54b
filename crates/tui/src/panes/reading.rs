//! A text in a pane without a cursor: what of it is in sight, and the row that was gone to.

use super::super::diff::Stop;

/// Until the pane was drawn for the first time.
const COLUMNS: usize = 80;

#[derive(Clone, Debug)]
pub struct Reading {
    first: usize,
    /// The row that a search found or whose number was typed, until the text is scrolled.
    marked: Option<usize>,
    /// Columns and rows of the last frame.
    columns: usize,
    height: usize,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { first: 0, marked: None, columns: COLUMNS, height: 0 }
    }
}

impl Reading {
    /// The first row that is seen.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The row that was gone to, or the first one that is seen.
    pub fn at(&self) -> usize {
        self.marked.unwrap_or(self.first)
    }

    pub fn marked(&self) -> Option<usize> {
        self.marked
    }

    pub fn unmark(&mut self) {
        self.marked = None;
    }

    /// What the text is wrapped to.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// [`Reading::fit`] keeps it within what there is.
    pub fn scroll(&mut self, by: isize) {
        self.show(self.first.saturating_add_signed(by));
    }

    /// Begins with this row.
    pub fn show(&mut self, row: usize) {
        self.first = row;
        self.marked = None;
    }

    /// To a row, which stands out from then on. Where it is out of sight, some rows above it come along.
    pub fn go_to(&mut self, row: usize) {
        let is_in_sight = (self.first..self.first + self.height).contains(&row);
        if !is_in_sight {
            self.first = row.saturating_sub(self.height / 4);
        }
        self.marked = Some(row);
    }

    /// To one of the `stops`, in their order: the next below where one is or, back, the one before; to the beginning where there
    /// is none before. A head is put on top, any other row stands out.
    pub fn step(&mut self, stops: &[Stop], forward: bool) {
        let at = self.at();
        let next = match forward {
            true => stops.iter().find(|stop| stop.row > at),
            false => stops.iter().rfind(|stop| stop.row < at),
        };
        match next {
            Some(stop) if stop.is_head => self.show(stop.row),
            Some(stop) => self.go_to(stop.row),
            None if forward => {}
            None => self.show(0),
        }
    }

    /// Takes the room's measures, and how many rows the text has in it; returns the first that is seen.
    pub fn fit(&mut self, columns: usize, height: usize, count: usize) -> usize {
        if columns != self.columns {
            // Wrapped anew: no row is the same.
            self.marked = None;
        }
        (self.columns, self.height) = (columns, height);
        self.marked = self.marked.filter(|row| *row < count);
        self.first = self.first.min(count.saturating_sub(height));
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_gone_to_is_in_sight_and_marked_until_the_text_is_scrolled() {
        let mut text = Reading::default();
        assert_eq!(text.fit(80, 20, 100), 0);
        text.go_to(7);
        assert_eq!((text.fit(80, 20, 100), text.marked()), (0, Some(7)), "it was in sight already");
        text.go_to(50);
        assert_eq!((text.fit(80, 20, 100), text.at()), (45, 50));
        text.go_to(99);
        assert_eq!((text.fit(80, 20, 100), text.at()), (80, 99));
        text.scroll(-1);
        assert_eq!((text.fit(80, 20, 100), text.at()), (79, 79));
        text.go_to(90);
        assert_eq!((text.fit(40, 20, 200), text.marked()), (79, None), "wrapped anew");
    }
}
