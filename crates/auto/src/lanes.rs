//! Lanes: loops side by side, one for each device. Each has a work tree, a branch and an incumbent
//! of its own; the records and the ledgers are those of the work tree that the lanes were made for.

use super::files::read_state_in;
use super::state::{Phase, State};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use lab_git::Repo;
use lab_project::{Project, loop_claim};
use lab_protocol::Target;
use lab_store::RunIndex;
use lab_system::stamp::{Stamp, stamp};
use std::path::PathBuf;

/// Makes the lane of a device where it is not there yet, and opens the kernel in it. A lane of a
/// trusted folder is trusted where its lab.toml is the same.
pub fn open_lane(project: &Project, device: Target) -> Result<Project> {
    if let Some(lane) = &project.lane {
        bail!(
            "{} is the lane {lane} already: start lanes from {}",
            project.root.display(),
            project.base.display()
        );
    }
    let name = name_of(project, device);
    let path = project.lane_root(&name);
    lab_git::lane_tree(&Repo::open(project)?, &path, &name)?;
    let lane = Project::open(&path, Some(&path.join(&project.kernel_name)))
        .with_context(|| format!("cannot open the lane {name}"))?;
    if lane.lane.is_none() || lane.lab_dir != project.lab_dir {
        bail!("{} is no work tree of a lane: move it away", path.display());
    }
    if lane.config != project.config {
        bail!(
            "lab.toml on the branch lane/{name} is another one than here: commit it here, and merge it into that branch (`git -C {} \
             merge`)",
            lane.root.display()
        );
    }
    if project.trust_mark.is_granted()? {
        lane.trust_mark.grant(&lane.root)?;
    }
    Ok(lane)
}

/// One lane, read from the files of its loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneView {
    pub name: String,
    /// The lane's device: `cuda:0`.
    pub device: String,
    /// A loop works in it now.
    pub running: bool,
    /// `None` if no loop has worked in it; the error where its state cannot be read.
    pub state: Result<Option<State>, String>,
}

/// Reads all lanes of a kernel, by name. A lane has none. `index` is up to date.
pub fn lanes(project: &Project, index: &RunIndex) -> Vec<LaneView> {
    let read = |(name, folder): (String, PathBuf)| LaneView {
        device: device_of(project, &name),
        name,
        running: loop_claim::is_running_in(project, &folder),
        state: read_state_in(project, &folder)
            .map(|state| Some(state?.follow(index)))
            .map_err(|error| format!("{error:#}")),
    };
    names(project).map(read).collect()
}

/// What a watcher looks at to know when [`lanes`] would read something else: of each lane whether
/// its loop runs, and the stamp of its state.
pub fn stamps(project: &Project) -> Vec<(bool, Option<Stamp>)> {
    let files = project.files();
    let look = |(_, folder): (String, PathBuf)| {
        (
            loop_claim::is_running_in(project, &folder),
            stamp(&files, &folder.join("state.json")),
        )
    };
    names(project).map(look).collect()
}

/// The names of the lanes of this kernel's folder, and the folders of their loops.
fn names(project: &Project) -> impl Iterator<Item = (String, PathBuf)> {
    let names = match project.lane {
        Some(_) => Vec::new(),
        None => project.lanes(),
    };
    let kernel = format!("{}-", folder_name(project));
    let of_kernel = names
        .into_iter()
        .filter(move |name| name.starts_with(&kernel));
    of_kernel.map(|name| {
        let folder = loop_claim::folder_of_lane(project, &name);
        (name, folder)
    })
}

impl LaneView {
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

/// The device of a lane, as [`device_name`] writes it.
fn device_of(project: &Project, name: &str) -> String {
    let device = name
        .strip_prefix(&format!("{}-", folder_name(project)))
        .unwrap_or(name);
    match device.rsplit_once('-') {
        Some((device, number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{device}:{number}")
        }
        _ => device.to_owned(),
    }
}

/// The name of a lane: the kernel's folder and the device, as a branch may be named.
fn name_of(project: &Project, device: Target) -> String {
    format!(
        "{}-{}",
        folder_name(project),
        device_name(device).replace(':', "-")
    )
}

/// The device with its number: `cuda:0`.
pub fn device_name(device: Target) -> String {
    match device {
        Target::Cuda(number) => format!("cuda:{number}"),
        other => other.to_string(),
    }
}

fn folder_name(project: &Project) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = project.name().chars().map(letter).collect();
    match name.trim_matches('-') {
        "" => "kernel".to_owned(),
        name => name.to_owned(),
    }
}
