//! Profiles: when one is read for a view, and the key that has one made.

use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::Overlay;
use crate::panes::source::HotLines;
use crate::profile::{ProfileRequest, ProfileView};
use crate::request::ViewRequest;
use crate::views::{Pane, View};
use lab_run::RunId;

impl Model {
    /// Reads the profile of the selected experiment or of the present kernel, where a view shows it
    /// and it was not read yet.
    pub(super) fn load_profile(&mut self) {
        if !self.panes.shows(Pane::Profile) && !self.panes.shows(Pane::Source) {
            return;
        }
        let run = match &self.selection.key {
            Some(key) if self.panes.view == View::Device => key.run,
            _ => self.runs.last.as_ref().map(|last| last.start.id),
        };
        let Some(run) = run else { return };
        let snapshot = self.repository.snapshot();
        let request = ProfileRequest {
            run,
            incumbent: snapshot.and_then(|snapshot| snapshot.incumbent.clone()),
            made: self.profiles.made,
        };
        if self.profiles.request.as_ref() == Some(&request) {
            return;
        }
        self.profiles.request = Some(request.clone());
        self.load(ViewRequest::Profile(request));
    }

    /// Puts the hot lines of the present text into Source. A profile of other bytes has other
    /// lines, so it has none there.
    pub(super) fn place_hot_lines(&mut self) {
        let source = self.panes.source.source.as_ref();
        let present = source.and_then(|source| source.present.as_ref().ok());
        let profile = present.and_then(|present| self.profiles.of(&present.fingerprint));
        let hot = profile.map(|profile| HotLines::of(profile, &self.setup.kernel));
        self.panes.source.hot = hot.unwrap_or_default();
    }

    /// Shows the machine code of the profiled line at the cursor; false where the line was not
    /// profiled.
    pub(super) fn open_listing(&mut self) -> bool {
        let Some((line, rows)) = self.panes.source.listing() else {
            return false;
        };
        self.overlays.push(Overlay::Listing {
            title: format!("SASS of line {line}"),
            rows,
            scroll: 0,
        });
        true
    }

    pub(super) fn on_profile(&mut self, view: ProfileView) {
        if self.profiles.request.as_ref() != Some(&view.request) {
            return self.ignore();
        }
        self.profiles.view = Some(view);
        self.place_hot_lines();
    }

    /// Has the present bytes profiled.
    pub(super) fn start_profile(&mut self) {
        self.profiles.running = Some(self.now);
        self.profiles.failed = None;
        let stop = self.way(Action::Stop);
        self.inform(format!(
            "a profile of the bytes on disk is being made; {stop} ends it"
        ));
        self.emit(Effect::StartProfile);
    }

    /// A profile was made for a run, or could not be made.
    pub(super) fn on_profiled(&mut self, result: Result<RunId, String>) {
        self.profiles.running = None;
        match result {
            Ok(run) => {
                self.profiles.made += 1;
                let device = self.way(Action::Device);
                self.inform(format!("run {run} has a profile: {device} shows it"));
            }
            Err(why) => {
                let why = why.trim_start_matches("nothing was profiled: ");
                self.fail(format!("no profile: {why}"));
                self.profiles.failed = Some(why.to_owned());
            }
        }
    }
}
