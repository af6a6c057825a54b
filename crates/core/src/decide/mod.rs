//! Decisions: keep or discard a run, undo the last decision, describe an experiment anew, restore a kernel.
//!
//! A decision goes into the record before git is touched, and the commit is made before the row is written. So the next
//! lab knows what is missing if a lab ends halfway, and adds it.

pub mod auto;
pub mod policy;

mod describe;
mod discard;
mod finish;
mod intent;
mod keep;
mod refusals;
mod restore;
mod resume;
mod rules;
mod snapshot;
mod undo;

pub use describe::{Described, describe};
pub use discard::discard;
pub use finish::append_missing;
pub use keep::keep;
pub use policy::{Allowed, NotAllowed, Snapshot, allowed};
pub use refusals::AFTER_A_REFUSAL;
pub use restore::{Restored, restore};
pub use resume::resume;
pub use rules::{change_rules, read_rules};
pub use snapshot::{default_run, last, snapshot};
pub use undo::{Undoable, Undone, undo, undoable};

use crate::disk::space;
use crate::inputs::{self, Inputs, KernelError};
use crate::message::Message;
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::run::experiment::{Row, Status};
use crate::run::record::Record;
use crate::store::DecisionLock;
use crate::store::RunIndex;
use crate::store::RunStore;
use anyhow::{Context, Result};
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
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

fn no<T>(why: impl Into<String>) -> StdResult<T, Refusal> {
    Err(Refusal::No(why.into()))
}

/// The verdict belongs to the run's bytes, and nothing was decided about it.
pub fn is_undecided(record: &Record) -> bool {
    Candidate::from(record).is_undecided()
}

/// The run that a decision is about: the one that was named, else [`default_run`].
fn pick(
    project: &Project,
    records: &RunStore,
    index: &RunIndex,
    run: Option<RunId>,
    present: &StdResult<Inputs, KernelError>,
) -> Result<Option<Record>> {
    match run {
        Some(id) => records.read(id).map(Some),
        None => Ok(default_run(project, index, present.as_ref().ok().map(|inputs| &inputs.fingerprint))),
    }
}

/// What a decision works with while it holds the decision lock.
struct Locked {
    repo: Repo,
    lock: DecisionLock,
}

impl Locked {
    /// Waits until no other process decides, then opens the repository.
    fn take(project: &Project) -> Result<Locked> {
        let lock = DecisionLock::take(project)?;
        Ok(Locked { repo: Repo::open(project)?, lock })
    }
}

/// Takes the decision lock, and carries out first what a lab that ended halfway began.
fn begin(project: &Project) -> Result<Locked> {
    let locked = Locked::take(project)?;
    resume::resume_locked(project, &locked)?;
    Ok(locked)
}

/// Refuses a message without a subject.
fn require_subject(message: &Message) -> StdResult<(), Refusal> {
    if message.subject().is_empty() {
        return no("say in a few words what you tried (`-m TEXT`)");
    }
    Ok(())
}

/// The kernel's bytes on disk, whatever they are; `None` if there is no such file.
fn read_on_disk(project: &Project) -> Result<Option<Vec<u8>>> {
    match inputs::on_disk(project) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| {
            format!("{} cannot be read, so it cannot be saved, so it is not replaced", project.kernel_name)
        }),
    }
}

/// The bytes that a run judged, from its folder. An error if they are not those that its record names.
fn judged_bytes(records: &RunStore, record: &Record) -> Result<Vec<u8>> {
    let path = records.kernel(record.start.id);
    let bytes = records
        .judged_kernel(record.start.id)
        .with_context(|| format!("the judged bytes are gone: cannot read {}", path.display()))?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let known = record.inputs.first().and_then(|file| file.hash.as_deref());
    anyhow::ensure!(known == Some(hash.as_str()), "{} is not what was judged: judge again", path.display());
    Ok(bytes)
}

/// Writes the record into the note of its commit: the record goes with the commit into other clones.
fn write_note(locked: &Locked, commit: &str, record: &Record) -> Result<()> {
    let text = serde_json::to_string_pretty(record)?;
    repo::note(&locked.repo, commit, &text)
        .map_err(|error| space::explain(error, "the git note of the commit was not written"))
}

/// Tells the user where the bytes are that were on disk. `commit` is the full id of the commit that holds them.
fn saved_note(commit: &str) -> String {
    let short = repo::short(commit);
    format!("the bytes that were on disk are kept as {short} (`lab restore {short}`)")
}
