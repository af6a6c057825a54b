//! Whether the harness command of a lab.toml may run: it does after this user wrote it by
//! `lab init`, or said `lab trust`, or yes on the screen. Remembered by content and place.

use super::project::Project;
use anyhow::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The built-in harness, or a command that this user trusts.
    Given,
    /// This command would run, from this lab.toml.
    Needed { command: String },
}

pub fn check(project: &Project) -> Result<Trust> {
    let _ = project;
    anyhow::bail!("not yet")
}

/// Trusts the lab.toml of this project as it now is.
pub fn grant(project: &Project) -> Result<()> {
    let _ = project;
    anyhow::bail!("not yet")
}
