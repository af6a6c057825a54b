//! What a loop is asked for, what it works with, and how it ended.

use super::state::{Budget, State};
use lab_project::Project;
use lab_run::RunId;
use lab_run::record::Record;
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_store::RunIndex;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Who edits the kernel.
#[derive(Clone, Debug)]
pub enum Editor {
    /// A program and its arguments.
    Command(Vec<String>),
    /// The patches of a folder, one a turn, by name.
    Patches(PathBuf),
}

/// The options of `lab auto`.
#[derive(Clone, Debug)]
pub struct Options {
    pub editor: Editor,
    pub budget: Budget,
    pub turn_limit: Duration,
    /// How many crashes in a row the command may mend.
    pub mend: u32,
    /// Failures in a row after which the loop ends.
    pub give_up: u32,
    /// The wait after the first failure. It doubles with each further one.
    pub back_off: Duration,
    /// Discards in a row that are a plateau.
    pub plateau: u32,
}

/// A loop, and what it works with.
pub struct Auto<'a> {
    pub project: &'a Project,
    pub options: &'a Options,
    pub spec: &'a RunSpec,
    pub control: &'a Control,
    /// The newest run whose log was looked at, to cut it. All lanes have the same, so that each log
    /// is looked at once.
    pub cut: &'a Mutex<RunId>,
    /// Returns a record as `lab run --json` prints it.
    pub report: &'a dyn Fn(&RunIndex, &Record) -> Value,
    /// Called after each turn, and at each wait.
    pub tell: &'a mut dyn FnMut(&State),
}

/// Why the steps of a loop do not go on.
#[derive(Debug)]
pub enum Stop {
    Ended(Ended),
    /// The loop cannot write its own files.
    Failed(anyhow::Error),
}

impl From<Ended> for Stop {
    fn from(ended: Ended) -> Self {
        Stop::Ended(ended)
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Stop::Failed(error)
    }
}

/// How a loop ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// A budget is spent, or a person asked for the end.
    Done(String),
    /// It failed too often in a row.
    GaveUp(String),
    /// A signal ended it. What was not decided is decided by the next loop.
    Stopped,
}
