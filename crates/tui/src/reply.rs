//! What the workers answer: one enum for each worker. [`crate::request`] holds the requests.

use crate::highlight::Highlighted;
use crate::profile::ProfileView;
use crate::request::CellsAsked;
use crate::source::{SourceVersion, SourceView};
use jiff::Timestamp;
use lab_auto::{LoopView, Request};
use lab_board::{Board, Source};
use lab_decide::status::ProjectStatus;
use lab_decide::{Decided, Described, Refusal, Restored, Undoable, Undone};
use lab_git::{CommitDetails, GraphEntry, LogEntry};
use lab_history::History;
use lab_history::details::{Compared, ExperimentDetails};
use lab_history::kernels::ListedKernel;
use lab_project::Project;
use lab_protocol::report::all_cells::CellsRead;
use lab_protocol::report::{Report, StageTimes};
use lab_protocol::telemetry::Reading;
use lab_run::RunId;
use lab_runner::follow::Batch;
use lab_sweep::SweepView;
use lab_text::sanitise::LogLine;
use std::collections::HashMap;
use std::sync::Arc;

/// A reply of the repository worker.
#[derive(Debug)]
pub enum RepositoryReply {
    Overview(Box<Overview>),
    Log(Box<RunLog>),
    /// New lines of the held-out check before a keep.
    HeldOut(RunId, Batch),
    /// The change was made, or why it was not.
    Changed(Result<Changed, Refusal>),
    /// What undoing the last decision would do, or why it cannot be undone.
    Undoable(Result<Undoable, String>),
    Trusted(Result<(), String>),
    /// The loop was asked for something.
    LoopAsked(Request, Result<(), String>),
    /// Evidence was written, in words, or why it was not.
    Cited(Result<String, String>),
    /// The path of the file that was written, or why none was.
    Exported(Result<String, String>),
    /// lab.toml was read again.
    Project(Result<Arc<Project>, String>),
}

/// What a change did.
#[derive(Debug)]
pub enum Changed {
    /// A run was kept or discarded.
    Decided(Decided),
    Undone(Undone),
    Described(Described),
    Restored(RestoredKernel),
}

/// A reply of the view loader.
#[derive(Debug)]
pub enum ViewReply {
    Details(Box<ExperimentDetails>),
    Comparison(Box<Compared>),
    Source(Box<SourceView>),
    /// The repository's kernels, sorted by name.
    Kernels(Vec<ListedKernel>),
    Graph(Result<GraphPage, String>),
    OwnCommits(Result<OwnCommitsPage, String>),
    Loop(Box<Result<LoopView, String>>),
    Profile(Box<ProfileView>),
    /// The lines that commits changed, by commit, in small letters.
    ChangedLines(HashMap<String, String>),
    /// Cells of a wrong output; `None` where no further cell is wrong.
    Cells(CellsAsked, Result<Option<CellsRead>, String>),
    /// The times of the workload of this name, in µs.
    Workload(String, HashMap<RunId, f64>),
    /// The details of the commit with this full id.
    Commit(String, Box<Result<CommitDetails, String>>),
    /// The board, and whether the kernel has a bench.
    Board(Box<Result<Board, String>>, bool),
    /// A bench or a sweep that was begun then, as text; `None` if it is not in this clone.
    Record(Source, Timestamp, Option<Vec<String>>),
    Sweep(Option<Box<SweepView>>),
}

/// A reply of the telemetry monitor: the state of one GPU, or why it cannot be read.
#[derive(Clone, Debug)]
pub struct DeviceReading {
    pub uuid: String,
    pub reading: Result<Reading, String>,
    /// Temperature in °C at which the GPU slows itself down.
    pub slowdown_c: Option<u32>,
    /// The other GPUs of the machine, by index and name.
    pub others: Vec<(String, Reading)>,
}

/// A reply of the highlighter: the colours of a text, with that very text.
#[derive(Debug)]
pub struct HighlightReply {
    pub which: SourceVersion,
    pub text: Arc<str>,
    pub colours: Highlighted,
}

/// What one look at disk and git found. Each part stands for itself: a damaged ledger does not hide
/// the commits.
#[derive(Debug)]
pub struct Overview {
    /// The time of day.
    pub at: Timestamp,
    pub status: Result<ProjectStatus, String>,
    pub history: Result<History, String>,
    pub log: Result<Vec<LogEntry>, String>,
    /// How long the stages of this kernel's runs took; only of the first look. The screen learns of
    /// later runs as they end.
    pub stage_times: Option<StageTimes>,
}

/// Commits of all branches, newest first.
#[derive(Debug)]
pub struct GraphPage {
    /// The page begins a new walk: earlier pages no longer count.
    pub is_first: bool,
    /// There are no older commits.
    pub is_last: bool,
    pub entries: Vec<GraphEntry>,
}

/// Commits of HEAD's history that changed the kernel's folder, newest first.
#[derive(Debug)]
pub struct OwnCommitsPage {
    /// The page begins a new walk: earlier pages no longer count.
    pub is_first: bool,
    /// There are no further pages.
    pub is_last: bool,
    pub entries: Vec<LogEntry>,
}

/// A kernel that was put on disk.
#[derive(Debug)]
pub struct RestoredKernel {
    pub restored: Restored,
    /// The point of a sweep that it is, in words.
    pub point: Option<String>,
    /// Git blob id of the bytes now on disk.
    pub blob: String,
}

/// The log of a run, read from its folder.
#[derive(Debug)]
pub struct RunLog {
    pub run: RunId,
    pub lines: Vec<LogLine>,
    /// With the diagnostics, which no record holds.
    pub report: Arc<Report>,
}
