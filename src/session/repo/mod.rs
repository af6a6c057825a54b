//! The git repository. Only this room touches git.

use super::experiment::Experiment;
use super::project::Project;
use anyhow::Result;
use jiff::Timestamp;

/// Where HEAD is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Name of the branch; `None` where HEAD is detached.
    pub branch: Option<String>,
    /// Full id; `None` on an unborn branch.
    pub commit: Option<String>,
    /// A merge, rebase, … that goes on, in a word.
    pub busy: Option<String>,
}

impl Head {
    /// `exp/wavegru @ a1b2c3d`.
    pub fn label(&self) -> String {
        let place = self.branch.as_deref().unwrap_or("detached HEAD");
        match &self.commit {
            Some(id) => format!("{place} @ {}", short(id)),
            None => format!("{place} (no commit yet)"),
        }
    }
}

/// Seven hex digits of an id.
pub fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// One commit of HEAD's history.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    pub id: String,
    /// Clean: fit for a screen.
    pub subject: String,
    pub author: String,
    pub time: Timestamp,
    /// The experiment that this commit holds.
    pub experiment: Option<Experiment>,
}

/// The newest commits of HEAD, at most `limit`, first parents only.
pub fn log(project: &Project, limit: usize) -> Result<Vec<LogEntry>> {
    let _ = (project, limit);
    anyhow::bail!("not yet")
}

/// kernel.cu of a commit, as text for the screen.
pub fn show(project: &Project, commit: &str) -> Result<String> {
    let _ = (project, commit);
    anyhow::bail!("not yet")
}

/// The change of kernel.cu from one commit to another, or to the present bytes, as a unified diff.
pub fn diff(project: &Project, from: &str, to: Option<&str>) -> Result<String> {
    let _ = (project, from, to);
    anyhow::bail!("not yet")
}
