//! The state of the graph: the commits as far as they were read, the selected one, and the target
//! it reads on to.

use crate::prelude::*;
use crate::reply::GraphPage;
use lab_git::{GraphEntry, Lanes, Marks, Place};
use lab_run::experiment::ExperimentKey;

/// Most commits that are held: 41 MiB, read in 0.9 s
/// (`cargo bench --bench history -- 10000 200000`, on two cores with other work). A million would
/// take ten times that, and nobody looks through them by eye.
const HELD: usize = 100_000;

#[derive(Clone, Debug)]
pub struct GraphRow {
    /// Without its parents: `place` holds what they were needed for.
    pub entry: GraphEntry,
    pub(super) place: Place,
    /// No branch holds the commit: it was inserted.
    is_loose: bool,
}

/// Where the graph reads on to, page after page, until a key stops it.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadTarget {
    /// This row, counted from 0, or the last one.
    Row(usize),
    /// The commit whose id begins with these digits.
    Commit(String),
    /// The parent of a commit that no branch holds: the commit is inserted above it.
    Tried(Box<GraphEntry>),
}

#[derive(Clone, Debug, Default)]
pub struct GraphState {
    /// As far as it was read, newest first.
    pub rows: Vec<GraphRow>,
    lanes: Lanes,
    /// There are no older ones.
    pub at_end: bool,
    /// A page was asked for and has not come yet.
    pub asked: bool,
    pub target: Option<ReadTarget>,
    /// A commit that no branch holds, while its details are loaded.
    pub loose: Option<String>,
    /// The experiment that was selected on the screen when this selection was last made.
    pub followed: Option<ExperimentKey>,
    pub list: ListState,
}

impl GraphState {
    pub fn take_in(&mut self, page: GraphPage, marks: &Marks) {
        if page.is_first {
            if self
                .rows
                .get(self.list.selected)
                .is_some_and(|row| row.is_loose)
            {
                // The inserted row is gone: it has to be looked for again.
                self.followed = None;
            }
            self.rows.clear();
            self.lanes = Lanes::default();
        }
        for mut entry in page.entries {
            entry.commit.experiment = marks.get(&entry.commit.id).cloned().map(Box::new);
            let place = self
                .lanes
                .place(&entry.commit.id, &std::mem::take(&mut entry.parents));
            self.rows.push(GraphRow {
                entry,
                place,
                is_loose: false,
            });
        }
        self.at_end = page.is_last;
        self.list.selected = self.list.selected.min(self.last());
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    /// No more commits are held.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= HELD
    }

    pub fn selected(&self) -> Option<&GraphEntry> {
        self.rows.get(self.list.selected).map(|row| &row.entry)
    }

    /// Selects the commit whose id begins with these digits; false where it was not read.
    pub fn go_to(&mut self, digits: &str) -> bool {
        let found = self.position(digits);
        self.list.selected = found.unwrap_or(self.list.selected).min(self.last());
        found.is_some()
    }

    fn position(&self, digits: &str) -> Option<usize> {
        self.rows
            .iter()
            .position(|row| row.entry.commit.id.starts_with(digits))
    }

    /// Selects the target, or the row nearest to it so far; true once it is reached.
    pub fn reach(&mut self) -> bool {
        match self.target.take() {
            None => return true,
            Some(ReadTarget::Row(row)) => {
                self.list.selected = row.min(self.last());
                self.target = (self.list.selected != row).then_some(ReadTarget::Row(row));
            }
            Some(ReadTarget::Commit(digits)) => {
                self.target = (!self.go_to(&digits)).then_some(ReadTarget::Commit(digits));
            }
            Some(ReadTarget::Tried(entry)) => {
                self.target = self.insert(entry).map(ReadTarget::Tried);
            }
        }
        self.target.is_none()
    }

