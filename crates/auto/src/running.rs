//! A loop in progress: what its steps work with.

use super::answer::Answer;
use super::files::{Files, Locks};
use super::judged_by::JudgedBy;
use super::options::Auto;
use super::state::{LastTurn, State};
use lab_git::AgentTree;
use lab_protocol::Target;
use lab_runner::ready::Ready;
use lab_store::RunIndex;
use std::time::Instant;

pub struct Running<'a, 'f> {
    pub auto: Auto<'a>,
    pub files: &'f Files,
    pub locks: Option<Locks>,
    /// The harness, which must be as it was when the loop began.
    pub judged_by: JudgedBy,
    pub state: State,
    pub began: Instant,
    /// Seconds of this budget in earlier processes.
    pub earlier: f64,
    /// The commit of HEAD when it was last looked where the loop stands.
    pub head: Option<String>,
    /// The judge of the next kernel.
    pub ready: Ready,
    pub index: RunIndex,
    /// The work tree of the command's last turn.
    pub tree: Option<AgentTree>,
}

impl Running<'_, '_> {
    /// The device as it was asked for.
    pub fn target(&self) -> Target {
        let of_config = self.auto.project.config.device;
        self.auto.spec.device.unwrap_or(of_config)
    }
}

/// What an edit left.
pub enum Edited {
    Kernel {
        bytes: Vec<u8>,
        answer: Answer,
        told: LastTurn,
    },
    /// No kernel is to be judged.
    Without {
        told: LastTurn,
        /// What the turn cost all the same.
        cost: f64,
        /// The shell says that the command cannot be started.
        cannot_start: bool,
    },
    /// The loop is to end. What the command had done by then is kept in git, and told.
    Stopped(LastTurn),
}

/// What came of a candidate.
pub enum Came {
    Ended(LastTurn),
    /// The rule decided, and the decision failed or was refused: the same may succeed the next
    /// time.
    Undecided(LastTurn),
    /// The loop was ended before the candidate was decided.
    Stopped,
    /// The kernel could not be judged, and it is not to blame.
    Trouble(String),
    /// Other bytes are in the kernel's file: a person edits.
    Person,
}
