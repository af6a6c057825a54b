//! What `update` asks the workers for: one enum for each worker. The threads that answer are the
//! `lab` binary's; no worker is known here. [`crate::reply`] holds the answers.

use crate::chart::SymbolSet;
use crate::diff::ContextLines;
use crate::keymap::Action;
use crate::layout::{Layout, UserChoice};
use crate::profile::ProfileRequest;
use crate::settings::Settings;
use crate::source::{SourceRequest, SourceVersion};
use crate::theme::Theme;
use jiff::Timestamp;
use lab_auto::Request;
use lab_board::Source;
use lab_project::trust::TrustRequest;
use lab_protocol::Language;
use lab_protocol::report::all_cells::Seek;
use lab_run::RunId;
use lab_run::experiment::ExperimentKey;
use lab_run::message::{Message, Trailer};
use lab_sweep::SweepStart;
use std::sync::Arc;

/// A request to the repository worker, which answers with a [`crate::reply::RepositoryReply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryRequest {
    /// Read status, history and git log.
    Look,
    /// Read the log of a run that this screen did not follow.
    Log(RunId),
    /// Make this change.
    Change(Change),
    /// Ask what undoing the last decision would do.
    Undoable,
    /// Trust what the user was shown.
    Trust(Box<TrustRequest>),
    /// Ask the running loop of `lab auto` for this.
    Loop(Request),
    /// Make evidence of this record, or of the newest bench, and list it in the decision of this id.
    Cite(Option<Source>, String),
    /// Write this into a file.
    Export(Export),
    /// lab.toml changed: open the project again.
    Reopen,
}

/// What to write into a file in `.lab/exports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// The chart of the experiments, as `lab plot` draws it.
    Chart,
    /// A text: what it is, and the ending of the file's name.
    Text {
        what: &'static str,
        ending: &'static str,
        text: String,
    },
}

impl Export {
    /// A text, with what it is and the ending of the file's name.
    pub fn text(what: &'static str, ending: &'static str, text: String) -> Export {
        Export::Text { what, ending, text }
    }
}

/// A change of the repository or of the kernel on disk. Only one is made at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Keep {
        run: RunId,
        message: Message,
        /// The automatic rule asks for it, and no person does.
        by_rule: bool,
    },
    Discard {
        run: RunId,
        message: Message,
        /// The user agreed to discard newer bytes too.
        confirmed: bool,
    },
    /// Take the decision about this run back, if it is the last one.
    Undo(RunId),
    /// Give the experiment of a commit another description, or trailers.
    Describe {
        commit: String,
        description: Option<String>,
        trailers: Vec<Trailer>,
    },
    /// Put the kernel of this commit on disk.
    Restore(String),
    /// Write this point of the newest sweep into the kernel on disk.
    ApplyPoint(u32),
}

impl Change {
    /// The action that asks for the change.
    pub fn action(&self) -> Action {
        match self {
            Change::Keep { .. } => Action::Keep,
            Change::Discard { .. } => Action::Discard,
            Change::Undo(_) => Action::Undo,
            Change::Describe { .. } => Action::Describe,
            Change::Restore(_) => Action::Restore,
            Change::ApplyPoint(_) => Action::ApplyPoint,
        }
    }
}

/// A request to the view loader, which answers with a [`crate::reply::ViewReply`]. Of several
/// waiting requests of one kind only the latest is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewRequest {
    /// The details of an experiment.
    Details(ExperimentKey, ContextLines),
    /// Two experiments side by side, the older first.
    Compare([ExperimentKey; 2], ContextLines),
    /// The kernel, and what it is compared with.
    Source(SourceRequest),
    /// List the kernels of the repository.
    Kernels,
    /// The newest commits of all branches.
    Graph,
    /// The commits that follow, of the same walk.
    MoreGraph,
    /// The commits of HEAD's history that changed the kernel's folder: of a new walk.
    OwnCommits,
    /// Those that follow, of the same walk.
    MoreOwnCommits,
    /// The loop of `lab auto`, with these lines around the changes of its edit.
    Loop(ContextLines),
    /// The profile of an experiment or of the present kernel.
    Profile(ProfileRequest),
    /// The lines that these commits changed, each in the kernel of this path if it is known.
    ChangedLines(Vec<(String, Option<String>)>),
    /// Cells of an output that a run got wrong.
    Cells(CellsAsked),
    /// The times of a workload in these runs.
    Workload(String, Vec<RunId>),
    /// The details of a commit, by its full id.
    Commit(String, ContextLines),
    /// The board of decisions.
    Board,
    /// The bench or sweep that was begun at this time.
    Record(Source, Timestamp),
    /// The newest sweep of the kernel, with what came after this one that is known, and was read so far.
    Sweep(Option<(Box<SweepStart>, u64)>),
}

/// Which cells to read: those around a cell, or around the next wrong one from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellsAsked {
    pub run: RunId,
    pub tensor: String,
    /// Rows and columns of the tensor.
    pub shape: [usize; 2],
    pub cell: [usize; 2],
    /// `None` reads around the cell itself.
    pub seek: Option<Seek>,
}

/// A request to the settings worker, which answers with [`crate::event::Event::Preferences`] or
/// [`crate::event::Event::Themes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsRequest {
    /// Read config.toml again: because it changed, or because the user `asked`.
    Reload { asked: bool },
    /// List all themes.
    ListThemes,
    /// Save the layout. There is no reply.
    SaveLayout(Box<Layout>),
    /// Save what the user chose. There is no reply.
    SaveChoice(UserChoice),
}

/// A request to the highlighter, which answers with a [`crate::reply::HighlightReply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighlightRequest {
    pub which: SourceVersion,
    pub language: Language,
    pub text: Arc<str>,
}

/// The user's settings as they apply to this terminal.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub settings: Settings,
    pub theme: Theme,
    pub symbols: SymbolSet,
    /// The screen hears the mouse, unless the user turns it off there.
    pub mouse: bool,
}

/// What the terminal reports besides keys; nothing unless the user asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    pub mouse: bool,
    /// Whether the terminal has the focus.
    pub focus: bool,
}

/// A line of a file and a column of it, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub line: u32,
    pub column: Option<u32>,
}
