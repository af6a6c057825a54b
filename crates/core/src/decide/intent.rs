//! What a describe or an undo is about to do, written down before its first step: a lab that ends halfway leaves it,
//! and the next one carries it out. Every step can be done twice.

use super::{describe, undo};
use crate::disk::atomic;
use crate::project::Project;
use crate::run::RunId;
use crate::run::experiment::Row;
use crate::store::DecisionLock;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub(super) enum Unfinished {
    Describe {
        /// `None` where no record is here.
        run: Option<RunId>,
        /// As it was.
        row: Row,
        emulated: bool,
        description: String,
    },
    Undo {
        run: RunId,
        /// BLAKE3 of kernel.cu as it was on disk, hex.
        on_disk: Option<String>,
    },
}

fn path(project: &Project) -> PathBuf {
    project.lab_dir.join("unfinished.json")
}

impl Unfinished {
    /// On disk before this returns.
    pub(super) fn begin(&self, project: &Project) -> Result<()> {
        let write = || atomic::replace(&path(project), &serde_json::to_vec_pretty(self)?);
        write().with_context(|| format!("cannot write {} (nothing was changed)", path(project).display()))
    }

    pub(super) fn end(project: &Project) -> Result<()> {
        match fs::remove_file(path(project)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", path(project).display()))
            }
            _ => Ok(()),
        }
    }
}

/// Carries out what an earlier lab began, if anything. In words, what that was.
pub(super) fn complete(project: &Project, lock: &DecisionLock) -> Result<Option<String>> {
    let path = path(project);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let unfinished: Unfinished = serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged: look what it says, and remove it", path.display()))?;
    let done = match &unfinished {
        Unfinished::Describe { run, row, emulated, description } => {
            describe::carry_out(project, lock, *run, row, *emulated, description)?;
            format!(
                "the description of {} is now '{description}', as an earlier lab began to write",
                row.commit
            )
        }
        Unfinished::Undo { run, on_disk } => undo::complete(project, lock, *run, on_disk.as_deref())?,
    };
    Unfinished::end(project)?;
    Ok(Some(done))
}

/// Carries out what a lab that ended halfway began. In words, what that was; `None` where there is nothing to do,
/// which takes no lock.
pub fn mend(project: &Project) -> Result<Option<String>> {
    if path(project).symlink_metadata().is_err() {
        return Ok(None);
    }
    complete(project, &DecisionLock::take(project)?)
}
