//! The intent of a decision: a file that is written before the first step and removed after the
//! last.
//!
//! It holds every step that is to be taken, worked out beforehand. A lab that is killed leaves the
//! file, and the next lab takes the steps again (`resume.rs`). Every step can be taken twice.

use anyhow::{Result, ensure};
use lab_git::{CommitFile, Move, StoredCommit, short};
use lab_project::Project;
use lab_run::RunId;
use lab_run::experiment::Row;
use lab_run::record::{Decision, Origin};
use lab_store::signature::{self, Purpose};
use lab_system::failure::Failure;
use lab_system::root::if_there;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::SystemTime;

/// The command that an intent belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Keep,
    Discard,
    Undo,
    Describe,
    Restore,
    Rules,
    /// Rows that were missing are appended.
    Append,
    /// The refs of the lab are packed.
    PackRefs,
}

/// What is about to be done. Stands in `.lab/unfinished.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    pub what: What,
    /// Repository-relative path of the kernel; empty for a command that is about no kernel.
    pub kernel: String,
    /// The kernel and what else the user gave: the same command is recognised by it.
    pub asked: String,
    /// What it is done to, for messages: `the keep of run 7`.
    pub subject: String,
    /// Full id of the commit that holds the bytes. `None` until the git program has made it.
    pub commit: Option<String>,
    /// In the order in which they are taken. Empty once all of them are taken and only
    /// [`Intent::owed`] is left.
    pub steps: Vec<Step>,
    /// Steps that failed and change nothing for the decision: the next command tries them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<Step>,
}

/// Most bytes of the file.
const READ_LIMIT: u64 = 16 << 20;

pub fn path(project: &Project) -> PathBuf {
    // What a lane began is finished in its own work tree.
    match &project.lane {
        Some(lane) => project.lab_dir.join(format!("unfinished-{lane}.json")),
        None => project.lab_dir.join("unfinished.json"),
    }
}

/// Whether an intent is left of a lab that ended halfway.
pub fn exists(project: &Project) -> bool {
    path(project).symlink_metadata().is_ok()
}

/// When the intent was written; `None` without an intent.
pub fn written_at(project: &Project) -> Option<SystemTime> {
    project
        .files()
        .metadata(&path(project))
        .and_then(|about| about.modified())
        .ok()
}

/// Reads the intent that a lab left behind, if any. One that this user's lab did not write is an
/// error.
pub fn read(project: &Project) -> Result<Option<Intent>> {
    let path = path(project);
    let text = if_there(project.files().read(&path, READ_LIMIT));
    let text = text.cannot("read", &path)?;
    let Some(text) = text else {
        return Ok(None);
    };
    // Only a restore's intent does not wait for the disk. After a power cut it can be empty, and
    // then nothing was begun.
    if text.is_empty() {
        return remove(project).map(|()| None);
    }
    let (intent, origin) = signature::read_file(
        Purpose::Intent,
        &path,
        &text,
        ": read it, finish by hand what it says, and remove it",
    )?;
    ensure!(
        origin == Origin::Own,
        "{} is foreign: somebody else's lab wrote it, or somebody changed it, so nothing of it was \
         carried out. Read it, finish by hand what is yours, and remove it",
        path.display()
    );
    Ok(Some(intent))
}

/// Removes the intent, after its last step.
pub fn remove(project: &Project) -> Result<()> {
    let path = path(project);
    let removed = project.files().remove_file(&path);
    removed.cannot("remove", &path)
}

impl Intent {
    /// An intent without steps. `text` is what the user gave: a message, or the name of a commit.
    pub fn new(what: What, project: &Project, text: &str) -> Intent {
        let kernel = match what {
            What::Describe | What::Append | What::PackRefs => String::new(),
            _ => project.kernel_name.clone(),
        };
        let word = match what {
            What::Keep => "keep",
            What::Discard => "discard",
            What::Undo => "undo",
            What::Describe => "describe",
            What::Restore => "restore",
            What::Rules => "change of the rules",
            What::Append => "appending of missing rows",
            What::PackRefs => "packing of the refs",
        };
        Intent {
            what,
            asked: format!("{kernel} {text}"),
            kernel,
            subject: format!("the {word}"),
            commit: None,
            steps: Vec::new(),
            owed: Vec::new(),
        }
    }

