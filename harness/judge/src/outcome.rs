//! How a run ends: with a verdict on correctness, or with the reason why there is none.

use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// What a step of a run returns: a value or nothing, or the reason why the run ends.
pub type Result<T = (), E = Stop> = std::result::Result<T, E>;

/// Why a run ended before its results were found to be right. The text is written as `stopped:`.
/// A worker sends one to its judge.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Stop {
    /// A gate fails; the result lines say which. It is a verdict, and no `stopped:`. Exit code 1.
    #[serde(skip)]
    #[error("its own results are wrong")]
    Wrong,
    /// The problem folder is wrong. The text names the file, the place and what to do. Exit code
    /// 64.
    #[error("{0}")]
    Problem(String),
    /// The candidate does not build, or lacks a kernel or a launch statement. Exit code 2.
    #[error("{0}")]
    Build(String),
    /// The kernel crashed or hung, or its launch failed. Exit code 3.
    #[error("{0}")]
    Crash(String),
    /// The lab itself failed: the disk, the device, a process. Exit code 64.
    #[error("{0}")]
    Lab(String),
}

impl Stop {
    /// The first line of the text, for a caveat.
    pub fn first_line(&self) -> String {
        let text = self.to_string();
        let first = text.lines().next().unwrap_or_default();
        first.trim_end_matches(':').to_owned()
    }

    /// The same with another text.
    #[must_use]
    pub fn map_text(self, change: impl FnOnce(&str) -> String) -> Stop {
        match self {
            Stop::Wrong => Stop::Wrong,
            Stop::Problem(text) => Stop::Problem(change(&text)),
            Stop::Build(text) => Stop::Build(change(&text)),
            Stop::Crash(text) => Stop::Crash(change(&text)),
            Stop::Lab(text) => Stop::Lab(change(&text)),
        }
    }
}

/// The only I/O errors that reach this conversion come from writing result lines.
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Lab(format!("the result lines cannot be written: {error}"))
    }
}

/// For an error that the lab meets: of the disk, of a process.
pub trait OrLab<T> {
    /// A [`Stop::Lab`] with what failed, and why.
    fn or_lab(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Display> OrLab<T> for Result<T, E> {
    fn or_lab(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Stop::Lab(format!("{}: {error}", what())))
    }
}

/// [`Stop::Wrong`] unless the results are right.
pub fn verdict_of(right: bool) -> Result {
    right.then_some(()).ok_or(Stop::Wrong)
}

/// What was done, or `None` if a result was wrong: for what goes on after a wrong result.
pub fn unless_wrong<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Stop::Wrong) => Ok(None),
        Err(stop) => Err(stop),
    }
}
