//! What `update` wants done. `update` does none of it: the main loop carries effects out, and the
//! results come back as events.

use crate::request::{HighlightRequest, RepositoryRequest, SettingsRequest, Spot, ViewRequest};
use crate::settings::Notify;
use lab_run::inputs::Inputs;
use lab_run::{Reason, RunId};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start a run of these inputs, or of the files on disk where they were not read yet. A run in
    /// progress is ended.
    StartRun(Reason, Option<Arc<Inputs>>),
    /// Follow this run, which another process judges.
    FollowRun(RunId),
    /// End the run in progress, or follow it no more.
    KillRun,
    /// Profile the present bytes. [`crate::event::Event::Profiled`] tells how it ended.
    StartProfile,
    /// End the profile in progress.
    StopProfile,
    /// End the held-out check before a keep; nothing is kept.
    StopKeep,
    /// Read the repository and the kernel again.
    Refresh,
    Repository(RepositoryRequest),
    View(ViewRequest),
    Settings(SettingsRequest),
    /// Read the state of the GPU with this UUID once a second, or of none. The telemetry monitor
    /// answers with a [`crate::reply::DeviceReading`].
    Telemetry(Option<String>),
    Highlight(HighlightRequest),
    /// Open the kernel in the user's editor, at this place if one is known.
    OpenEditor(Option<Spot>),
    /// Close this screen and open one on the kernel with this path, relative to the repository's
    /// root. If that cannot be opened, this screen stays.
    OpenKernel(String),
    /// Put this text on the clipboard of the user's terminal.
    Copy(String),
    /// Notify the user, whose terminal does not have the focus.
    Notify(Notify, String),
    /// Give the terminal to the shell until SIGCONT.
    Suspend,
    /// Draw every cell again.
    Repaint,
    Quit,
}

/// How soon the next frame is wanted; the later variant is the more urgent one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redraw {
    /// Nothing visible changed.
    #[default]
    No,
    /// With the next frame that is due.
    NextFrame,
    /// At once: the user waits for it.
    AtOnce,
}

/// The result of one update.
#[derive(Debug, Default)]
#[must_use]
pub struct Update {
    pub effects: Vec<Effect>,
    pub redraw: Redraw,
}
