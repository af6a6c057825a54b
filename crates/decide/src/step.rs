//! One step of a decision, as it stands in the intent.

use lab_git::{CommitFile, Move, StoredCommit};
use lab_run::RunId;
use lab_run::experiment::Row;
use lab_run::record::Decision;
use serde::{Deserialize, Serialize};

/// One step, with everything that it needs: taking it reads nothing that may have changed since it
/// was worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub(super) enum Step {
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
    pub(super) fn run(&self) -> Option<RunId> {
        match self {
            Step::Decision { run, .. } => Some(*run),
            _ => None,
        }
    }
}

/// What happens to a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RowChange {
    /// `from` is the size of the ledger before, in bytes.
    Append {
        from: u64,
    },
    Describe {
        description: String,
    },
    TakeOut,
}
