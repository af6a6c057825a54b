//! Whether a kernel has fewer tokens than the incumbent. With `[auto] keep_shorter` the rule keeps
//! such a kernel if it is as fast.

use crate::inputs;
use crate::project::Project;
use crate::repo::{self, Repo};
use lab_protocol::Language;

/// Whether lab.toml asks to keep a kernel that is as fast as the incumbent and shorter, and this
/// kernel is shorter. False where the tokens of one of the two cannot be counted.
pub fn keeps_at_same(repo: &Repo, project: &Project, kernel: &[u8]) -> bool {
    let is_shorter = || {
        let head = repo::head(repo).ok()?.commit?;
        let incumbent = repo::bytes_of(repo, project, &head).ok()?;
        let count = |bytes: &[u8]| inputs::token_count(bytes, Language::of(&project.kernel_name));
        Some(count(kernel)? < count(&incumbent)?)
    };
    project.config.auto.keep_shorter && is_shorter().unwrap_or(false)
}
