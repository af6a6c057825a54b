//! What a person asks a running loop for: pause, go on, stop, end the turn.

use super::files::{Files, read_state_in};
use super::lanes::{LaneView, lanes};
use super::state::Phase;
use anyhow::{Result, bail};
use lab_project::{Project, loop_claim};
use lab_store::RunIndex;
use std::path::PathBuf;

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
    request_in(project, loop_claim::folder(project), asked)
}

/// Asks the loop with this folder.
fn request_in(project: &Project, folder: PathBuf, asked: Request) -> Result<()> {
    let kernel = &project.kernel_name;
    if !loop_claim::is_running_in(project, &folder) {
        bail!(
            "no `lab auto` works on {kernel}: there is nothing to {}",
            asked.verb()
        );
    }
    let files = Files {
        folder,
        ..Files::of(project)?
    };
    if asked != Request::EndTurn {
        return files.write_request(asked.word());
    }
    match read_state_in(project, &files.folder)? {
        Some(state) if matches!(state.phase, Phase::Editing | Phase::Judging) => {
            files.write_end_of_turn(state.turn)
        }
        _ => bail!("no turn is in progress on {kernel}: there is nothing to end"),
    }
}

/// Asks the loop of a kernel, and those of all its lanes that run. Returns why single lanes
/// refused, as a line each: of several lanes one may be between two turns. An error means that
/// nobody took the request.
pub fn request_everywhere(project: &Project, asked: Request) -> Result<Vec<String>> {
    let mut running = lanes(project, &RunIndex::new(project));
    running.retain(|lane| lane.running);
    if running.is_empty() || loop_claim::is_running(project) {
        request(project, asked)?;
    }
    let ask = |lane: &LaneView| {
        let folder = loop_claim::folder_of_lane(project, &lane.name);
        let why = request_in(project, folder, asked).err()?;
        Some(format!("{}: {why:#}", lane.name))
    };
    let refused: Vec<String> = running.iter().filter_map(ask).collect();
    if !running.is_empty() && refused.len() == running.len() {
        bail!("{}", refused.join("\n"));
    }
    Ok(refused)
}
