//! `lab clean`: packs git's loose objects and the lab's refs, and removes the whole wrong outputs of
//! failed runs.

use super::{any, say, told};
use anyhow::Result;
use lab_git::{ObjectFiles, Repo};
use lab_store::RunStore;
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

/// What `lab clean` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct CleanAnswer {
    /// Loose objects that are in a pack now.
    packed: usize,
    /// Refs of the lab that are in one file now.
    packed_refs: usize,
    /// Bytes on disk of all cells of wrong outputs (`.lab/cells`) that were removed.
    freed_cells: u64,
    /// Before the clean-up.
    before: ObjectFiles,
    /// After it.
    after: ObjectFiles,
}

pub fn main() -> Result<ExitCode> {
    let project = any()?;
    let packed_refs = lab_decide::pack_refs(&project)?;
    let cleaned = lab_git::clean(&Repo::open(&project)?)?;
    let freed_cells = RunStore::new(&project.lab_dir).remove_cells()?;
    let answered = CleanAnswer {
        packed: cleaned.packed(),
        packed_refs,
        freed_cells,
        before: cleaned.before,
        after: cleaned.after,
    };
    Ok(told(answered, || {
        say(&cleaned.to_string());
        say(&format!(
            "{packed_refs} refs of the lab are in one file now. Each of them is there"
        ));
        say(&format!(
            "all cells of the wrong outputs of failed runs are removed from .lab/cells: {:.1} MB freed. Their logs keep the \
             first wrong cells",
            freed_cells as f64 / 1e6
        ));
    }))
}

/// Packs git's loose objects after a decision if there are many, and returns what that freed. A
/// failure costs disk space and nothing else.
pub fn after_a_decision(repo: &Repo) -> Option<String> {
    let cleaned = lab_git::has_many_loose_objects(repo)
        .then(|| lab_git::clean(repo).ok())
        .flatten()?;
    Some(cleaned.to_string())
}
