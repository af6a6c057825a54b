//! What was decided so far: the rows of results.tsv and results.cpu.tsv beside their records.

use super::experiment::Experiment;
use super::project::Project;
use anyhow::Result;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Oldest first; `kernel` tells the problem, `device` and `emulated` the device.
    pub experiments: Vec<Experiment>,
    /// Rows that cannot be read, rows that are missing, damaged records: in words.
    pub problems: Vec<String>,
}

/// Reads disk: not for the screen's own thread.
pub fn history(project: &Project) -> Result<History> {
    let _ = project;
    anyhow::bail!("not yet")
}
