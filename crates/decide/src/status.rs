//! Where things stand: HEAD, the inputs on disk, the runs that a screen shows, and what may be done
//! now.

use crate::{Allowed, Snapshot};
use anyhow::Result;
use lab_git::{Head, Repo};
use lab_history::last_peers::{self, LastPeers};
use lab_run::inputs;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Fingerprint, RunId, RunStart};
use lab_store::{Fact, RunIndex, RunSummary};

/// What one look at disk and git found.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectStatus {
    pub head: Head,
    /// What the rules of keep, discard and undo look at. Its candidate is the run that a decision
    /// without a number would be about.
    pub snapshot: Snapshot,
    /// The newest run of all that had ended. This status knows nothing of later runs.
    pub ended: Option<RunId>,
    /// The newest run or check of this kernel that is in progress, whichever process judges it.
    pub in_progress: Option<RunStart>,
    /// The last run of this kernel, if it has a verdict.
    pub last: Option<Record>,
    /// The last run that judged exactly the present bytes and has a verdict. A foreign one does not
    /// count: the bytes are to be judged again.
    pub judged: Option<Record>,
    /// The last completed check of exactly the present bytes.
    pub check: Option<Record>,
    /// What was measured last beside the problem's peers: of the present bytes, else of the
    /// incumbent. On the device of the last run.
    pub peers: Option<LastPeers>,
}

impl ProjectStatus {
    /// Fingerprint of the inputs on disk; the error says why the kernel cannot be read.
    pub fn present(&self) -> std::result::Result<&Fingerprint, &str> {
        self.snapshot
            .present
            .as_ref()
            .map(|present| &present.fingerprint)
            .map_err(String::as_str)
    }

    /// Git blob id of the kernel on disk; `None` if it cannot be read.
    pub fn blob(&self) -> Option<&str> {
        self.snapshot.present.as_ref().ok()?.blob.as_deref()
    }

    /// What a command may do now.
    pub fn allowed(&self) -> Allowed {
        crate::allowed(&self.snapshot)
    }
}

/// Reads where things stand. Call [`RunIndex::refresh`] first: `index` keeps the runs that it read
/// before.
pub fn look(repo: &Repo, index: &RunIndex) -> Result<ProjectStatus> {
    let project = &repo.project;
    let inputs = inputs::read(project);
    let present = inputs.as_ref().ok().map(|inputs| &inputs.fingerprint);
    let last = crate::last(project, index).filter(|record| record.verdict.is_some());
    let judged = match &last {
        Some(last) if Some(&last.start.fingerprint) == present && !last.is_foreign() => {
            Some(last.clone())
        }
        _ => present.and_then(|present| {
            let judged =
                |b: &RunSummary| b.judges(project) && b.verdict.is_some() && !b.is_foreign();
            let found = index.find_of(present, |b| judged(b) && b.fingerprint == *present);
            found.filter(|record| !record.is_foreign())
        }),
    };
    let check = present.and_then(|present| {
        index.find_of(present, |b| {
            let ended = b.ending.is_some() && b.outcome().is_some_and(Outcome::is_verdict);
            b.is_check() && b.kernel == project.kernel_name && ended && b.fingerprint == *present
        })
    });
    let candidate = crate::default_run(project, index, present);
    let device = judged
        .as_ref()
        .or(last.as_ref())
        .and_then(|record| record.device.as_deref());
    let peers = inputs.as_ref().ok().and_then(|inputs| {
        let of_present = last_peers::of(project, index, &inputs.fingerprint, device);
        of_present.or_else(|| last_peers::of_incumbent(repo, index, &inputs.files(), device))
    });
    Ok(ProjectStatus {
        peers,
        head: lab_git::head(repo)?,
        snapshot: crate::snapshot(repo, index, &inputs, candidate.as_ref())?,
        ended: index.ended(),
        in_progress: in_progress(index, &project.kernel_name),
        last,
        judged,
        check,
    })
}

fn in_progress(index: &RunIndex, kernel: &str) -> Option<RunStart> {
    let open = index.newest_of_kernel(kernel, |keys| !keys.is(Fact::HasVerdict));
    let of_kernel = open.filter(|run| run.kernel == kernel);
    let mut records = of_kernel.filter_map(|run| index.store().read(run.id).ok());
    let found = records.find(|record| record.verdict.is_none())?;
    Some(found.start)
}
