//! Deciding a run: keep it, or discard it; putting an experiment back; taking the last decision back; and
//! telling an experiment in other words.
//!
//! The decision is in the record before git is touched, the commit before the row, so that a lab
//! that ends halfway can say what is missing and add it.

pub mod auto;
pub mod policy;

mod describe;
mod discard;
mod finish;
mod intent;
mod keep;
mod restore;
mod snapshot;
mod undo;

pub use describe::{Described, describe};
pub use discard::discard;
pub use finish::{append_missing, missing};
pub use intent::mend;
pub use keep::keep;
pub use policy::{Allowed, NotAllowed, Snapshot, allowed};
pub use restore::{Restored, restore};
pub use snapshot::{default_run, last, snapshot};
pub use undo::{Undoable, Undone, undo, undoable};

use crate::inputs::{Inputs, KernelError};
use crate::message::Message;
use crate::project::Project;
use crate::repo;
use crate::run::RunId;
use crate::run::experiment::{Row, Status};
use crate::run::record::Record;
use crate::store::Records;
use crate::store::decision_lock::Deciding;
use crate::store::index::Shelf;
use anyhow::{Context, Result};
use policy::Candidate;
use std::fs;
use std::result::Result as StdResult;

/// What came of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub run: Option<RunId>,
    pub status: Status,
    /// Full id of the commit that holds the judged bytes.
    pub commit: String,
    /// `None` where nothing was judged.
    pub row: Option<Row>,
    /// What a person should know besides: detached HEAD, a row that could not be written, …
    pub notes: Vec<String>,
}

/// Why a decision was not made.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It can be done, once confirmed: call again with `confirmed`.
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
    records: &Records,
    shelf: &Shelf,
    run: Option<RunId>,
    present: &StdResult<Inputs, KernelError>,
) -> Result<Option<Record>> {
    match run {
        Some(id) => records.read(id).map(Some),
        None => Ok(default_run(project, shelf, present.as_ref().ok().map(|inputs| &inputs.fingerprint))),
    }
}

/// Takes the lock, and finishes first what a lab that ended halfway began.
fn begin(project: &Project) -> Result<Deciding> {
    let deciding = Deciding::begin(project)?;
    intent::complete(project, &deciding)?;
    Ok(deciding)
}

fn said(message: &Message) -> StdResult<&Message, Refusal> {
    if message.subject().is_empty() {
        return no("say in a few words what you tried (`-m TEXT`)");
    }
    Ok(message)
}

/// The present kernel, whatever it is; `None` where it is gone.
fn present(project: &Project) -> Result<Option<Vec<u8>>> {
    match fs::read(&project.kernel) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| {
            format!("{} cannot be read, so it cannot be saved, so it is not replaced", project.kernel_name)
        }),
    }
}

fn judged_bytes(records: &Records, record: &Record) -> Result<Vec<u8>> {
    let path = records.folder(record.start.id).join("kernel.cu");
    let bytes = fs::read(&path)
        .with_context(|| format!("the judged bytes are gone: cannot read {}", path.display()))?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let known = record.inputs.first().and_then(|file| file.hash.as_deref());
    anyhow::ensure!(known == Some(hash.as_str()), "{} is not what was judged: judge again", path.display());
    Ok(bytes)
}

fn saved_note(id: String) -> String {
    let short = repo::short(&id);
    format!("the bytes that were on disk are kept as {short} (`lab restore {short}`)")
}
