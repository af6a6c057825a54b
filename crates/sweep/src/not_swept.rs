//! Why a sweep did not begin.

use lab_protocol::Exit;
use lab_runner::execute::NotRun;

/// Why no sweep began.
#[derive(Debug, thiserror::Error)]
pub enum NotSwept {
    #[error(transparent)]
    NotRun(#[from] NotRun),
    /// The kernel, its tune lines or the request. The text says what to do.
    #[error("{0}")]
    Refused(String),
    #[error("{}", lab_git::told(.0))]
    Failed(#[from] anyhow::Error),
}

impl NotSwept {
    /// The exit code of `lab sweep`.
    pub fn exit(&self) -> Exit {
        match self {
            NotSwept::NotRun(not_run) => not_run.exit(),
            NotSwept::Refused(_) => Exit::Usage,
            NotSwept::Failed(_) => Exit::NOT_JUDGED,
        }
    }
}
