//! Finds the kernel that a commit is about.

use crate::history;
use crate::project::Project;
use crate::repo::{self, Repo};
use anyhow::Result;

/// Path of the kernel of an experiment or of saved bytes. `name` is the prefix of an id, or the number of a discarded run.
/// `None` for any other commit, and for a name like `HEAD`, which says nothing about a kernel.
pub fn resolve_kernel(repo: &Repo, project: &Project, name: &str) -> Result<Option<String>> {
    if !name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let (commit, _) = repo::resolve(repo, name)?;
    let experiments = history::read_once(repo, project).experiments;
    let holds = |short: &str| short.len() >= 4 && commit.starts_with(short);
    let known = experiments.into_iter().rev().filter(|e| holds(&e.row.commit)).find_map(|e| e.kernel);
    known.map_or_else(|| repo::stored_kernel(repo, &commit), |kernel| Ok(Some(kernel)))
}
