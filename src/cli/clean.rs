//! `lab clean`: packs git's loose objects.

use super::{here, say};
use anyhow::Result;
use lab_core::project::Project;
use lab_core::repo::{self, Repo};
use std::process::ExitCode;

pub fn main() -> Result<ExitCode> {
    let project = Project::of_any(&here()?)?;
    say(&repo::clean(&Repo::open(&project)?)?.to_string());
    Ok(ExitCode::SUCCESS)
}

/// Packs git's loose objects after a decision if there are many, and returns what that freed. A failure costs disk space and
/// nothing else.
pub fn after_a_decision(project: &Project) -> Option<String> {
    let repo = Repo::open(project).ok().filter(repo::has_many_loose_objects)?;
    Some(repo::clean(&repo).ok()?.to_string())
}
