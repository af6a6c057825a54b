//! `/`, `n` and `N` in the rows of whatever is focused ([`super::rows`]).

use super::super::effect::Effect;
use super::super::keymap::Action;
use super::super::overlay::Overlay;
use super::super::panes::Pane;
use super::super::status::Level;
use super::App;
use super::rows::nothing_in;
use crate::search_highlight::find_all;
use lab_core::text::figures::thousands;
use tui_input::Input;

impl App {
    /// What was searched for there; empty where nothing was.
    pub fn needle(&self, pane: Pane) -> &str {
        self.panes.needles.get(&pane).map_or("", String::as_str)
    }

    pub(super) fn open_search(&mut self) {
        let pane = self.text_pane();
        self.panes.set_focus(pane);
        let before = self.needle(pane).to_owned();
        self.overlays.push(Overlay::Search { pane, input: Input::default(), before });
    }

    /// Looks for `text` from the selected row on; an empty one ends the search.
    pub(super) fn search_for(&mut self, pane: Pane, text: &str) -> Vec<Effect> {
        self.put_needle(pane, text);
        if text.is_empty() { Vec::new() } else { self.find_row(pane, 0, true) }
    }

    /// Without going anywhere.
    pub(super) fn put_needle(&mut self, pane: Pane, text: &str) {
        match text {
            "" => {
                self.panes.needles.remove(&pane);
                self.unmark(pane);
            }
            text => drop(self.panes.needles.insert(pane, text.to_owned())),
        }
    }

    /// The pane that `n` goes on in.
    fn searched(&self) -> Option<Pane> {
        let is_searched = |pane: &Pane| !self.needle(*pane).is_empty();
        let log = || Some(Pane::Log).filter(|log| self.panes.shows(*log));
        Some(self.text_pane()).filter(is_searched).or_else(|| log().filter(is_searched))
    }

    pub(super) fn can_step_search(&self) -> Result<(), String> {
        match self.searched() {
            Some(_) => Ok(()),
            None => Err(format!("search first, with {}", self.keymap.way(Action::Search))),
        }
    }

    /// Asked at every frame: what has to be laid out to be counted is not counted.
    pub(super) fn can_search(&self) -> Result<(), String> {
        let pane = self.text_pane();
        let is_counted = match pane {
            Pane::Log | Pane::Correctness | Pane::History | Pane::Commits => true,
            Pane::Source | Pane::Experiments | Pane::Graph => true,
            Pane::Experiment | Pane::Commit | Pane::Gauges | Pane::Build => false,
        };
        match is_counted && self.rows(pane).count == 0 {
            true => Err(nothing_in(pane)),
            false => Ok(()),
        }
    }

    pub(super) fn step_search(&mut self, forward: bool) -> Vec<Effect> {
        match self.searched() {
            Some(pane) => self.find_row(pane, 1, forward),
            None => Vec::new(),
        }
    }

    /// To the first row with a match, `skip` rows on from where one is, round the end.
    fn find_row(&mut self, pane: Pane, skip: usize, forward: bool) -> Vec<Effect> {
        let (from, needle) = (self.row_at(pane), self.needle(pane));
        let rows = self.rows(pane);
        let count = rows.count;
        let order =
            |step: usize| if forward { (from + step) % count } else { (from + 2 * count - step) % count };
        let is_found = |at: &usize| !find_all(&rows.text(*at), needle).is_empty();
        let found = (skip..count + skip).map(order).find(is_found);
        match found {
            Some(at) => {
                drop(rows);
                self.go_to_row(pane, at)
            }
            None => {
                let graph = &self.panes.graph;
                let text = match pane == Pane::Graph && !graph.at_end {
                    true => {
                        let more = self.keymap.way(Action::Bottom);
                        let read = thousands(count as f64);
                        format!("'{needle}' is nowhere in the {read} commits that were read: {more} reads on")
                    }
                    false => format!("'{needle}' is nowhere in {}", pane.name()),
                };
                drop(rows);
                self.say(Level::Warning, text);
                Vec::new()
            }
        }
    }

    /// Ends the search that is shown; false where there is none.
    pub(super) fn end_search(&mut self) -> bool {
        let Some(pane) = self.searched() else { return false };
        self.put_needle(pane, "");
        true
    }
}
