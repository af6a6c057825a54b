//! What the index keeps of each run, in one list: ten thousand runs take a few blocks of memory and
//! not one for each.

use super::keys::{Fact, Keys};
use crate::disk::stamp::Stamp;
use crate::run::RunId;
use crate::store::summary::RunSummary;
use serde::Deserialize;
use std::cell::OnceCell;

/// A summary with the stamp of the record's file when it was read.
#[derive(Deserialize)]
pub struct Entry {
    pub stamp: Stamp,
    #[serde(rename = "brief")]
    pub summary: RunSummary,
}

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `index.bin`.
    Whole,
    /// `index.new.bin`.
    Newer,
}

/// Where a summary is in a file of the index.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub of: Part,
    pub at: u64,
    pub length: u64,
}

/// What is kept of a record that was read.
pub struct Known {
    pub id: RunId,
    /// Of the record's file when it was read.
    pub stamp: Stamp,
    pub keys: Keys,
    /// `None` if the record was read since the copy on disk was written.
    pub place: Option<Place>,
    /// Filled when somebody asks; holds `None` if the summary cannot be read.
    pub summary: OnceCell<Option<Box<RunSummary>>>,
}

impl Known {
    /// A summary on disk, which is not read yet.
    pub fn at(id: RunId, stamp: Stamp, keys: Keys, place: Place) -> Self {
        Known {
            id,
            stamp,
            keys,
            place: Some(place),
            summary: OnceCell::new(),
        }
    }

    /// A summary that was read from its record.
    pub fn read(Entry { stamp, mut summary }: Entry) -> Self {
        // A list keeps room for more items than it has; with ten thousand runs that adds up.
        summary
            .decision
            .iter_mut()
            .for_each(|decision| decision.trailers.shrink_to_fit());
        summary.peers.shrink_to_fit();
        let (id, keys) = (summary.id, Keys::of(&summary));
        Known {
            id,
            stamp,
            keys,
            place: None,
            summary: OnceCell::from(Some(Box::new(summary))),
        }
    }

    /// Whether both are of the same record, read when its file was the same.
    pub fn is_the_same(&self, other: &Known) -> bool {
        self.stamp == other.stamp && self.keys == other.keys
    }

    pub fn in_memory(&self) -> Option<&RunSummary> {
        self.summary.get()?.as_deref()
    }

    pub fn has_verdict(&self) -> bool {
        self.keys.is(Fact::HasVerdict)
    }
}

/// The runs that are known, each once.
#[derive(Default)]
pub struct Runs {
    /// Oldest first.
    list: Vec<Known>,
}

impl Runs {
    /// The runs of a file of the index. `None` unless they stand in their order, each once.
    pub fn sorted(list: Vec<Known>) -> Option<Runs> {
        list.is_sorted_by(|a, b| a.id < b.id)
            .then_some(Runs { list })
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Oldest first.
    pub fn iter(&self) -> std::slice::Iter<'_, Known> {
        self.list.iter()
    }

    pub fn get(&self, id: RunId) -> Option<&Known> {
        self.place_of(id).ok().map(|at| &self.list[at])
    }

    fn place_of(&self, id: RunId) -> Result<usize, usize> {
        // Most runs are asked for, or come, at the end.
        match self.list.last() {
            Some(last) if last.id < id => Err(self.list.len()),
            _ => self.list.binary_search_by_key(&id, |known| known.id),
        }
    }

    /// Adds a run, in place of what was known of it.
    pub fn insert(&mut self, known: Known) {
        match self.place_of(known.id) {
            Ok(at) => self.list[at] = known,
            Err(at) => self.list.insert(at, known),
        }
    }

    pub fn remove(&mut self, id: RunId) {
        if let Ok(at) = self.place_of(id) {
            self.list.remove(at);
        }
    }

    /// Forgets the runs that are not among `ids`, which are sorted, newest first. Both are walked
    /// once.
    pub fn retain(&mut self, ids: &[RunId]) {
        let mut here = ids.iter().rev().peekable();
        self.list.retain(|known| {
            while here.next_if(|here| **here < known.id).is_some() {}
            here.next_if(|here| **here == known.id).is_some()
        });
    }
}

impl IntoIterator for Runs {
    type Item = Known;
    type IntoIter = std::vec::IntoIter<Known>;

    /// Oldest first.
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: u64, kernel: u64) -> Known {
        let keys = Keys::from_words([kernel, 0, 0, 0, 0, 0, 0, 0]);
        Known::at(
            RunId(id),
            (0, 0, 0, 0),
            keys,
            Place {
                of: Part::Whole,
                at: 0,
                length: 0,
            },
        )
    }

    fn ids(runs: &Runs) -> Vec<u64> {
        runs.iter().map(|known| known.id.0).collect()
    }

    #[test]
    fn runs_stay_sorted_and_each_is_there_once() {
        let mut runs = Runs::default();
        for id in [5, 9, 2, 7] {
            runs.insert(known(id, 0));
        }
        runs.insert(known(7, 1));
        assert_eq!((ids(&runs), runs.len()), (vec![2, 5, 7, 9], 4));
        assert_eq!(runs.get(RunId(7)).map(|known| known.keys.kernel), Some(1));
        runs.remove(RunId(5));
        runs.remove(RunId(6));
        assert!(runs.get(RunId(5)).is_none() && runs.get(RunId(10)).is_none());
        runs.retain(&[12, 9, 4, 2].map(RunId));
        assert_eq!(ids(&runs), [2, 9]);
        assert!(Runs::sorted(vec![known(1, 0), known(1, 0)]).is_none());
        assert!(Runs::sorted(vec![known(2, 0), known(1, 0)]).is_none());
    }
}
