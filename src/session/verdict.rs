//! What a run comes to, from its report and its ending alone.

use harness::report::Measure;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Pass,
    Fail,
    Crash,
    /// No verdict belongs to these bytes: they changed during an external run, or the run was
    /// ended by a newer save.
    Void,
}

impl Outcome {
    /// The word on the screen. Sign and word go together, so that nothing hangs on colour alone.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Fail => "FAIL",
            Outcome::Crash => "CRASH",
            Outcome::Void => "VOID",
        }
    }

    pub fn sign(self) -> &'static str {
        match self {
            Outcome::Pass => "●",
            Outcome::Fail => "✗",
            Outcome::Crash => "☠",
            Outcome::Void => "∅",
        }
    }
}

/// The objective beside the incumbent's, measured on the same device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Candidate over incumbent, minus one: 0.031 is +3.1 %.
    pub ratio: f64,
    /// Half width of the ratio's interval, where both were measured with one.
    pub spread: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// One sentence: which gate failed, what the crash was, why it is void. Empty on a pass.
    pub why: String,
    /// The build did not succeed (a crash with diagnostics).
    pub build_failed: bool,
    /// Objective and its interval; only of a passing run.
    pub objective: Option<Measure>,
    pub kernel_us: Option<f64>,
    /// Against the incumbent; `None` on an emulated device or where it was never measured.
    pub change: Option<Change>,
    /// The times are of an emulated device and say nothing about a GPU.
    pub emulated: bool,
    pub caveats: Vec<String>,
}
