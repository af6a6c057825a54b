//! Deciding a run: keep it, or discard it; and putting an experiment back.

use super::experiment::{Row, Status};
use super::project::Project;
use super::run::RunId;
use anyhow::Result;

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

/// Commits the bytes that `run` (`None`: the last one) judged, and writes their row.
pub fn keep(
    project: &Project,
    run: Option<RunId>,
    description: &str,
) -> std::result::Result<Decided, Refusal> {
    let _ = (project, run, description);
    Err(Refusal::No("not yet".into()))
}

/// Puts kernel.cu back to the incumbent; the attempt stays under `refs/lab/discarded/`.
/// `confirmed`: also where the present bytes are newer than the verdict (they are saved too).
pub fn discard(
    project: &Project,
    run: Option<RunId>,
    description: &str,
    confirmed: bool,
) -> std::result::Result<Decided, Refusal> {
    let _ = (project, run, description, confirmed);
    Err(Refusal::No("not yet".into()))
}

#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Full id of the commit whose kernel.cu is now on disk.
    pub commit: String,
    pub subject: String,
    /// Where the bytes that were on disk are kept, if they differed.
    pub saved: Option<String>,
    pub changed: bool,
}

/// Puts kernel.cu of any commit or experiment on disk; the present bytes are saved first.
pub fn restore(project: &Project, commit: &str) -> Result<Restored> {
    let _ = (project, commit);
    anyhow::bail!("not yet")
}
