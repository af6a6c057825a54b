//! Deciding a run: keep it, or discard it; putting an experiment back; taking the last decision back; and
//! telling an experiment in other words.
//!
//! The decision is in the record before git is touched, the commit before the row, so that a lab
//! that ends halfway can say what is missing and add it.

pub mod auto;

mod describe;
mod discard;
mod finish;
mod intent;
mod keep;
mod restore;
mod undo;

pub use describe::{Described, describe};
pub use discard::discard;
pub use finish::{append_missing, missing};
pub use intent::mend;
pub use keep::{keep, may_keep};
pub use restore::{Restored, restore};
pub use undo::{Undoable, Undone, undo, undoable};

use crate::inputs::{self, Inputs, KernelError};
use crate::message::Message;
use crate::project::Project;
use crate::repo;
use crate::run::RunId;
use crate::run::experiment::{Row, Status};
use crate::run::record::Record;
use crate::run::verdict::Outcome;
use crate::store::Records;
use crate::store::decision_lock::Deciding;
use crate::store::index::{Brief, Shelf};
use anyhow::{Context, Result};
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
    /// It cannot be done now; the text ends with what to do.
    #[error("{0}")]
    No(String),
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

fn no<T>(why: impl Into<String>) -> StdResult<T, Refusal> {
    Err(Refusal::No(why.into()))
}

/// In words, where the present bytes are not the ones that were judged.
pub fn newer(record: &Record, present: &StdResult<Inputs, KernelError>) -> Option<String> {
    present.as_ref().map_or_else(|error| Some(error.to_string()), |inputs| changed_since(record, inputs))
}

fn changed_since(record: &Record, present: &Inputs) -> Option<String> {
    let id = record.start.id;
    (present.fingerprint != record.start.fingerprint).then(|| {
        let names = inputs::differences(&record.inputs, &present.files());
        format!("{} changed after the verdict of run {id}", names.join(", "))
    })
}

/// A verdict belongs to the run's bytes, and nothing was decided about it.
pub fn judged(record: &Record) -> bool {
    let void = record.verdict.as_ref().is_none_or(|v| v.outcome == Outcome::Void);
    !void && record.decision.as_ref().is_none_or(|d| d.commit.is_none())
}

/// The run that is meant; without a name that of [`meant`].
fn pick(project: &Project, records: &Records, run: Option<RunId>) -> StdResult<Option<Record>, Refusal> {
    match run {
        Some(id) => {
            let record = records.read(id)?;
            if record.start.is_check() {
                return no(format!("run {id} was a check: it judged nothing that could be decided"));
            }
            let kernel = &record.start.kernel;
            if *kernel != project.kernel_name {
                return no(format!(
                    "run {id} judged {kernel}, not {}: name that kernel",
                    project.kernel_name
                ));
            }
            Ok(Some(record))
        }
        None => Ok(meant(project, &Shelf::open(project))),
    }
}

/// The run that a decision without a number is about: the newest that judged exactly the present bytes. Another of the
/// same bytes that still goes on (of a screen that is open beside) is waited for only where none has ended. Of bytes that
/// nothing judged it is the last run, and its decision will say what is newer.
pub fn meant(project: &Project, shelf: &Shelf) -> Option<Record> {
    let present = inputs::read(project).ok().map(|inputs| inputs.fingerprint);
    let ours = |b: &Brief| b.judges(project) && Some(&b.fingerprint) == present.as_ref();
    // Without an ending its lab died before it.
    let told = |b: &Brief| b.ending.is_some() && b.outcome() != Some(Outcome::Void);
    let judged = shelf.find(|b| ours(b) && told(b));
    judged.or_else(|| shelf.find(|b| ours(b) && b.verdict.is_none())).or_else(|| last(project, shelf))
}

/// The last run of this kernel. One that came to nothing (a newer save ended it) is passed over
/// for the last verdict before it, if there is any.
pub fn last(project: &Project, shelf: &Shelf) -> Option<Record> {
    let ours = |b: &Brief| b.judges(project);
    shelf.find(|b| ours(b) && b.outcome() != Some(Outcome::Void)).or_else(|| shelf.find(ours))
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
