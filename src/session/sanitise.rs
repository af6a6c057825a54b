//! Untrusted bytes of a log made fit for a screen, once, where they enter.

/// One line of run.log, clean: no control characters, no bidirectional marks, no tabs, and no
/// longer than [`LENGTH_LIMIT`] characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub text: String,
    /// It was a result line of the protocol.
    pub result: bool,
}

/// Longest line shown, in characters; the rest is left out and `…` says so.
pub const LENGTH_LIMIT: usize = 2_000;
