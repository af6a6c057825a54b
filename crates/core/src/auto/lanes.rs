//! Lanes: loops side by side, one for each device. Each has a work tree, a branch and an incumbent
//! of its own; the records and the ledgers are those of the work tree that the lanes were made for.

use crate::project::Project;
use crate::repo::{self, Repo};
use anyhow::{Context, Result, bail};
use lab_protocol::Target;

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
    repo::lane_tree(&Repo::open(project)?, &project.files(), &path, &name)?;
    let lane = open(project, &name)?;
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

/// The lanes of this kernel that are there. A lane has none.
pub fn lanes(project: &Project) -> Vec<Project> {
    if project.lane.is_some() {
        return Vec::new();
    }
    let lanes = names(project)
        .into_iter()
        .filter_map(|name| open(project, &name).ok());
    lanes
        .filter(|lane| lane.lane.is_some() && lane.kernel_name == project.kernel_name)
        .collect()
}

/// The names of the lanes of this kernel's folder.
pub(super) fn names(project: &Project) -> Vec<String> {
    let kernel = format!("{}-", folder_name(project));
    project
        .lanes()
        .into_iter()
        .filter(|name| name.starts_with(&kernel))
        .collect()
}

/// The device of a lane, as [`device_name`] writes it.
pub(super) fn device_of(project: &Project, name: &str) -> String {
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

fn open(project: &Project, name: &str) -> Result<Project> {
    let root = project.lane_root(name);
    let kernel = root.join(&project.kernel_name);
    let lane = Project::open(&root, Some(&kernel))
        .with_context(|| format!("cannot open the lane {name}"))?;
    if lane.lane.is_none() || lane.lab_dir != project.lab_dir {
        bail!("{} is no work tree of a lane: move it away", root.display());
    }
    Ok(lane)
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
    let name = name.trim_matches('-');
    if name.is_empty() {
        "kernel".to_owned()
    } else {
        name.to_owned()
    }
}
