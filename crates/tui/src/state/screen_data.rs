//! What a pane may read of the model.

use super::{
    DeviceHistory, LoopState, Now, Profiles, Repository, Runs, ScreenSettings, Selection, Setup,
};
use crate::format;
use crate::keymap::Action;
use jiff::Timestamp;
use lab_run::Fingerprint;
use lab_run::experiment::Experiment;

#[derive(Clone, Copy, Debug)]
pub struct ScreenData<'a> {
    pub setup: &'a Setup,
    pub now: Now,
    pub runs: &'a Runs,
    pub repository: &'a Repository,
    pub selection: &'a Selection,
    pub device: &'a DeviceHistory,
    pub loops: &'a LoopState,
    pub profiles: &'a Profiles,
    pub appearance: &'a ScreenSettings,
}

impl<'a> ScreenData<'a> {
    /// The keys of an action, as a sentence names them.
    pub fn way(&self, action: Action) -> String {
        self.appearance.keymap.way(action)
    }

    /// Date and time in the user's time zone.
    pub fn date(&self, at: Timestamp) -> String {
        format::date(at, &self.appearance.zone)
    }

    /// The selected experiment.
    pub fn selected(&self) -> Option<&'a Experiment> {
        self.repository.experiment(self.selection.key.as_ref()?)
    }

    /// The bytes on disk, if they can be read.
    pub fn present(&self) -> Option<&'a Fingerprint> {
        self.runs.present.as_ref()?.as_ref().ok()
    }
}
