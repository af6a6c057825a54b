//! What may be done now, and the reason where it may not. Hints and dialogs ask here, so that they
//! say the same.

use super::super::keymap::Action;
use super::super::panes::Mode;
use super::super::views::View;
use super::{App, Running};
use lab_core::decide::policy::{Allowed, Candidate, NotAllowed, RunInProgress, Snapshot, allowed};

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
        self.allowed().keep.map(drop).map_err(in_brief)
    }

    fn can_discard(&self) -> Result<(), String> {
        self.is_calm()?;
        self.last.as_ref().ok_or("needs a verdict")?;
        self.allowed().discard.map(drop).map_err(in_brief)
    }

    pub(super) fn is_calm(&self) -> Result<(), String> {
        self.snapshot().idle().map_err(in_brief)
    }

    /// What the rules allow now.
    pub(super) fn allowed(&self) -> Allowed {
        allowed(&self.snapshot())
    }

    /// What the rules look at: the last look at disk and git, and what the screen knows better.
    fn snapshot(&self) -> Snapshot {
        let empty = || Snapshot {
            kernel: self.setup.kernel.clone(),
            argument: String::new(),
            external: self.setup.external.is_some(),
            incumbent: None,
            present: Err(format!("{} was not read yet", self.setup.kernel)),
            obstacle: None,
            candidate: None,
            running: None,
            deciding: false,
            last_decision: None,
        };
        let mut snapshot = self.status.as_ref().map_or_else(empty, |status| status.snapshot.clone());
        if let Some(present) = &self.present {
            snapshot.set_present(present.clone());
        }
        snapshot.candidate = self
            .last
            .as_ref()
            .map(|last| Candidate { decided: last.decided, ..Candidate::from(&*last.record) });
        snapshot.running = match &self.running {
            Running::No => None,
            Running::Asked(..) => Some(RunInProgress::Starting),
            Running::Live(live) => Some(RunInProgress::Started(live.start.id)),
        };
        snapshot.deciding = self.deciding.is_some();
        snapshot
    }
}

fn in_brief(why: NotAllowed) -> String {
    why.hint().to_string()
}
