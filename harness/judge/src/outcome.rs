//! How a run ends: with a verdict on correctness, or with the reason why there is none.

use serde::{Deserialize, Serialize};

/// What a step of a run returns: a value or nothing, or the reason why the run ends.
pub type Result<T = (), E = Stop> = std::result::Result<T, E>;

/// Why a run ended without a verdict on correctness. The text is written as `stopped:`.
/// A worker sends one to its judge.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Stop {
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
    /// The same with another text.
    #[must_use]
    pub fn map_text(self, change: impl FnOnce(&str) -> String) -> Stop {
        match self {
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

/// The verdict on correctness. The gates that led to it were written as result lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correctness {
    /// Every gate passes.
    Pass,
    /// A gate fails.
    Fail,
}