    /// Writes the intent. It is on disk before this returns, but for a restore: that replaces one
    /// file in one step, so after a power cut there is nothing to complete. Steps that are owed
    /// wait for the disk with any command.
    pub fn write(&self, project: &Project) -> Result<()> {
        let write = || -> Result<()> {
            let (path, bytes) = (path(project), signature::signed(Purpose::Intent, self)?);
            let written = match self.what {
                What::Restore if self.owed.is_empty() => project
                    .files()
                    .replace_with(&path, |out| out.write_all(&bytes)),
                _ => project.files().replace(&path, &bytes),
            };
            Ok(written?)
        };
        write().cannot("write", &path(project))
    }

    /// Fills in the commit, once the git program has made it.
    pub fn set_commit(&mut self, id: &str) {
        self.commit = Some(id.to_owned());
        for step in &mut self.steps {
            match step {
                Step::Row { row, .. } if row.commit.is_empty() => row.commit = short(id).to_owned(),
                Step::Decision {
                    decision: Some(decision),
                    ..
                } if decision.commit.is_none() => {
                    decision.commit = Some(id.to_owned());
                    decision
                        .row
                        .iter_mut()
                        .for_each(|row| row.commit = short(id).to_owned());
                }
                Step::Note { commit, .. } | Step::JudgedBytes { commit, .. }
                    if commit.is_empty() =>
                {
                    id.clone_into(commit);
                }
                _ => {}
            }
        }
    }

    /// The row that the intent appends, if it does.
    pub fn row(&self) -> Option<&Row> {
        self.steps.iter().find_map(|step| match step {
            Step::Row {
                row,
                change: RowChange::Append { .. },
                ..
            } => Some(row),
            _ => None,
        })
    }

    /// Whether the git program is still to make the commit.
    pub fn is_by_program(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Commit { .. }))
    }

    /// The commit and the new description of an experiment that is described.
    pub fn described(&self) -> Option<(&str, &str)> {
        self.steps.iter().find_map(|step| match step {
            Step::Row {
                row,
                change: RowChange::Describe { description },
                ..
            } => Some((row.commit.as_str(), description.as_str())),
            _ => None,
        })
    }
}

/// One step, with everything that it needs: taking it reads nothing that may have changed since it
/// was worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Locks git's index. Between HEAD and the index nobody else commits.
    LockIndex,
    /// Commits with the git program; where the commit is made, the step becomes [`Step::MoveHead`].
    Commit {
        branch: Move,
        message: String,
    },
    MoveHead {
        branch: Move,
    },
    /// Gives a commit its ref under `refs/lab/`.
    Name {
        stored: StoredCommit,
        why: String,
    },
    /// Puts the kernel of a commit on disk, if the bytes there are still those that were found
    /// (BLAKE3, hex).
    Kernel {
        commit: String,
        found: Option<String>,
    },
    /// Brings the entries of the index to what HEAD holds, and unlocks the index.
    Stage {
        files: Vec<CommitFile>,
    },
    /// Remembers the bytes that a run judged for the commit that holds them, where git would put
    /// others on disk.
    JudgedBytes {
        commit: String,
        run: RunId,
    },
    /// Changes a ledger. `row` is the row as it is before the change.
    Row {
        emulated: bool,
        row: Row,
        change: RowChange,
    },
    /// Writes the decision into the run's record. Whether its row is written follows from the step
    /// before.
    Decision {
        run: RunId,
        decision: Option<Box<Decision>>,
        undone: Vec<Decision>,
    },
    /// Packs the refs of the lab into one file.
    PackRefs,
    /// Writes the git note of a commit: the record of a run, or a text.
    Note {
        commit: String,
        run: Option<RunId>,
        text: Option<String>,
    },
}

impl Step {
    /// The run whose record the step writes.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Step::Decision { run, .. } => Some(*run),
            _ => None,
        }
    }
}

/// What happens to a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowChange {
    /// `from` is the size of the ledger before, in bytes.
    Append {
        from: u64,
    },
    Describe {
        description: String,
    },
    TakeOut,
}
