//! Decisions: keep or discard a run, undo the last decision, describe an experiment anew, restore a
//! kernel.
//!
//! Every decision is worked out first, as a list of steps. The list is written down (`intent`)
//! before the first step is taken. If a lab is killed in between, the next one takes the steps
//! again, says so, and decides nothing else.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod rules;
pub mod status;

pub mod auto;
pub mod policy;

mod by_rule;
mod commit_rules;
mod decision;
mod describe;
mod discard;
mod finish;
mod intent;
mod keep;
mod on_disk;
mod refusals;
mod restore;
mod resume;
mod snapshot;
mod steps;
mod stored_point;
mod undo;
mod upkeep;

pub use by_rule::{Ruling, by_rule, with_tested};
pub use commit_rules::{change_rules, read_rules};
pub use describe::{Changes, Described, describe};
pub use discard::discard;
pub use keep::keep;
pub use policy::{Allowed, NotAllowed, Snapshot, allowed};
pub use refusals::AFTER_A_REFUSAL;
pub use restore::restore_commit;
pub use restore::{Restored, named, restore};
pub use resume::{remove_leftovers_of_loop, resume, resume_decision};
pub use snapshot::{default_run, keeps_at_same, last, snapshot};
pub use stored_point::apply_point;
pub use undo::{Undoable, Undone, undo, undoable};
pub use upkeep::{append_missing, append_owed, leave, pack_many_refs, pack_refs};

use anyhow::{Context, Result};
use decision::Decision;
use lab_run::RunId;
use lab_run::experiment::{Row, Status};
use lab_run::inputs::{self, Inputs, KernelError};
use lab_run::message::Message;
use lab_run::record::Record;
use lab_store::{RunIndex, RunStore};
use policy::Candidate;
use std::result::Result as StdResult;

/// What came of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub run: Option<RunId>,
    pub status: Status,
    /// Full id of the commit that holds the judged bytes.
    pub commit: String,
    /// `None` if no verdict belonged to the bytes.
    pub row: Option<Row>,
    /// What the user should know besides: a detached HEAD, a row that could not be written, …
    pub notes: Vec<String>,
}

/// Why a decision was not made.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The user must confirm it first: call again with `confirmed`. The text is the question.
    #[error("{0}")]
    Ask(String),
    /// The rules do not allow it now.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// It cannot be done now for another reason; the text ends with what to do.
    #[error("{0}")]
    No(String),
    /// The automatic rule leaves the run to the user; the text says why.
    #[error("{0}")]
    Left(String),
    /// An earlier lab was killed during a decision. That one was completed or taken back, and
    /// nothing else was done.
    #[error("{text}{}", if *is_as_asked { "" } else { "; nothing else was done: repeat the command if it is still wanted" })]
    Resumed {
        /// What was done.
        text: String,
        /// That is what was asked for now.
        is_as_asked: bool,
    },
    #[error("{}", lab_git::told(.0))]
    Failed(anyhow::Error),
}

/// Not `#[from]`: the text has the whole chain already, and a source would repeat it.
impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Refusal::Failed(error)
    }
}

fn no<T>(why: impl Into<String>) -> StdResult<T, Refusal> {
    Err(Refusal::No(why.into()))
}

/// The verdict belongs to the run's bytes, and nothing was decided about it.
pub fn is_undecided(record: &Record) -> bool {
    Candidate::from(record).is_undecided()
}

impl Decision<'_> {
    /// Reads what a decision about a run looks at: the inputs on disk, and the run that was named,
    /// else [`default_run`].
    fn pick(&self, index: &mut RunIndex, run: Option<RunId>) -> Result<Picked> {
        index.refresh();
        index.require_listed()?;
        let present = inputs::read(self.project);
        let picked = match run {
            Some(id) => Some(self.records().read(id)?),
            None => {
                let fingerprint = present.as_ref().ok().map(|inputs| &inputs.fingerprint);
                default_run(self.project, index, fingerprint)
            }
        };
        Ok((present, picked))
    }
}

/// The inputs on disk, and the run that a decision is about.
type Picked = (StdResult<Inputs, KernelError>, Option<Record>);

/// Refuses a message without a subject.
fn require_subject(message: &Message) -> StdResult<(), Refusal> {
    if message.subject().is_empty() {
        return no("say in a few words what you tried (`-m TEXT`)");
    }
    Ok(())
}

/// The bytes that a run judged, from its folder. An error if they are not those that its record
/// names.
fn judged_bytes(records: &RunStore, record: &Record) -> Result<Vec<u8>> {
    let path = records.kernel(record.start.id);
    let bytes = records
        .judged_kernel(record.start.id)
        .with_context(|| format!("the judged bytes are gone: cannot read {}", path.display()))?;
    let hash = inputs::hash_of(&bytes);
    let known = record.inputs.first().and_then(|file| file.hash.as_deref());
    anyhow::ensure!(
        known == Some(hash.as_str()),
        "{} is not what was judged: judge again",
        path.display()
    );
    Ok(bytes)
}
