//! The decision that is being carried out, what is remembered around it, and the drafts of
//! messages.

use super::Now;
use crate::draft::Draft;
use crate::keymap::Action;
use lab_protocol::report::Report;
use lab_run::RunId;
use ratatui::crossterm::event::KeyEvent;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes that the lab put on disk itself: the next look at the repository tells whether they were
/// ever judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedBytes {
    /// A discard put the incumbent back.
    Incumbent,
    /// A restore put these bytes on disk: their git blob id.
    Blob(String),
}

/// The check on held-out inputs that precedes a keep.
#[derive(Clone, Debug)]
pub struct HeldOutCheck {
    pub began: Now,
    /// Sealed runs that the kernel has to pass.
    pub sealed_runs: u32,
    pub report: Arc<Report>,
}

/// A keep or a discard that was asked for while a run was about to start, and the keys behind it.
#[derive(Debug)]
pub struct HeldKeys {
    pub action: Action,
    pub since: Now,
    pub keys: Vec<KeyEvent>,
}

#[derive(Debug, Default)]
pub struct DecisionState {
    /// The action whose change is being made.
    pub in_progress: Option<Action>,
    /// The decision in progress was made by rule: its refusal opens no dialog.
    pub by_rule: bool,
    /// Runs are decided by rule.
    pub auto: bool,
    /// The run that has just ended and is to be decided by rule, after the next look at the
    /// repository.
    pub awaiting_rule: Option<RunId>,
    pub held_out: Option<HeldOutCheck>,
    pub expected_bytes: Option<ExpectedBytes>,
    /// A save came while a decision was carried out. It is judged afterwards.
    pub saved_meanwhile: bool,
    /// The run in progress is kept or discarded once it has ended, with the draft for that.
    pub follows: Option<(Action, RunId)>,
    /// What waits until the run that is about to start has its number.
    pub held: Option<HeldKeys>,
    /// Messages that were typed for a keep or a discard and not used yet.
    pub drafts: HashMap<Action, Draft>,
}
