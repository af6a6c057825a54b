//! Exit codes.

/// The exit codes of `lab run` and `lab harness`.
///
/// ```
/// use lab_protocol::Exit;
///
/// assert_eq!(Exit::NotBuilt as u8, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The kernel is correct, and it was measured.
    Passed = 0,
    /// The kernel ran and failed a gate.
    Wrong = 1,
    /// The kernel does not build.
    NotBuilt = 2,
    /// The kernel crashed or hung, or nothing was measured.
    Crashed = 3,
    /// `lab run --decide` kept the run.
    Kept = 10,
    /// `lab run --decide` discarded the run.
    Discarded = 11,
    /// `lab run --decide` left the run to the user.
    Left = 12,
    /// Wrong arguments, or nothing was judged: see [`Exit::NOT_JUDGED`].
    Usage = 64,
}

impl Exit {
    /// The run ended without a verdict and the kernel is not to blame: a mistake in problem.toml or
    /// the reference, no driver, no compiler, a full disk.
    pub const NOT_JUDGED: Exit = Exit::Usage;
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> u8 {
        exit as u8
    }
}
