//! Carries out what a lab that ended halfway began.

use super::intent::{self, Intent};
use super::{Locked, describe, rules, undo};
use crate::project::Project;
use anyhow::Result;

/// Carries out the intent of a lab that ended halfway. Returns what was done, in words; `None` if there was none, which
/// takes no lock.
pub fn resume(project: &Project) -> Result<Option<String>> {
    if !intent::exists(project) {
        return Ok(None);
    }
    resume_locked(project, &Locked::take(project)?)
}

/// The same under a lock that is held already.
pub(super) fn resume_locked(project: &Project, locked: &Locked) -> Result<Option<String>> {
    let Some(intent) = Intent::read(project)? else { return Ok(None) };
    let (done, notes) = match &intent {
        Intent::Describe { run, row, emulated, description } => {
            let notes = describe::carry_out(project, locked, *run, row, *emulated, description)?;
            let done = format!(
                "the description of {} is now '{description}', as an earlier lab began to write",
                row.commit
            );
            (done, notes)
        }
        Intent::Rules { head, subject, emulated } => {
            (rules::resume(project, locked, head.as_deref(), subject, *emulated)?, Vec::new())
        }
        Intent::Undo { run, on_disk } => undo::resume(project, locked, *run, on_disk.as_deref())?,
    };
    Intent::remove(project)?;
    Ok(Some(std::iter::once(done).chain(notes).collect::<Vec<_>>().join("; ")))
}
