//! Where things stand: HEAD, kernel.cu on disk, the last run, and what may be done now.

use crate::project::Project;
use crate::repo::{self, Head};
use crate::run::record::Record;
use crate::run::verdict::Outcome;
use crate::run::{Fingerprint, RunId};
use crate::store::index::Shelf;
use crate::{decide, inputs};
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
    /// The newest run of all that has ended: of later ones this look knows nothing.
    pub ended: Option<RunId>,
    /// The last run of this kernel that has ended, with a verdict if there is any.
    pub last: Option<Record>,
    /// `last` judged other bytes than the present ones.
    pub stale: bool,
    /// The last run that judged exactly the present bytes, if any.
    pub judged: Option<Record>,
    /// The last check of exactly the present bytes, if any that came to an end.
    pub check: Option<Record>,
    /// `Err` is the reason why not.
    pub keep: std::result::Result<(), String>,
    pub discard: std::result::Result<(), String>,
    /// Discard would have to ask: the bytes are newer than the verdict.
    pub discard_asks: bool,
}

/// Reads disk and git: not for the screen's own thread.
pub fn status(project: &Project) -> Result<Status> {
    look(project, &Shelf::open(project))
}

/// The same for who looks often: the shelf keeps what it read. [`Shelf::refresh`] comes before.
pub fn look(project: &Project, shelf: &Shelf) -> Result<Status> {
    let inputs = inputs::read(project);
    let head = repo::head(project)?;
    let incumbent = repo::incumbent(project)?;
    let blob = match &inputs {
        Ok(read) => Some(repo::blob_id(project, &project.kernel_name, read.kernel())?),
        Err(_) => None,
    };
    let present = inputs.as_ref().map(|i| i.fingerprint.clone()).map_err(ToString::to_string);
    let last = decide::last(project, shelf).filter(|r| r.verdict.is_some());
    let same = |print: &Fingerprint| present.as_ref().is_ok_and(|f| f == print);
    let matches = |r: &Record| same(&r.start.fingerprint);
    let judged = match &last {
        Some(last) if matches(last) => Some(last.clone()),
        _ => shelf.find(|b| b.judges(project) && b.verdict.is_some() && same(&b.fingerprint)),
    };
    let check = shelf.find(|b| {
        let ended = b.ending.is_some() && b.outcome().is_some_and(|o| o != Outcome::Void);
        b.is_check() && b.kernel == project.kernel_name && ended && same(&b.fingerprint)
    });
    let keep = match &last {
        None => Err("nothing was judged yet".to_owned()),
        Some(last) => decide::may_keep(project, last, &inputs)
            .and_then(|()| repo::obstacle(project).map_err(|e| format!("{e:#}"))?.map_or(Ok(()), Err)),
    };
    let decidable = last.as_ref().is_some_and(decide::judged);
    let discard = match (&incumbent, &last) {
        (None, _) => Err(format!("HEAD does not hold {}", project.kernel_name)),
        (Some(held), Some(last)) if decidable && last.start.blob == *held => {
            Err("these are the incumbent's own bytes".to_owned())
        }
        (Some(held), _) if !decidable && blob.as_ref() == Some(held) => {
            Err("these are the incumbent's own bytes".to_owned())
        }
        _ => Ok(()),
    };
    Ok(Status {
        stale: last.as_ref().is_some_and(|r| !matches(r)),
        discard_asks: !decidable || last.as_ref().is_some_and(|r| !matches(r)),
        head,
        present,
        blob,
        incumbent,
        ended: shelf.ended(),
        last,
        judged,
        check,
        keep,
        discard,
    })
}
