//! Goes to a row of a pane: by a search, or by its number in the palette.

use crate::model::Model;
use crate::panes::graph::ReadTarget;
use crate::views::Pane;

impl Model {
    /// Goes to a row of the pane and focuses the pane: a list selects the row, a text marks it.
    pub(super) fn go_to_row(&mut self, pane: Pane, at: usize) {
        let pane = pane.text();
        self.panes.set_focus(pane);
        match pane {
            Pane::Source => self.panes.source.go_to(at),
            list if list.is_list() => self.scroll(at as isize - self.row_at(list) as isize),
            text => self.panes.text_mut(text).go_to(at),
        }
    }

    /// Removes the mark from the pane's text. The selection of a list stays.
    pub(super) fn unmark(&mut self, pane: Pane) {
        self.panes.text_mut(pane.text()).unmark();
    }

    /// Goes to the row with this number, counted from 1, or to the last one. In Source it is the
    /// line's number, also in a diff.
    pub(super) fn go_to_number(&mut self, number: usize) {
        let Ok((pane, count)) = self.numbered() else {
            return;
        };
        match pane {
            Pane::Source => {
                self.panes.source.go_to_line(number.max(1));
            }
            // The graph may have to read more commits first.
            Pane::Graph => self.read_to(ReadTarget::Row(number.max(1) - 1)),
            _ => self.go_to_row(pane, number.clamp(1, count) - 1),
        }
    }
}
