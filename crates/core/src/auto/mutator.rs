//! The turn of `lab auto --mutate SEED`: the incumbent with one seeded change.

use super::answer::Answer;
use super::command::Edited;
use super::mutate::{Draw, mutate};
use super::progress::is_of_lane;
use super::state::{LastTurn, TurnOutcome};
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::store::RunIndex;
use anyhow::{Context, Result};
use lab_protocol::Language;

/// Changes the incumbent. A kernel of which a run is known is taken only if no other is found. A
/// lane draws from the seed and from its device, and for a lane only runs on its device count: what
/// the other lanes do, and when, changes nothing.
pub(super) fn edit(
    project: &Project,
    index: &RunIndex,
    seed: u64,
    turn: u64,
    device: &str,
) -> Result<Edited> {
    let mut told = LastTurn::begun(turn);
    told.command = format!("the mutator with seed {seed}");
    let lane = project.lane.as_ref().map(|_| device);
    let repo = Repo::open(project)?;
    let head = repo::head(&repo)?.commit.context("HEAD is on no commit")?;
    let incumbent = repo::bytes_of(&repo, project, &head)?;
    let is_tried = |bytes: &[u8]| {
        let Ok(blob) = repo::blob_id(&repo, &project.kernel_name, bytes) else {
            return false;
        };
        let mut known = index
            .newest_of_blob(&blob)
            .filter(|run| run.kernel == project.kernel_name);
        known.any(|run| is_of_lane(project, index, run, device))
    };
    let language = Language::of(&project.kernel_name);
    Ok(
        match mutate(&incumbent, language, Draw { seed, lane, turn }, is_tried) {
            None => {
                let why = "the mutator finds nothing to change in the kernel";
                Edited::Without {
                    told: told.ended(TurnOutcome::Nothing, why),
                    cost: 0.0,
                }
            }
            Some(mutation) => Edited::Kernel {
                bytes: mutation.bytes,
                answer: Answer {
                    description: Some(format!("mutate {}", mutation.what)),
                    ..Answer::default()
                },
                told,
            },
        },
    )
}
