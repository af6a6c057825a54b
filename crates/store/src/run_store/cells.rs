//! All cells of the outputs that the newest failed runs got wrong.

use super::RunStore;
use anyhow::{Result, anyhow};
use lab_protocol::report::all_cells::{AllCells, MOST_CELLS};
use lab_run::RunId;
use lab_system::failure::Failure;
use lab_system::root::Access;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many runs keep their cells.
const KEPT: usize = 3;

impl RunStore {
    /// The folder for all cells of the outputs that a run, or the judge on standby, gets wrong. It
    /// has the run's number or the judge's name.
    pub fn cells(&self, name: &str) -> PathBuf {
        self.cells.join(name)
    }

    /// Makes such a folder, which is empty. Where that fails less can be shown later, and nothing
    /// else.
    pub fn make_cells(&self, folder: &Path) {
        let _ = self.files.remove_dir_all(folder);
        let _ = self.files.create_dir_all(folder);
    }

    /// Keeps the cells that a judge wrote into this folder for its run, which got an output wrong, and
    /// removes those of older runs. `None` of a run that has none to keep.
    pub fn keep_cells(&self, id: RunId, folder: Option<&Path>) {
        let own = self.cells(&id.to_string());
        if folder != Some(&own) {
            let _ = self.files.remove_dir_all(&own);
        }
        let Some(folder) = folder else { return };
        if folder != own {
            let _ = self.files.rename(folder, &own);
        }
        let kept = self.files.numbers(&self.cells).unwrap_or_default();
        for old in kept.iter().skip(KEPT) {
            let _ = self.files.remove_dir_all(&self.cells(&old.to_string()));
        }
    }

    /// Removes the cells of all runs that have ended. Returns the bytes on disk that this freed.
    pub fn remove_cells(&self) -> Result<u64> {
        let mut freed = 0;
        for run in self
            .files
            .numbers(&self.cells)
            .cannot("read", &self.cells)?
        {
            if self.is_in_progress(RunId(run)) {
                continue;
            }
            let folder = self.cells(&run.to_string());
            let names = self.files.entries(&folder).unwrap_or_default();
            let files = names
                .iter()
                .map(|name| self.files.metadata(&folder.join(name)));
            let bytes: u64 = files.flatten().map(|about| about.blocks() * 512).sum();
            self.files
                .remove_dir_all(&folder)
                .cannot("remove", &folder)?;
            freed += bytes;
        }
        Ok(freed)
    }

    /// All cells of an output that a run got wrong.
    pub fn all_cells(&self, id: RunId, tensor: &str, shape: [usize; 2]) -> Result<AllCells> {
        let path = self.cells(&id.to_string()).join(tensor);
        let file = self.files.open(&path, Access::Read);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow!(
                "only the first wrong cells of '{tensor}' are there: all cells are kept of the last \
                 {KEPT} failed runs of the built-in harness, for outputs of at most {MOST_CELLS} cells, until `lab clean` removes them"
            ),
            _ => error.into(),
        })?;
        AllCells::of(file, shape).cannot("read", &path)
    }
}
