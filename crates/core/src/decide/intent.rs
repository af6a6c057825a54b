//! The intent of a describe, an undo or a change of the rules: a file that is written before the first step and removed after the last.
//!
//! A lab that ends halfway leaves the file, and [`super::resume`] carries it out. Every step can be done twice.

use crate::project::Project;
use crate::run::RunId;
use crate::run::experiment::Row;
use crate::run::record::Origin;
use crate::store::signature::{self, Purpose};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::PathBuf;

/// What is about to be done. Stands in `.lab/unfinished.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub(super) enum Intent {
    Describe {
        /// `None` if the record of the run is not here.
        run: Option<RunId>,
        /// The row as it was before.
        row: Row,
        emulated: bool,
        description: String,
    },
    /// A change of the rules is committed on its own.
    Rules {
        /// Full id of HEAD before the commit; `None` on an unborn branch.
        head: Option<String>,
        /// The commit's subject.
        subject: String,
        emulated: bool,
    },
    Undo {
        run: RunId,
        /// BLAKE3 of kernel.cu as it was on disk, hex; `None` if it was not there.
        on_disk: Option<String>,
    },
}

/// Most bytes of the file.
const READ_LIMIT: u64 = 1 << 20;

fn path(project: &Project) -> PathBuf {
    project.lab_dir.join("unfinished.json")
}

/// Whether an intent is left of a lab that ended halfway.
pub(super) fn exists(project: &Project) -> bool {
    path(project).symlink_metadata().is_ok()
}

impl Intent {
    /// Writes the intent. It is on disk before this returns.
    pub(super) fn write(&self, project: &Project) -> Result<()> {
        let write = || -> Result<()> {
            Ok(project.files().replace(&path(project), &signature::signed(Purpose::Intent, self)?)?)
        };
        write().with_context(|| format!("cannot write {} (nothing was changed)", path(project).display()))
    }

    /// Reads the intent that a lab left behind, if any.
    pub(super) fn read(project: &Project) -> Result<Option<Intent>> {
        let path = path(project);
        match project.files().read(&path, READ_LIMIT) {
            Ok(text) => {
                let (intent, origin) = signature::read(Purpose::Intent, &text).with_context(|| {
                    format!(
                        "{} is damaged: read it, finish by hand what it says, and remove it",
                        path.display()
                    )
                })?;
                ensure!(
                    origin == Origin::Own,
                    "{} is foreign: somebody else's lab wrote it, or a version that signed none, so nothing of it was \
                     carried out. Read it, finish by hand what is yours, and remove it",
                    path.display()
                );
                Ok(Some(intent))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Removes the intent, after its last step.
    pub(super) fn remove(project: &Project) -> Result<()> {
        match project.files().remove_file(&path(project)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", path(project).display()))
            }
            _ => Ok(()),
        }
    }
}
