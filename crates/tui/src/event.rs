//! Everything the screen can hear of: one enum, one channel, one place that acts on it.

use super::highlight::Highlighted;
use super::source::{Source, Which};
use super::theme::Theme;
use crate::request::Heard;
use crate::request::Preferences;
use lab_core::decide::{Decided, Described, Refusal, Restored, Undoable, Undone};
use lab_core::history::History;
use lab_core::history::details::{Compared, ExperimentDetails};
use lab_core::project::Project;
use lab_core::repo::{CommitDetails, GraphEntry, LogEntry};
use lab_core::run::RunId;
use lab_core::runner::RunEvent;
use lab_core::runner::follow::Batch;
use lab_core::status::ProjectStatus;
use lab_core::text::sanitise::LogLine;
use lab_core::watch::WatchEvent;
use lab_protocol::report::Report;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use std::sync::Arc;

#[derive(Debug)]
pub enum Event {
    Key(KeyEvent),
    /// Pasted text: never read as keys.
    Paste(String),
    Resize,
    Mouse(MouseEvent),
    /// The terminal has the focus, or lost it.
    Focus(bool),
    /// config.toml was read, because it changed or because the user asked.
    Preferences(Box<Result<Preferences, String>>, bool),
    /// The themes there are, by name.
    Themes(Vec<(String, Theme)>),
    /// The timer that [`super::app::App::wakes_at`] asked for.
    Tick,
    Watch(WatchEvent),
    Run(RunEvent),
    /// Where things stand, read from disk and git.
    Facts(Box<Facts>),
    /// The lines of the last run, read from its folder.
    LastLog(Box<LastLog>),
    /// Commits of all branches, or the next ones.
    Graph(Result<GraphPage, String>),
    /// One commit whole, by its full id.
    Commit(String, Box<Result<CommitDetails, String>>),
    /// The state of the GPU that is looked at.
    Device(Box<Heard>),
    /// One experiment, read whole.
    Whole(Box<ExperimentDetails>),
    /// Two experiments beside each other.
    Compared(Box<Compared>),
    /// kernel.cu and what it is compared with.
    Source(Box<Source>),
    /// The colours of a source's text; with the very text.
    Coloured(Which, Arc<[u8]>, Highlighted),
    /// The check before a keep goes on.
    HeldOut(RunId, Batch),
    /// What came of a keep or a discard.
    Decided(Result<Decided, Refusal>),
    /// What undoing the last decision would do, or why it cannot be undone.
    Undoable(Result<Undoable, String>),
    Undone(Result<Undone, Refusal>),
    /// What came of giving an experiment another description.
    Described(Result<Described, Refusal>),
    /// What came of putting an experiment's kernel on disk.
    Restored(Result<PutBack, String>),
    /// lab.toml changed and was read anew.
    Project(Result<Arc<Project>, String>),
    /// What came of trusting the harness command.
    Trusted(Result<(), String>),
    /// The editor ended; the error says what was wrong with that.
    EditorClosed(Result<(), String>),
    /// SIGTSTP: the shell wants its terminal.
    Suspend,
    /// SIGCONT: back from wherever the process was stopped.
    Continued,
    /// SIGTERM or SIGINT, by its number.
    Terminate(i32),
    /// The terminal is gone.
    Hangup,
    /// A thread panicked. The screen goes on and says so.
    WorkerDied {
        name: String,
        message: String,
    },
}

/// What one look at disk and git found. Each part stands for itself: a damaged ledger must not hide
/// the commits.
#[derive(Debug)]
pub struct Facts {
    pub status: Result<ProjectStatus, String>,
    pub history: Result<History, String>,
    pub log: Result<Vec<LogEntry>, String>,
}

/// Commits of all branches, newest first.
#[derive(Debug)]
pub struct GraphPage {
    /// It begins anew: what was known of the graph is gone.
    pub is_first: bool,
    /// There are no older ones.
    pub is_last: bool,
    pub entries: Vec<GraphEntry>,
}

#[derive(Debug)]
pub struct PutBack {
    pub restored: Restored,
    /// Git blob id of what is on disk now, as git would hold it.
    pub blob: String,
}

#[derive(Debug)]
pub struct LastLog {
    pub run: RunId,
    pub lines: Vec<LogLine>,
    /// With the diagnostics, which no record holds.
    pub report: Arc<Report>,
}
