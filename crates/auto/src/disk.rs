//! What a loop takes on disk, and how that stays bounded: a kernel may print up to lab.toml's
//! `output_limit_mib` in each run.

use anyhow::Result;
use lab_git::{ObjectFiles, Repo};
use lab_project::Project;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_store::{RunIndex, RunStore};
use lab_system::listing;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

/// The newest runs of which each run.log stays whole.
const WHOLE_LOGS: u64 = 100;

/// Bytes at the beginning and at the end of an older run.log that stay.
const LOG_END: u64 = 32 << 10;

/// What runs and git take on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DiskUse {
    /// Bytes in `.lab/runs`.
    pub runs_bytes: u64,
    /// Bytes of git's objects.
    pub git_bytes: u64,
}

/// Measures what runs and git take. Looks at every file of `.lab/runs`.
pub fn disk_use(project: &Project) -> Result<DiskUse> {
    let ObjectFiles {
        bytes: git_bytes, ..
    } = lab_git::object_files(&Repo::open(project)?);
    let mut runs_bytes = 0;
    for run in listing::entries(RunStore::of(project).runs()) {
        for file in listing::entries(run.path()).chain([run]) {
            runs_bytes += file.metadata().map_or(0, |found| found.blocks() * 512);
        }
    }
    Ok(DiskUse {
        runs_bytes,
        git_bytes,
    })
}

/// Cuts the run.log of each discarded run that is newer than `cut` and older than the newest 100 to
/// its first and last 32 KiB. Returns the newest run that was looked at. What cannot be cut stays.
pub fn cut_logs(project: &Project, index: &RunIndex, cut: RunId) -> RunId {
    let newest = index.newest().next().map_or(RunId(0), |run| run.id);
    let last = RunId(newest.0.saturating_sub(WHOLE_LOGS));
    let is_discarded = |run: &RunId| {
        let decision = index.summary(*run).and_then(|run| run.decision.as_ref());
        decision.is_some_and(|decision| matches!(decision.status, Status::Discard | Status::Crash))
    };
    for run in (cut.0 + 1..=last.0).map(RunId).filter(is_discarded) {
        let _ = cut_log(project, index.store(), run);
    }
    cut.max(last)
}

fn cut_log(project: &Project, store: &RunStore, run: RunId) -> std::io::Result<()> {
    let mut log = store.open_log(run)?;
    let length = log.metadata()?.len();
    if length <= 2 * LOG_END {
        return Ok(());
    }
    let mut bytes = Vec::new();
    log.by_ref().take(LOG_END).read_to_end(&mut bytes)?;
    let left_out = length - 2 * LOG_END;
    bytes.extend(
        format!("\nlab: {left_out} bytes are left out here: the run is an old one of lab auto\n")
            .bytes(),
    );
    log.seek(SeekFrom::End(-(LOG_END as i64)))?;
    log.take(LOG_END).read_to_end(&mut bytes)?;
    project.files().replace(&store.log(run), &bytes)
}
