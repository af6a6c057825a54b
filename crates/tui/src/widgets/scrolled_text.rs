//! A text in a pane without a cursor: which rows are visible, and the row that a search or a number
//! went to.

use super::Document;
use crate::diff::{DiffView, JumpTarget};
use ratatui::layout::Rect;
use std::ops::Range;

/// The width before the pane was drawn for the first time.
const COLUMNS: usize = 80;

#[derive(Clone, Debug)]
pub struct ScrolledText {
    /// The first visible row.
    pub first: usize,
    /// The row that a search found or whose number was typed. Scrolling forgets it.
    pub marked: Option<usize>,
    /// Size of the area at the last frame. A text is wrapped to its columns.
    pub columns: usize,
    height: usize,
    /// First visible column of a diff and of a log.
    pub left: usize,
    /// Where the sections and the changes of the diff began, at the last frame.
    stops: Vec<JumpTarget>,
    /// The first row of the diff, at the last frame.
    diff_at: Option<usize>,
    /// The user scrolled away from the end.
    pub is_held: bool,
}

impl Default for ScrolledText {
    fn default() -> Self {
        ScrolledText {
            first: 0,
            marked: None,
            columns: COLUMNS,
            height: 0,
            left: 0,
            stops: Vec::new(),
            diff_at: None,
            is_held: false,
        }
    }
}

impl ScrolledText {
    /// The marked row, else the first visible one.
    pub fn at(&self) -> usize {
        self.marked.unwrap_or(self.first)
    }

    pub fn unmark(&mut self) {
        self.marked = None;
    }

    /// Scrolls by so many rows. [`ScrolledText::fit`] keeps the result within the text.
    pub fn scroll(&mut self, by: isize) {
        self.show(self.first.saturating_add_signed(by));
        self.is_held = true;
    }

    /// Another text is shown: begins with its first row and column.
    pub fn reset(&mut self) {
        self.show(0);
        (self.left, self.is_held) = (0, false);
    }

    /// So many rows at the beginning of the text are gone.
    pub fn drop_rows(&mut self, count: usize) {
        self.first = self.first.saturating_sub(count);
        self.marked = self.marked.and_then(|row| row.checked_sub(count));
    }

    /// The rows that were visible at the last frame.
    pub fn visible(&self) -> Range<usize> {
        self.first..self.first + self.height
    }

    /// Keeps the topmost row on top when the diff in the text is replaced. A row above the diff
    /// keeps its number.
    pub fn follow(&mut self, old: &DiffView, new: &DiffView) {
        let begin = self.diff_at.filter(|_| self.first > 0);
        let Some((begin, row)) = begin.and_then(|at| Some((at, self.first.checked_sub(at)?)))
        else {
            return;
        };
        self.show(match row.checked_sub(old.rows.len()) {
            Some(behind) => begin + new.rows.len() + behind,
            None => begin + old.follow(row, new),
        });
    }

    /// Puts this row on top.
    pub fn show(&mut self, row: usize) {
        self.first = row;
        self.marked = None;
    }

    /// Goes to a row and marks it. A row that was not visible moves to the upper part of the area.
    pub fn go_to(&mut self, row: usize) {
        let is_in_sight = self.visible().contains(&row);
        if !is_in_sight {
            self.first = row.saturating_sub(self.height / 4);
        }
        self.marked = Some(row);
        self.is_held = true;
    }

    /// Goes to the next section or change, or to the previous one; back from the first to the
    /// beginning. A head is put on top, any other row is marked.
    pub fn step(&mut self, forward: bool) {
        let at = self.at();
        let next = if forward {
            self.stops.iter().find(|stop| stop.row > at)
        } else {
            self.stops.iter().rfind(|stop| stop.row < at)
        };
        match next.copied() {
            Some(stop) if stop.is_head => self.show(stop.row),
            Some(stop) => self.go_to(stop.row),
            None if forward => {}
            None => self.show(0),
        }
    }

    /// The text as it fits into an area of so many columns and rows when it has `count` rows at
    /// this width.
    #[must_use]
    pub fn fit(&self, columns: usize, height: usize, count: usize) -> Self {
        // A text that is wrapped to another width has other rows.
        let marked = self
            .marked
            .filter(|row| columns == self.columns && *row < count);
        let first = self.first.min(count.saturating_sub(height));
        ScrolledText {
            first,
            marked,
            columns,
            height,
            is_held: marked.is_some() || first + height < count,
            ..self.clone()
        }
    }

    /// The text with this content as it fits into an area.
    #[must_use]
    pub fn hold(&self, document: &Document, area: Rect) -> Self {
        let size = (usize::from(area.width), usize::from(area.height));
        ScrolledText {
            stops: document.starts(),
            diff_at: document.diff_at(),
            ..self.fit(size.0, size.1, document.rows())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_gone_to_is_in_sight_and_marked_until_the_text_is_scrolled() {
        let mut text = ScrolledText::default();
        let fit = |text: &mut ScrolledText, columns, count| {
            *text = text.fit(columns, 20, count);
            text.first
        };
        assert_eq!(fit(&mut text, 80, 100), 0);
        text.go_to(7);
        assert_eq!(
            (fit(&mut text, 80, 100), text.marked),
            (0, Some(7)),
            "it was visible already"
        );
        text.go_to(50);
        assert_eq!((fit(&mut text, 80, 100), text.at()), (45, 50));
        text.go_to(99);
        assert_eq!((fit(&mut text, 80, 100), text.at()), (80, 99));
        text.scroll(-1);
        assert_eq!((fit(&mut text, 80, 100), text.at()), (79, 79));
        text.go_to(90);
        assert_eq!(
            (fit(&mut text, 40, 200), text.marked),
            (79, None),
            "wrapped to another width"
        );
    }
}
