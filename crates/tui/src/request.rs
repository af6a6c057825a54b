//! What the update asks the workers for, and the values that come back for it. No worker is known here: the threads
//! behind these requests are the `lab` binary's.

use crate::chart::Glyphs;
use crate::diff::Around;
use crate::settings::Settings;
use crate::source::Asked;
use crate::theme::Theme;
use lab_core::message::Message;
use lab_core::run::RunId;
use lab_core::run::experiment::Key;
use lab_protocol::telemetry::Reading;

/// A request to the repository worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Where things stand; answered by [`Event::Facts`].
    Look,
    /// The log of a run that this screen did not see; answered by [`Event::LastLog`].
    Log(RunId),
    /// Answered by [`Event::Decided`], as a discard is.
    Keep {
        run: RunId,
        message: Message,
    },
    Discard {
        run: RunId,
        message: Message,
        confirmed: bool,
    },
    /// What undoing the last decision would do; answered by [`Event::Undoable`].
    Undoable,
    /// The decision about this run is taken back, as long as it is the last; answered by [`Event::Undone`].
    Undo(RunId),
    /// Another description for the experiment of a commit; answered by [`Event::Described`].
    Describe {
        commit: String,
        description: String,
    },
    /// The kernel of this commit is put on disk; answered by [`Event::Restored`].
    Restore(String),
    /// The harness command of lab.toml is trusted as it now is; answered by [`Event::Trusted`].
    Trust,
    /// lab.toml changed: the project is opened anew; answered by [`Event::Project`].
    Reopen,
}

/// What a view wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewRequest {
    /// One experiment whole, and what is shown around its changes; answered by [`Event::Whole`].
    Whole(Key, Around),
    /// Two beside each other, the older first; answered by [`Event::Compared`].
    Compare([Key; 2], Around),
    /// kernel.cu and what it is compared with; answered by [`Event::Source`].
    Source(Asked),
    /// The newest commits of all branches; answered by [`Event::Graph`].
    Graph,
    /// Those that follow, of the same walk.
    MoreGraph,
    /// One commit whole, by its full id; answered by [`Event::Commit`].
    Commit(String, Around),
}

/// What the settings come to in this terminal.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub settings: Settings,
    pub theme: Theme,
    pub glyphs: Glyphs,
}

/// What a GPU said of itself, or why it says nothing.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Of the GPU.
    pub uuid: String,
    pub reading: Result<Reading, String>,
    /// Degrees Celsius from which on it slows itself down.
    pub slowdown_c: Option<u32>,
}

/// What the terminal reports besides keys; nothing unless the user asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    pub mouse: bool,
    /// Whether it has the focus.
    pub focus: bool,
}

/// A line of a file and a column of it, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub line: u32,
    pub column: Option<u32>,
}
