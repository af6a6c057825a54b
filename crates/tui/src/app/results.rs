//! What is done in the view Results: the table's order and filter, and what is asked of its rows.

use super::super::effect::Effect;
use super::super::event;
use super::super::keymap::Action;
use super::super::overlay::Overlay;
use super::super::panes::Pane;
use super::super::status::Level;
use super::super::table::{Column, Filter};
use super::super::text::printable;
use super::{App, Deciding, PutBack};
use crate::request::Request;
use crate::request::ViewRequest as Wish;
use lab_core::decide::{Described, Refusal};
use lab_core::history::details::Compared;
use lab_core::repo::short;
use lab_core::run::experiment::{Experiment, Key};
use tui_input::Input;

impl App {
    pub(super) fn sort_by_next(&mut self) -> Vec<Effect> {
        self.table.sort_by_next(&self.history, self.setup.goal);
        self.want_whole()
    }

    pub(super) fn sort_by_head(&mut self, column: Column) -> Vec<Effect> {
        self.table.sort_by_head(column, &self.history, self.setup.goal);
        self.want_whole()
    }

    pub(super) fn turn_order(&mut self) -> Vec<Effect> {
        self.table.reverse(&self.history);
        self.want_whole()
    }

    pub(super) fn open_filter(&mut self) {
        self.panes.set_focus(Pane::Experiments);
        let before = self.table.filter().text().to_owned();
        let input = Input::new(before.clone());
        self.overlays.push(Overlay::Filter { input, before, problem: None });
    }

    pub(super) fn mark(&mut self) {
        if let Some(key) = self.shown_key() {
            self.table.mark(key);
        }
    }

    /// The two that a comparison is about, the older first; the error says what to do.
    pub(super) fn pair(&self) -> Result<[Key; 2], String> {
        let mut keys = self.table.marked().to_vec();
        keys.extend(self.shown_key().filter(|key| keys.len() == 1 && !keys.contains(key)));
        let place = |key: &Key| self.place_of(key);
        keys.sort_by_key(place);
        let key = self.keymap.key(Action::Mark);
        keys.try_into().map_err(|_| format!("mark two with {key}"))
    }

    pub(super) fn compare(&mut self) -> Vec<Effect> {
        let Ok(keys) = self.pair() else { return Vec::new() };
        self.comparing = Some(keys.clone());
        self.panes.experiment.reset();
        self.panes.set_focus(Pane::Experiment);
        self.panes.set_zoom(true);
        vec![Effect::Read(Wish::Compare(keys, self.panes.around))]
    }

    /// What has to be read for the comparison that is shown now.
    pub(super) fn want_compared(&self) -> Vec<Effect> {
        let around = self.panes.around;
        let is_known = self.compared().is_some_and(|both| both.around == around.lines());
        match &self.comparing {
            Some(keys) if !is_known && self.panes.shows(Pane::Experiment) => {
                vec![Effect::Read(Wish::Compare(keys.clone(), around))]
            }
            _ => Vec::new(),
        }
    }

    /// The comparison that is asked for; `None` while it is being read.
    pub fn compared(&self) -> Option<&Compared> {
        self.compared.as_ref().filter(|both| Some(&both.keys) == self.comparing.as_ref())
    }

    /// An answer to an older wish is dropped.
    pub(super) fn on_compared(&mut self, compared: Compared) -> Vec<Effect> {
        if self.comparing.as_ref() != Some(&compared.keys) {
            self.dirty = false;
            return Vec::new();
        }
        let again = self.compared().is_some();
        self.panes.experiment.read_both(&compared, again);
        self.compared = Some(compared);
        Vec::new()
    }

    /// The commit whose kernel can be put on disk.
    pub(super) fn can_restore(&self) -> Result<String, String> {
        let experiment = self.shown().ok_or("no experiment yet")?;
        let commit = &experiment.row.commit;
        if !self.is_mine(experiment) {
            return Err(format!("it is about another kernel: `lab restore {commit}` in a shell"));
        }
        self.is_calm()?;
        Ok(commit.clone())
    }

    pub(super) fn ask_restore(&mut self) {
        let Ok(commit) = self.can_restore() else { return };
        let kernel = &self.setup.kernel;
        let tried = self.shown().map_or("", |e| e.row.description.as_str());
        let text = format!(
            "Put the kernel of {commit} ({tried}) on disk, as {kernel}? What is there now is kept in git, and nothing \
             is committed."
        );
        let text = printable(&text).into_owned();
        self.overlays.push(Overlay::Restore { commit, text });
    }

    /// The question was answered; the world may have gone on while it was open.
    pub(super) fn restore(&mut self, commit: String) -> Vec<Effect> {
        if let Err(why) = self.is_calm() {
            self.refuse(Deciding::Restore, why);
            return Vec::new();
        }
        self.deciding = Some(Deciding::Restore);
        vec![Effect::Ask(Request::Restore(commit))]
    }

