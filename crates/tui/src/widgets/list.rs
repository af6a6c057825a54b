//! A list with a selected row: which rows are visible, and where they were drawn.

use crate::views::Pane;
use ratatui::layout::Rect;

#[derive(Clone, Copy, Debug, Default)]
pub struct ListState {
    pub selected: usize,
    /// The first visible row, at the last frame.
    pub first: usize,
}

impl ListState {
    /// Moves the selection by so many of `count` rows.
    pub fn select(&mut self, by: isize, count: usize) {
        self.selected = self
            .selected
            .saturating_add_signed(by)
            .min(count.saturating_sub(1));
    }

    /// The list as it fits into so many rows: the selected one is visible.
    #[must_use]
    pub fn fit(self, rows: usize, count: usize) -> Self {
        let selected = self.selected.min(count.saturating_sub(1));
        let lowest = (selected + 1).saturating_sub(rows);
        ListState {
            selected,
            first: self.first.clamp(lowest, selected.max(lowest)),
        }
    }
}

/// The visible rows of a list, for clicks.
#[derive(Clone, Copy, Debug)]
pub struct ListArea {
    pub pane: Pane,
    pub rows: Rect,
    /// The selected row, counted from the first visible one.
    pub selected: usize,
}
