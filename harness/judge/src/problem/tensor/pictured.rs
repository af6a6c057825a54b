//! The pictures of an output with wrong cells: what run.log shows, and the file with all its cells.

use crate::cells::{Pair, Picture};
use crate::outcome::Result;
use lab_protocol::report::all_cells::{self, MOST_CELLS};
use lab_protocol::report::wrong_cells::{WrongMap, WrongTile};
use lab_system::root::Root;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The pictures of one output in all cases of a run.
#[derive(Debug, Default)]
pub struct Pictured {
    /// The cells of the largest picture so far.
    largest: AtomicUsize,
    /// The file for all cells of that picture.
    file: OnceLock<PathBuf>,
}

impl Pictured {
    /// Writes all cells of each picture into this file, in an existing folder.
    pub fn keep_cells(&self, file: PathBuf) {
        self.file.get_or_init(|| file);
    }

    /// A picture of the output in a workload. `None` if no cell is wrong, or if an earlier picture is
    /// as large: a large one shows the pattern best.
    pub fn picture(
        &self,
        pair: &Pair,
        shape: &[usize],
        workload: &str,
    ) -> Result<Option<(WrongMap, WrongTile)>> {
        let cells = shape.iter().product();
        if cells > MOST_CELLS || self.largest.fetch_max(cells, Ordering::Relaxed) >= cells {
            return Ok(None);
        }
        let shape = match shape.last() {
            Some(&columns) if columns > 1 => [cells / columns, columns],
            _ => [1, cells],
        };
        let picture = Picture::of(pair, shape)?;
        let Some(map) = picture.map(workload) else {
            return Ok(None);
        };
        if let Some((file, folder)) = self.file.get().and_then(|it| Some((it, it.parent()?))) {
            // The verdict does not need the file: a full disk is no failure of the run.
            let _ = Root::new(folder).replace_with(file, |out| {
                let all = (0..cells).map(|index| picture.cell(index));
                all_cells::write(out, all, pair.dtype.is_wide())
            });
        }
        Ok(Some((map, picture.tile())))
    }
}
