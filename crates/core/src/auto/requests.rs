//! What a person asks a running loop for: pause, go on, stop.

use super::files::Files;
use crate::project::Project;
use anyhow::{Result, bail};

/// What `lab auto pause`, `resume` and `stop` ask for. The loop reads it between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Pause,
    Resume,
    Stop,
}

impl Request {
    pub fn word(self) -> &'static str {
        match self {
            Request::Pause => "pause",
            Request::Resume => "resume",
            Request::Stop => "stop",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Request> {
        [Request::Pause, Request::Resume, Request::Stop].into_iter().find(|asked| asked.word() == word.trim())
    }
}

/// Asks the running loop of a kernel. A later request replaces one that was not read yet.
pub fn request(project: &Project, asked: Request) -> Result<()> {
    let files = Files::of(project)?;
    if !files.is_locked() {
        bail!("no `lab auto` works on {}: there is nothing to {}", project.kernel_name, asked.word());
    }
    files.write_request(asked.word())
}
