//! What a screen shows of each lane of a kernel: read from the files of its loop.

use super::files::read_state_in;
use super::lanes::{device_of, names};
use super::state::{Phase, State};
use crate::disk::stamp::{Stamp, stamp};
use crate::project::{Project, loop_claim};
use jiff::Timestamp;

/// One lane.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneView {
    /// The lane's device: `cuda:0`.
    pub device: String,
    /// A loop works in it now.
    pub running: bool,
    /// `None` if no loop has worked in it; the error where its state cannot be read.
    pub state: Result<Option<State>, String>,
}

impl LaneView {
    /// Reads all lanes of a kernel, by name. A lane has none.
    pub(super) fn read_all(project: &Project) -> Vec<LaneView> {
        if project.lane.is_some() {
            return Vec::new();
        }
        let read = |name: String| {
            let folder = loop_claim::folder_of_lane(project, &name);
            LaneView {
                device: device_of(project, &name),
                running: loop_claim::is_running_in(project, &folder),
                state: read_state_in(project, &folder).map_err(|error| format!("{error:#}")),
            }
        };
        names(project).into_iter().map(read).collect()
    }

    /// The state, if there is one.
    pub fn known(&self) -> Option<&State> {
        self.state.as_ref().ok()?.as_ref()
    }

    /// Whether the command edits in it or its kernel is judged.
    pub fn is_in_turn(&self) -> bool {
        let phase = self.known().map(|state| state.phase);
        self.running && matches!(phase, Some(Phase::Editing | Phase::Judging))
    }

    /// Its loop waits until a person asks it to go on.
    pub fn is_paused(&self) -> bool {
        self.running
            && self
                .known()
                .is_some_and(|state| state.phase == Phase::Paused)
    }

    /// Experiments an hour since the budget began. `None` before the first one.
    pub fn rate(&self, now: Timestamp) -> Option<f64> {
        self.known()?.rate(self.running, now)
    }
}

/// What a watcher looks at to know when [`LaneView::read_all`] would read something else: of each
/// lane whether its loop runs, and the stamp of its state.
pub(super) fn stamps(project: &Project) -> Vec<(bool, Option<Stamp>)> {
    if project.lane.is_some() {
        return Vec::new();
    }
    let files = project.files();
    let look = |name: String| {
        let folder = loop_claim::folder_of_lane(project, &name);
        (
            loop_claim::is_running_in(project, &folder),
            stamp(&files, &folder.join("state.json")),
        )
    };
    names(project).into_iter().map(look).collect()
}
