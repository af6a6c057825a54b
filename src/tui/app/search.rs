//! `/`, `n` and `N` in whatever is focused. run.log searches its own lines; a list is any pane whose rows have a
//! text ([`App::row_text`]), and a search in it selects the row that was found.

use super::super::effect::Effect;
use super::super::log::find_all;
use super::super::overlay::Overlay;
use super::super::panes::Pane;
use super::super::status::Level;
use super::App;
use crate::session::repo::{LogEntry, short};
use tui_input::Input;

impl App {
    /// The pane that `/` looks through: the focused one, else run.log where that is shown.
    pub fn search_target(&self) -> Option<Pane> {
        let focus = self.panes.focus();
        let has_text = focus == Pane::Log || self.row_count(focus).is_some();
        has_text.then_some(focus).or_else(|| self.panes.shows(Pane::Log).then_some(Pane::Log))
    }

    /// What was searched for there; empty where nothing was.
    pub fn needle(&self, pane: Pane) -> &str {
        match pane {
            Pane::Log => self.log.search(),
            _ => self.panes.needles.get(&pane).map_or("", String::as_str),
        }
    }

    /// Rows of a list; `None` of a pane that is none.
    fn row_count(&self, pane: Pane) -> Option<usize> {
        match pane {
            Pane::Commits => Some(self.commits.len()),
            Pane::Graph => Some(self.panes.graph.rows.len()),
            Pane::Experiments => Some(self.table.len()),
            Pane::Source => Some(self.panes.source.count()),
            _ => None,
        }
    }

    /// What a row of a list says, counted from the top.
    fn row_text(&self, pane: Pane, at: usize) -> Option<String> {
        let of_commit =
            |commit: &LogEntry| format!("{} {} {}", short(&commit.id), commit.subject, commit.author);
        match pane {
            Pane::Commits => self.commits.get(at).map(of_commit),
            Pane::Graph => {
                let entry = &self.panes.graph.rows.get(at)?.entry;
                let names: Vec<&str> = entry.labels.iter().map(|label| label.name.as_str()).collect();
                Some(format!("{} {}", of_commit(&entry.commit), names.join(" ")))
            }
            Pane::Experiments => {
                let row = &self.history.get(*self.table.order().get(at)?)?.row;
                Some(format!("{} {} {}", row.commit, row.status.word(), row.description))
            }
            Pane::Source => Some(self.panes.source.says(at)),
            _ => None,
        }
    }

    fn selected_row(&self, pane: Pane) -> usize {
        match pane {
            Pane::Experiments => self.chosen_row().unwrap_or(0),
            Pane::Source => self.panes.source.at(),
            Pane::Graph => self.panes.graph.rows.len().saturating_sub(self.panes.graph.left_below() + 1),
            Pane::Commits => self.panes.commits.selected,
            _ => 0,
        }
    }

    pub(super) fn open_search(&mut self) {
        let Some(pane) = self.search_target() else { return };
        self.panes.set_focus(pane);
        let before = self.needle(pane).to_owned();
        self.overlays.push(Overlay::Search { pane, input: Input::default(), before });
    }

    fn put_needle(&mut self, pane: Pane, text: &str) {
        match text {
            "" => drop(self.panes.needles.remove(&pane)),
            text => drop(self.panes.needles.insert(pane, text.to_owned())),
        }
    }

    /// Looks for `text` from the selected row on; an empty one ends the search.
    pub(super) fn search_for(&mut self, pane: Pane, text: &str) -> Vec<Effect> {
        if pane == Pane::Log {
            if !self.log.search_for(text) {
                self.say(Level::Warning, format!("'{text}' is nowhere in run.log"));
            }
            return Vec::new();
        }
        self.put_needle(pane, text);
        if text.is_empty() { Vec::new() } else { self.find_row(pane, 0, true) }
    }

    /// Back to the search before this one, without going anywhere.
    pub(super) fn give_search_back(&mut self, pane: Pane, before: &str) {
        match pane {
            Pane::Log => drop(self.log.search_for(before)),
            _ => self.put_needle(pane, before),
        }
    }

    /// The pane that `n` goes on in.
    fn searched(&self) -> Option<Pane> {
        let focus = self.panes.focus();
        let is_searched = |pane: &Pane| !self.needle(*pane).is_empty();
        Some(focus).filter(is_searched).or(Some(Pane::Log).filter(is_searched))
    }

    pub(super) fn can_step_search(&self) -> Result<(), String> {
        match self.searched() {
            Some(_) => Ok(()),
            None => Err(format!("search first, with {}", self.keymap.way(super::Action::Search))),
        }
    }

    pub(super) fn can_search(&self) -> Result<(), String> {
        match self.search_target() {
            None => Err("nothing here is searched".to_owned()),
            Some(Pane::Log) if self.log.log().is_empty() => Err("run.log is empty".to_owned()),
            Some(pane) if self.row_count(pane) == Some(0) => Err("the list is empty".to_owned()),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn step_search(&mut self, forward: bool) -> Vec<Effect> {
        match self.searched() {
            Some(Pane::Log) => {
                self.panes.set_focus(Pane::Log);
                if !self.log.step(forward) {
                    let text = format!("'{}' is nowhere in run.log", self.log.search());
                    self.say(Level::Warning, text);
                }
                Vec::new()
            }
            Some(pane) => self.find_row(pane, 1, forward),
            None => Vec::new(),
        }
    }

    /// Selects the first row with a match, `skip` rows on from the selected one, round the end.
    fn find_row(&mut self, pane: Pane, skip: usize, forward: bool) -> Vec<Effect> {
        let count = self.row_count(pane).unwrap_or(0);
        let needle = self.needle(pane).to_owned();
        let from = self.selected_row(pane);
        let order =
            |step: usize| if forward { (from + step) % count } else { (from + 2 * count - step) % count };
        let is_found =
            |at: &usize| self.row_text(pane, *at).is_some_and(|t| !find_all(&t, &needle).is_empty());
        match (skip..count + skip).map(order).find(is_found) {
            // As a key would select it.
            Some(at) => self.scroll(at as isize - from as isize),
            None => {
                self.say(Level::Warning, format!("'{needle}' is nowhere in {}", pane.name()));
                Vec::new()
            }
        }
    }

    /// Ends the search that is shown; false where there is none.
    pub(super) fn end_search(&mut self) -> bool {
        let Some(pane) = self.searched() else { return false };
        self.give_search_back(pane, "");
        true
    }
}
