//! A commit starts no program of a folder that is not trusted.

use super::{Refusal, no};
use crate::project::{Project, trust};
use crate::repo::{self, Repo};

/// Refuses a commit that would start a hook or another program of the folder, unless the user
/// trusts the folder.
pub(super) fn require_trust(repo: &Repo, project: &Project) -> Result<(), Refusal> {
    match repo::folder_programs(repo)? {
        // Without a place to remember trust, nothing is trusted.
        Some(program) if !trust::is_granted(project).unwrap_or(false) => no(format!(
            "a commit here would start {program}, which may have come with this folder: look at it, then `lab trust` lets it run"
        )),
        _ => Ok(()),
    }
}
