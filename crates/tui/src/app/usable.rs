//! What may be done now, and the reason where it may not. Hints and dialogs ask here, so that they
//! say the same.

use super::super::keymap::Action;
use super::super::panes::Mode;
use super::super::views::View;
use super::{App, Judged, Running};
use lab_core::run::experiment::Status;
use lab_core::run::verdict::Outcome;
use lab_core::status::Status as SessionStatus;

impl App {
    /// `Err` is the reason why not, short enough for a hint.
    pub fn usable(&self, action: Action) -> Result<(), String> {
        let unreadable = || format!("{} cannot be read", self.setup.file());
        match action {
            Action::Keep => self.can_keep(),
            Action::Discard => self.can_discard(),
            Action::Rerun => match &self.present {
                Some(Err(_)) => Err(unreadable()),
                _ if self.deciding.is_some() => Err("one moment".to_owned()),
                _ => Ok(()),
            },
            Action::Check => match (&self.present, &self.setup.external) {
                (Some(Err(_)), _) => Err(unreadable()),
                (_, Some(_)) => Err("needs the built-in harness".to_owned()),
                _ => self.is_calm(),
            },
            Action::Undo => self.is_calm(),
            Action::Describe => self.can_describe().map(drop),
            Action::Mark => self.shown().map(drop).ok_or_else(|| "no experiment yet".to_owned()),
            Action::Compare => self.pair().map(drop),
            Action::Restore => self.can_restore().map(drop),
            Action::Stop if matches!(self.running, Running::No) && self.checking.is_none() => {
                Err("nothing runs".to_owned())
            }
            Action::Context => match (self.panes.view, self.panes.source.mode) {
                (View::Bench | View::Device, _) => Err("no diff in this view".to_owned()),
                (View::Source, Mode::File) => Err(format!(
                    "the file is whole: {} shows what changed",
                    self.keymap.way(Action::TurnSource)
                )),
                (View::Source | View::Results | View::Git, _) => Ok(()),
            },
            Action::NextMatch | Action::PreviousMatch => self.can_step_search(),
            Action::Search => self.can_search(),
            Action::Copy => self.to_copy().map(drop),
            Action::BorderLeft | Action::BorderRight | Action::BorderUp | Action::BorderDown => {
                self.can_move_border(action)
            }
            Action::ResetBorders if self.panes.shares.is_empty() => Err("none was moved".to_owned()),
            // Nothing hinders these, or they say for themselves what they did not find.
            Action::Auto
            | Action::Stop
            | Action::Edit
            | Action::Bench
            | Action::Source
            | Action::Results
            | Action::Git
            | Action::Device
            | Action::Pause
            | Action::FocusNext
            | Action::FocusPrevious
            | Action::Zoom
            | Action::Open
            | Action::Up
            | Action::Down
            | Action::HalfUp
            | Action::HalfDown
            | Action::Top
            | Action::Bottom
            | Action::Close
            | Action::Palette
            | Action::Themes
            | Action::ResetBorders
            | Action::Mouse
            | Action::ReloadConfig
            | Action::Help
            | Action::Suspend
            | Action::Redraw
            | Action::Quit
            | Action::ScrollLeft
            | Action::ScrollRight
            | Action::Freeze
            | Action::Histograms
            | Action::Fewer
            | Action::More
            | Action::All
            | Action::LogScale
            | Action::TurnSource
            | Action::SwitchBase
            | Action::NextMark
            | Action::PreviousMark
            | Action::NextEdit
            | Action::PreviousEdit
            | Action::SortNext
            | Action::SortReverse
            | Action::Filter
            | Action::NextSection
            | Action::PreviousSection
            | Action::NextChange
            | Action::PreviousChange
            | Action::Accept
            | Action::Abandon
            | Action::PreviousChoice
            | Action::NextChoice
            | Action::NextField
            | Action::PreviousField
            | Action::Fold
            | Action::Yes
            | Action::No => Ok(()),
        }
    }

    fn can_keep(&self) -> Result<(), String> {
        let last = self.decidable()?;
        if last.verdict.outcome != Outcome::Pass {
            return Err("needs a passing verdict".to_owned());
        }
        if self.is_stale() {
            return Err(format!("{} is newer than the verdict", self.setup.file()));
        }
        self.known_status(last).map_or(Ok(()), |status| status.keep.clone())
    }

    fn can_discard(&self) -> Result<(), String> {
        self.is_calm()?;
        let last = self.last.as_ref().ok_or("needs a verdict")?;
        match self.known_status(last) {
            Some(status) => status.discard.clone(),
            None => self.decidable().map(drop),
        }
    }

    /// What the session says of this very run, where it was asked since. One that came to nothing it passes over: then what
    /// it said before holds.
    pub(super) fn known_status(&self, last: &Judged) -> Option<&SessionStatus> {
        let is_void = last.verdict.outcome == Outcome::Void;
        self.status
            .as_ref()
            .filter(|s| is_void || s.last.as_ref().is_some_and(|r| r.start.id == last.start.id))
    }

    pub(super) fn is_calm(&self) -> Result<(), String> {
        if self.deciding.is_some() {
            return Err("one moment".to_owned());
        }
        match &self.running {
            Running::Live(live) => Err(format!("run {} goes on", live.start.id)),
            Running::Asked(..) => Err("a run begins".to_owned()),
            Running::No => Ok(()),
        }
    }

    /// The verdict that a decision would be about.
    fn decidable(&self) -> Result<&Judged, String> {
        self.is_calm()?;
        let last = self.last.as_ref().ok_or("needs a verdict")?;
        match last.decided {
            None => Ok(last),
            Some(Status::Keep) => Err("kept already".to_owned()),
            Some(Status::Discard | Status::Crash) => Err("discarded already".to_owned()),
        }
    }
}
