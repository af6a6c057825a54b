//! The panes of the view Loop: what the loop of `lab auto` and its lanes do, the edit of its
//! command, the newest verdicts, and the command's output.

pub mod command;
pub mod edit;
pub mod lanes;
pub mod status;
pub mod verdicts;

use crate::diff::ContextLines;
use crate::state::{LoopState, Now, ScreenSettings};
use crate::theme::Theme;
use crate::views::Pane;
use crate::widgets::{PaneSlot, ScrolledText};
use lab_core::objective::Objective;
use lab_core::text::figures::thousands;
use ratatui::Frame;
use ratatui::text::Line;

/// The state of the four panes.
#[derive(Debug, Default)]
pub struct LoopPanes {
    pub status: ScrolledText,
    pub edit: edit::EditState,
    pub verdicts: ScrolledText,
    pub command: command::CommandState,
}

/// What the panes show.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    pub loops: &'a LoopState,
    pub now: Now,
    /// Path of the kernel's file, relative to the repository.
    pub kernel: &'a str,
    pub objective: &'a Objective,
}

/// How the content of one of the panes fits into its area.
#[derive(Clone, Copy, Debug)]
pub enum LoopFit {
    Status(ScrolledText),
    Edit(ScrolledText),
    Verdicts(ScrolledText),
    Command(command::CommandState),
}

impl LoopPanes {
    /// Stores how a pane was drawn.
    pub fn take_fit(&mut self, fit: LoopFit) {
        match fit {
            LoopFit::Status(text) => self.status = text,
            LoopFit::Edit(text) => self.edit.text = text,
            LoopFit::Verdicts(text) => self.verdicts = text,
            LoopFit::Command(state) => self.command = state,
        }
    }

    pub fn scroll(&mut self, pane: Pane, by: isize) {
        match pane {
            Pane::Edit => self.edit.text.scroll(by),
            Pane::Verdicts => self.verdicts.scroll(by),
            Pane::Command => self.command.scroll(by),
            _ => self.status.scroll(by),
        }
    }

    pub fn go_to(&mut self, pane: Pane, row: usize) {
        match pane {
            Pane::Edit => self.edit.text.go_to(row),
            Pane::Verdicts => self.verdicts.go_to(row),
            Pane::Command => self.command.go_to(row),
            _ => self.status.go_to(row),
        }
    }

    pub fn unmark(&mut self, pane: Pane) {
        match pane {
            Pane::Edit => self.edit.text.unmark(),
            Pane::Verdicts => self.verdicts.unmark(),
            Pane::Command => self.command.unmark(),
            _ => self.status.unmark(),
        }
    }

    /// The marked row of a pane, else the first visible one.
    pub fn at(&self, pane: Pane) -> usize {
        match pane {
            Pane::Edit => self.edit.text.at(),
            Pane::Verdicts => self.verdicts.at(),
            Pane::Command => self.command.text().at(),
            _ => self.status.at(),
        }
    }

    /// The rows of a pane other than Edit as text, laid out as at the last frame.
    pub fn rows(&self, pane: Pane, data: Data, appearance: &ScreenSettings) -> Vec<Line<'static>> {
        let theme = &appearance.theme;
        match pane {
            Pane::Verdicts => verdicts::rows(data, self.verdicts.columns(), theme),
            Pane::Command => command::rows(data, self.command.text().columns(), theme),
            _ => status::rows(data, self.status.columns(), appearance),
        }
    }
}

/// Experiments an hour.
fn rate(hourly: f64) -> String {
    if hourly < 9.95 {
        format!("{hourly:.1}")
    } else {
        thousands(hourly)
    }
}

/// A duration in its two largest units: `34 s`, `2 min 05 s`, `2 h 10 min`.
fn time(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ if (seconds / 60).is_multiple_of(60) => format!("{} h", seconds / 3600),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Draws one of the panes.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Data,
    panes: &LoopPanes,
    around: ContextLines,
    appearance: &ScreenSettings,
) -> LoopFit {
    let theme: &Theme = &appearance.theme;
    match slot.pane {
        Pane::Edit => LoopFit::Edit(edit::draw(frame, slot, data, &panes.edit, around, theme)),
        Pane::Verdicts => {
            LoopFit::Verdicts(verdicts::draw(frame, slot, data, panes.verdicts, theme))
        }
        Pane::Command => LoopFit::Command(command::draw(frame, slot, data, panes.command, theme)),
        _ => LoopFit::Status(status::draw(frame, slot, data, panes.status, appearance)),
    }
}
