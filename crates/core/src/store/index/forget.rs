//! Frees the memory of summaries that are on disk, for a process that works for days.

use super::file::{self, OpenFiles};
use super::known::{Known, Part, Runs};
use super::{RunIndex, RunStore};

impl RunIndex {
    /// How many summaries are in memory.
    pub fn in_memory(&self) -> usize {
        self.known
            .iter()
            .filter(|known| known.in_memory().is_some())
            .count()
    }

    /// Frees the summaries that the file of all holds as they are known here. They are read again
    /// when somebody asks. Where the file cannot be read, nothing is freed.
    pub fn forget_summaries(&mut self) {
        let files = self.store.files();
        let base = file::base(files, &self.paths);
        let Some(whole) = file::load(files, &self.paths.whole, Part::Whole, None) else {
            return;
        };
        let mut left = Vec::new();
        let mut list = Vec::with_capacity(self.known.len());
        for mut old in std::mem::take(&mut self.known) {
            match whole.known.get(old.id) {
                Some(new) if new.is_the_same(&old) => {
                    list.extend(
                        new.place
                            .map(|place| Known::at(old.id, old.stamp, old.keys, place)),
                    );
                }
                _ => {
                    keep_in_memory(&mut old, &self.open, &self.store);
                    left.push(old.id);
                    list.push(old);
                }
            }
        }
        self.known = Runs::sorted(list).unwrap_or_default();
        self.unmerged = left.into_iter().collect();
        (self.base, self.open.whole) = (base, Some(whole.file));
    }
}

/// Reads a summary whose place is in the file of all that is read no more.
fn keep_in_memory(known: &mut Known, open: &OpenFiles, store: &RunStore) {
    let Some(place) = known.place.filter(|place| place.of == Part::Whole) else {
        return;
    };
    let read = || {
        let summary = open.summary(place);
        summary
            .or_else(|| store.read_summary(known.id).ok())
            .map(Box::new)
    };
    known.summary.get_or_init(read);
    known.place = None;
}
