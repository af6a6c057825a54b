//! Where things stand: HEAD, kernel.cu on disk, the last run, and what may be done now.

use super::project::Project;
use super::record::Record;
use super::repo::Head;
use super::run::Fingerprint;
use anyhow::Result;

#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub head: Head,
    /// Fingerprint of the present bytes; the error says why kernel.cu cannot be read.
    pub present: std::result::Result<Fingerprint, String>,
    /// Git blob id of the present kernel.cu, as git would hold it.
    pub blob: Option<String>,
    /// Git blob id of kernel.cu in HEAD.
    pub incumbent: Option<String>,
    /// The last run of this kernel that has ended.
    pub last: Option<Record>,
    /// `last` judged other bytes than the present ones.
    pub stale: bool,
    /// The last run that judged exactly the present bytes, if any.
    pub judged: Option<Record>,
    /// `Err` is the reason why not.
    pub keep: std::result::Result<(), String>,
    pub discard: std::result::Result<(), String>,
    /// Discard would have to ask: the bytes are newer than the verdict.
    pub discard_asks: bool,
}

/// Reads disk and git: not for the screen's own thread.
pub fn status(project: &Project) -> Result<Status> {
    let _ = project;
    anyhow::bail!("not yet")
}