    /// Inserts a commit that no branch holds above its first parent, and selects it. Returns the
    /// commit where the parent was not read yet.
    fn insert(&mut self, mut entry: Box<GraphEntry>) -> Option<Box<GraphEntry>> {
        if self.go_to(&entry.commit.id) {
            return None;
        }
        let Some(at) = entry
            .parents
            .first()
            .and_then(|parent| self.position(parent))
        else {
            return Some(entry);
        };
        let below = &mut self.rows[at].place;
        let place = above(below);
        below.has_child = true;
        entry.parents.clear();
        self.rows.insert(
            at,
            GraphRow {
                entry: *entry,
                place,
                is_loose: true,
            },
        );
        self.list.selected = at;
        None
    }
}

/// The place of one more child right above its parent: beside all lines that come from above.
fn above(parent: &Place) -> Place {
    let own = parent.has_child.then_some(parent.column);
    let mut passing: Vec<usize> = parent
        .passing
        .iter()
        .chain(&parent.joins)
        .copied()
        .chain(own)
        .collect();
    passing.sort_unstable();
    let is_free = |column: &usize| *column != parent.column && !passing.contains(column);
    let column = (0..).find(is_free).unwrap_or_default();
    Place {
        column,
        has_child: false,
        joins: Vec::new(),
        parents: vec![parent.column],
        passing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_git::LogEntry;

    fn entry(id: &str, parents: &[&str]) -> GraphEntry {
        let commit = LogEntry {
            id: id.to_owned(),
            subject: String::new(),
            author: String::new(),
            time: jiff::Timestamp::UNIX_EPOCH,
            experiment: None,
        };
        GraphEntry {
            commit,
            parents: parents.iter().map(|id| (*id).to_owned()).collect(),
            labels: Vec::new(),
        }
    }

    /// A page of one line of commits.
    fn page(ids: &[&str], is_first: bool, is_last: bool) -> GraphPage {
        let parents = ids.iter().skip(1).map(Some).chain([None]);
        let entries = ids
            .iter()
            .zip(parents)
            .map(|(id, parent)| entry(id, parent.copied().as_slice()));
        GraphPage {
            is_first,
            is_last,
            entries: entries.collect(),
        }
    }

    fn ids(state: &GraphState) -> String {
        state
            .rows
            .iter()
            .map(|row| row.entry.commit.id.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_target_is_neared_with_each_page_and_forgotten_once_it_is_reached() {
        let none = Marks::of(&[]);
        let mut state = GraphState::default();
        state.take_in(page(&["f", "e", "d"], true, false), &none);
        assert!(state.reach(), "there is no target");
        state.target = Some(ReadTarget::Row(4));
        assert!(!state.reach() && state.list.selected == 2);
        state.take_in(page(&["c", "b", "a"], false, true), &none);
        assert!(state.reach() && state.list.selected == 4 && state.target.is_none());
        state.target = Some(ReadTarget::Commit("d".into()));
        assert!(state.reach() && state.list.selected == 2);
        state.target = Some(ReadTarget::Row(usize::MAX));
        assert!(
            !state.reach() && state.list.selected == 5,
            "as far as there is something"
        );
    }

    #[test]
    fn a_commit_that_no_branch_holds_is_inserted_above_its_parent_once() {
        let none = Marks::of(&[]);
        let mut state = GraphState::default();
        state.take_in(page(&["c", "b", "a"], true, true), &none);
        state.target = Some(ReadTarget::Tried(Box::new(entry("x", &["z"]))));
        assert!(!state.reach() && ids(&state) == "c b a" && state.target.is_some());
        for _ in 0..2 {
            state.target = Some(ReadTarget::Tried(Box::new(entry("x", &["b"]))));
            assert!(state.reach());
            assert_eq!((ids(&state).as_str(), state.list.selected), ("c x b a", 1));
        }
        let place = &state.rows[1].place;
        assert_eq!(
            (place.column, &place.parents[..], &place.passing[..]),
            (1, &[0][..], &[0][..])
        );
        // The first page of a new walk removes it: it has to be looked for again.
        state.followed = Some(ExperimentKey {
            commit: "x".into(),
            run: None,
            decided: None,
        });
        state.take_in(page(&["c", "b", "a"], true, true), &none);
        assert_eq!(
            (ids(&state).as_str(), state.followed.is_none()),
            ("c b a", true)
        );
    }
}