    pub(super) fn on_restored(&mut self, result: Result<event::PutBack, String>) -> Vec<Effect> {
        self.deciding = None;
        match result {
            Ok(event::PutBack { restored, blob }) => {
                let kernel = self.setup.kernel.clone();
                let commit = short(&restored.commit);
                let mut text = match restored.changed {
                    true => format!("{kernel} is now that of {commit}"),
                    false => format!("{kernel} is that of {commit} already"),
                };
                if let Some(saved) = restored.saved.as_deref().map(short) {
                    text.push_str(&format!(" · what was on disk is kept as {saved} (`lab restore {saved}`)"));
                }
                self.say(Level::Info, text);
                self.put_back = Some(PutBack::Blob(blob));
            }
            Err(why) => self.refuse(Deciding::Restore, why),
        }
        vec![Effect::Refresh]
    }

    /// The commit of the experiment that can be described, and what it is called now.
    pub(super) fn can_describe(&self) -> Result<(String, String), String> {
        let experiment = self.shown().ok_or("no experiment yet")?;
        let row = &experiment.row;
        let newest = self.history.iter().rev().find(|e| e.row.commit == row.commit);
        if newest.is_some_and(|newest| !newest.is(&experiment.key())) {
            return Err(format!("a newer row names {} too: describe that one", row.commit));
        }
        self.is_calm()?;
        Ok((row.commit.clone(), row.description.clone()))
    }

    pub(super) fn ask_words(&mut self) {
        let Ok((commit, words)) = self.can_describe() else { return };
        self.overlays.push(Overlay::Describe { commit, input: Input::new(words), problem: None });
    }

    pub(super) fn accept_description(&mut self, commit: String, input: Input) -> Vec<Effect> {
        let description = input.value().trim().to_owned();
        let empty = description.is_empty().then(|| "say in a few words what was tried".to_owned());
        if let Some(problem) = empty.or_else(|| self.is_calm().err()) {
            self.overlays.push(Overlay::Describe { commit, input, problem: Some(problem) });
            return Vec::new();
        }
        self.deciding = Some(Deciding::Describe);
        vec![Effect::Ask(Request::Describe { commit, description })]
    }

    pub(super) fn on_described(&mut self, result: Result<Described, Refusal>) -> Vec<Effect> {
        self.deciding = None;
        self.whole = None;
        match result {
            Ok(Described { row, notes, .. }) => {
                let mut text = format!("{} is now '{}'", row.commit, row.description);
                for note in &notes {
                    text.push_str(&format!(" · {note}"));
                }
                self.say(Level::Info, text);
            }
            Err(refusal) => self.refuse(Deciding::Describe, refusal.to_string()),
        }
        vec![Effect::Refresh]
    }

    /// Something was typed or pasted into the topmost line.
    pub(super) fn typed(&mut self) -> Vec<Effect> {
        match self.overlays.last() {
            Some(Overlay::Filter { input, .. }) => {
                let text = input.value().to_owned();
                self.filter_by(&text)
            }
            _ => Vec::new(),
        }
    }

    /// What cannot be read leaves the rows as they are, and says why.
    pub(super) fn filter_by(&mut self, text: &str) -> Vec<Effect> {
        let read = Filter::parse(text);
        if let Some(Overlay::Filter { problem, .. }) = self.overlays.last_mut() {
            *problem = read.as_ref().err().cloned();
        }
        let Ok(filter) = read else { return Vec::new() };
        self.table.filter_by(filter, &self.history);
        // Whatever is seen of the chosen one is no row any more.
        if self.chosen.is_some() && self.chosen_row().is_none() {
            self.chosen = None;
        }
        self.want_whole()
    }

    /// The row of the chosen experiment.
    pub fn chosen_row(&self) -> Option<usize> {
        let key = self.chosen.as_ref()?;
        self.table.row_of(self.place_of(key)?)
    }

    /// By so many rows; where none is chosen the topmost counts as it.
    pub(super) fn step_row(&mut self, by: isize) -> Vec<Effect> {
        let Some(last) = self.table.len().checked_sub(1) else { return Vec::new() };
        let row = self.chosen_row().unwrap_or(0).saturating_add_signed(by).min(last);
        let key = self.table.order().get(row).and_then(|place| self.history.get(*place)).map(Experiment::key);
        self.comparing = None;
        self.panes.experiment.reset();
        self.choose(key)
    }

    /// Shows the chosen one alone.
    pub(super) fn open_whole(&mut self) -> Vec<Effect> {
        if self.shown().is_none() {
            return Vec::new();
        }
        self.panes.set_focus(Pane::Experiment);
        self.panes.set_zoom(true);
        self.want_whole()
    }

    /// Back from the whole to the table, then from the filter to all rows; false where there is neither.
    pub(super) fn close_in_results(&mut self) -> bool {
        if self.panes.focus() == Pane::Experiment {
            if self.comparing.take().is_some() {
                self.panes.experiment.reset();
            }
            self.panes.set_focus(Pane::Experiments);
            self.panes.set_zoom(false);
            return true;
        }
        let filtered = !self.table.filter().is_empty() && !self.panes.zoom();
        if filtered {
            self.table.filter_by(Filter::default(), &self.history);
        }
        filtered
    }

    /// The experiment that a key in this view is about.
    pub fn shown_key(&self) -> Option<Key> {
        self.shown().map(Experiment::key)
    }
}
