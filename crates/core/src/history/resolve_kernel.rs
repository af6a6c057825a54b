//! Which kernel a commit is about.

use crate::history;
use crate::project::Project;
use crate::repo::{self, Repo};
use anyhow::Result;

/// The kernel of the experiment, or of the bytes that were saved, that `name` means: digits of an
/// id, or the number of a discarded run. `None` of any other commit, and of a name like `HEAD`,
/// which means whichever kernel one works on.
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
