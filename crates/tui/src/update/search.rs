//! Search (`/`, `n`, `N`) in the rows of the focused pane ([`crate::model::Rows`]).

use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::Overlay;
use crate::search_highlight::find_all;
use crate::views::Pane;
use lab_text::figures::thousands;
use tui_input::Input;

impl Model {
    pub(super) fn open_search(&mut self) {
        let pane = self.text_pane();
        self.panes.set_focus(pane);
        let before = self.panes.needle(pane).to_owned();
        self.overlays.push(Overlay::Search {
            pane,
            input: Input::default(),
            before,
        });
    }

    /// Goes to the first match from the selected row on. An empty text ends the search.
    pub(super) fn search_for(&mut self, pane: Pane, text: &str) {
        self.set_needle(pane, text);
        if !text.is_empty() {
            self.find_row(pane, 0, true);
        }
    }

    /// Highlights the matches of a text without going to one.
    pub(super) fn set_needle(&mut self, pane: Pane, text: &str) {
        match text {
            "" => {
                self.panes.needles.remove(&pane);
                self.unmark(pane);
            }
            text => drop(self.panes.needles.insert(pane, text.to_owned())),
        }
    }

    pub(super) fn step_search(&mut self, forward: bool) {
        if let Some(pane) = self.searched() {
            self.find_row(pane, 1, forward);
        }
    }

    /// Goes to the first row with a match that is at least `skip` rows further on, from the last
    /// row to the first.
    fn find_row(&mut self, pane: Pane, skip: usize, forward: bool) {
        let (from, needle) = (self.row_at(pane), self.panes.needle(pane));
        let rows = self.rows(pane);
        let count = rows.count;
        let order = |step: usize| {
            if forward {
                (from + step) % count
            } else {
                (from + 2 * count - step) % count
            }
        };
        let is_found = |at: &usize| !find_all(&rows.text(*at), needle).is_empty();
        let found = (skip..count + skip).map(order).find(is_found);
        match found {
            Some(at) => {
                drop(rows);
                self.go_to_row(pane, at);
            }
            None => {
                let graph = &self.panes.graph;
                let text = if pane == Pane::Graph && !graph.at_end {
                    let more = self.way(Action::Bottom);
                    let read = thousands(count as f64);
                    format!(
                        "'{needle}' was not found in the {read} commits read so far: {more} reads more"
                    )
                } else {
                    format!("'{needle}' was not found in {}", pane.name())
                };
                drop(rows);
                self.warn(text);
            }
        }
    }

    /// Ends the search; false where there is none.
    pub(super) fn end_search(&mut self) -> bool {
        let Some(pane) = self.searched() else {
            return false;
        };
        self.set_needle(pane, "");
        true
    }
}
