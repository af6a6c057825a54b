//! Everything that can happen to the screen: one enum, one channel, one place that acts on it
//! ([`crate::update()`]).

use crate::geometry::FrameGeometry;
use crate::reply::{DeviceReading, HighlightReply, RepositoryReply, ViewReply};
use crate::request::Preferences;
use crate::theme::Theme;
use lab_run::RunId;
use lab_runner::RunEvent;
use lab_watch::WatchEvent;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};

#[derive(Debug)]
pub enum Event {
    Input(UserInput),
    Terminal(TerminalEvent),
    /// The timer that [`crate::model::Model::wakes_at`] asked for.
    Tick,
    /// A frame was drawn, with everything in these places.
    Drawn(Box<FrameGeometry>),
    Watch(WatchEvent),
    Run(RunEvent),
    /// A profile was made for this run, or why it was not.
    Profiled(Result<RunId, String>),
    Repository(RepositoryReply),
    View(ViewReply),
    /// config.toml was read, because it changed or because the user `asked`.
    Preferences {
        read: Box<Result<Preferences, String>>,
        asked: bool,
    },
    /// All themes by name.
    Themes(Vec<(String, Theme)>),
    Telemetry(Box<DeviceReading>),
    Highlighted(HighlightReply),
    /// A thread panicked. The screen continues and shows a message.
    WorkerDied {
        name: String,
        message: String,
    },
}

/// What the user did.
#[derive(Debug)]
pub enum UserInput {
    Key(KeyEvent),
    /// Pasted text. It never acts as keys.
    Paste(String),
    Mouse(MouseEvent),
}

/// What happened to the terminal or the process.
#[derive(Debug)]
pub enum TerminalEvent {
    Resize,
    /// The terminal got the focus, or lost it.
    Focus(bool),
    /// The editor ended; the error says what went wrong.
    EditorClosed(Result<(), String>),
    /// SIGTSTP: the shell wants its terminal.
    Suspend,
    /// SIGCONT: the process continues after a stop.
    Continued,
    /// SIGTERM or SIGINT, by its number.
    Terminate(i32),
    /// The terminal is gone.
    Hangup,
}

impl From<KeyEvent> for Event {
    fn from(key: KeyEvent) -> Self {
        Event::Input(UserInput::Key(key))
    }
}
