//! The experiment that is chosen: one for the whole screen, so that what is chosen in one pane is shown in
//! all of them.

use super::super::effect::Effect;
use super::super::panes::Pane;
use super::super::views::View;
use super::App;
use crate::request::ViewRequest as Wish;
use lab_core::history::details::ExperimentDetails;
use lab_core::run::experiment::{Experiment, Key};

impl App {
    /// The chosen experiment, as long as the history has it.
    pub fn chosen(&self) -> Option<&Experiment> {
        self.experiment(self.chosen.as_ref()?)
    }

    /// The one that is shown whole: the chosen one or, in the table, the topmost as long as none is chosen.
    pub fn shown(&self) -> Option<&Experiment> {
        self.chosen().or_else(|| self.topmost().filter(|_| self.panes.view == View::Results))
    }

    /// The first one of the table.
    pub(super) fn topmost(&self) -> Option<&Experiment> {
        self.history.get(*self.table.order().first()?)
    }

    /// The same, whole; `None` while it is being read.
    pub fn whole(&self) -> Option<&ExperimentDetails> {
        let shown = self.shown()?;
        self.whole.as_ref().filter(|whole| shown.is(&whole.key))
    }

    /// Chooses an experiment, or none, and has it read where a pane shows it whole.
    pub fn choose(&mut self, key: Option<Key>) -> Vec<Effect> {
        self.chosen = key;
        self.want_whole()
    }

    /// By so many places among the comparable ones, from oldest to newest. Nothing chosen counts as the newest.
    pub(super) fn step_chosen(&mut self, by: isize) -> Vec<Effect> {
        let Some(newest) = self.comparable().len().checked_sub(1) else { return Vec::new() };
        self.choose_among(self.chosen_among().unwrap_or(newest).saturating_add_signed(by).min(newest))
    }

    /// One of the comparable ones, counted from the oldest.
    pub(super) fn choose_among(&mut self, at: usize) -> Vec<Effect> {
        let place = self.comparable().place(at);
        self.choose(place.and_then(|place| self.history.get(place)).map(Experiment::key))
    }

    /// What has to be read for what is shown now.
    pub(super) fn want_whole(&mut self) -> Vec<Effect> {
        let around = self.panes.around;
        let is_known = self.whole().is_some_and(|whole| whole.around == around.lines());
        match self.shown() {
            Some(experiment) if !is_known && self.panes.shows(Pane::Experiment) => {
                vec![Effect::Read(Wish::Whole(experiment.key(), around))]
            }
            _ => Vec::new(),
        }
    }

    /// An answer to an older wish is dropped.
    pub(super) fn on_whole(&mut self, whole: ExperimentDetails) -> Vec<Effect> {
        if self.shown().is_some_and(|shown| shown.is(&whole.key)) {
            let again = self.whole.as_ref().is_some_and(|known| known.key == whole.key);
            self.panes.experiment.read(&whole, again);
            self.whole = Some(whole);
        } else {
            self.dirty = false;
        }
        Vec::new()
    }
}
