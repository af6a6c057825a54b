//! How judging ends: a verdict on correctness, or the reason why there is none.

/// Why judging ended early. Each becomes a verdict and an exit code.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The problem folder itself is wrong: named file, place, remedy. Exit 64.
    #[error("{0}")]
    Problem(String),
    /// The candidate does not build, or lacks its entry. Exit 2.
    #[error("{0}")]
    Build(String),
    /// The kernel crashed, hung, or its launch failed. Exit 3.
    #[error("{0}")]
    Crash(String),
    /// The lab's own side failed (disk, device, process). Exit 3.
    #[error("{0}")]
    Lab(String),
}

/// Result lines are the only thing that problems write.
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Lab(format!("writing the result lines: {error}"))
    }
}

/// A verdict on correctness. The gates themselves were written as result lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correctness {
    Pass,
    Fail,
}
