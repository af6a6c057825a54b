//! The exit codes of a run.

/// How `lab run` and `lab harness` exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Passed and measured.
    Passed = 0,
    /// Ran; correctness failed.
    Wrong = 1,
    /// Could not build.
    NotBuilt = 2,
    /// Crashed, hung or killed.
    Crashed = 3,
    /// Wrong usage.
    Usage = 64,
}
