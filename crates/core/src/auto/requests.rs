//! What a person asks a running loop for: pause, go on, stop, end the turn.

use super::files::{Files, read_state};
use super::lanes::lanes;
use super::state::Phase;
use crate::project::{Project, loop_claim};
use anyhow::{Result, bail};

/// What `lab auto pause`, `resume`, `stop` and `end-turn` ask for. The loop reads the first three
/// between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Pause,
    Resume,
    Stop,
    /// The command, or the run that judges its kernel, ends at once, and the loop goes on. What the
    /// command had changed is under `refs/lab/auto/TURN`.
    EndTurn,
}

impl Request {
    pub fn word(self) -> &'static str {
        match self {
            Request::Pause => "pause",
            Request::Resume => "resume",
            Request::Stop => "stop",
            Request::EndTurn => "end-turn",
        }
    }

    fn verb(self) -> &'static str {
        if self == Request::EndTurn {
            "end"
        } else {
            self.word()
        }
    }

    pub(super) fn parse(word: &str) -> Option<Request> {
        [Request::Pause, Request::Resume, Request::Stop]
            .into_iter()
            .find(|asked| asked.word() == word.trim())
    }
}

/// Asks the running loop of a kernel. A later request replaces one that was not read yet; the end
/// of a turn and the others do not replace each other.
pub fn request(project: &Project, asked: Request) -> Result<()> {
    let files = Files::of(project)?;
    if !loop_claim::is_running(project) {
        bail!(
            "no `lab auto` works on {}: there is nothing to {}",
            project.kernel_name,
            asked.verb()
        );
    }
    if asked != Request::EndTurn {
        return files.write_request(asked.word());
    }
    match read_state(project)? {
        Some(state) if matches!(state.phase, Phase::Editing | Phase::Judging) => {
            files.write_end_of_turn(state.turn)
        }
        _ => bail!(
            "no turn is in progress on {}: there is nothing to end",
            project.kernel_name
        ),
    }
}

/// Asks the loop of a kernel, and those of all its lanes that run. Returns why single lanes
/// refused, as a line each: of several lanes one may be between two turns. An error means that
/// nobody took the request.
pub fn request_everywhere(project: &Project, asked: Request) -> Result<Vec<String>> {
    let running: Vec<Project> = lanes(project)
        .into_iter()
        .filter(loop_claim::is_running)
        .collect();
    if running.is_empty() || loop_claim::is_running(project) {
        request(project, asked)?;
    }
    let ask = |lane: &Project| {
        let name = lane.lane.as_deref().unwrap_or_default();
        request(lane, asked)
            .err()
            .map(|why| format!("{name}: {why:#}"))
    };
    let refused: Vec<String> = running.iter().filter_map(ask).collect();
    if !running.is_empty() && refused.len() == running.len() {
        bail!("{}", refused.join("\n"));
    }
    Ok(refused)
}
