//! What the graph remembers: the commits as far as they were read, which is selected, and what it reads on to.

use super::super::super::event::GraphPage;
use crate::session::experiment::Key;
use crate::session::repo::{GraphEntry, Lanes, Marks, Place};

/// Commits that are held at most: some 50 MB of them (`cargo bench --bench graph` says how much).
pub const HELD: usize = 100_000;

#[derive(Clone, Debug)]
pub struct GraphRow {
    /// Without its parents: what they were for is the place.
    pub entry: GraphEntry,
    pub(super) place: Place,
    /// No branch holds it: it was put in.
    is_loose: bool,
}

/// What is read on to, page after page, until a key stops it.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// This row, from 0, or the last one.
    Row(usize),
    /// The commit whose id begins so.
    Commit(String),
    /// The commit that an experiment was tried on which no branch holds: it gets a row above it.
    Tried(Box<GraphEntry>),
}

#[derive(Clone, Debug, Default)]
pub struct GraphState {
    /// As far as it was read, newest first.
    pub rows: Vec<GraphRow>,
    lanes: Lanes,
    /// There are no older ones.
    pub at_end: bool,
    /// A page is on its way.
    pub asked: bool,
    pub goal: Option<Goal>,
    /// The commit of an experiment that no branch holds, as long as it is being read.
    pub loose: Option<String>,
    /// The experiment that was chosen when the selection here was last made.
    pub known: Option<Key>,
    selected: usize,
    first: usize,
}

impl GraphState {
    pub fn take_in(&mut self, page: GraphPage, marks: &Marks) {
        if page.is_first {
            if self.rows.get(self.selected).is_some_and(|row| row.is_loose) {
                // It has to be looked for anew.
                self.known = None;
            }
            self.rows.clear();
            self.lanes = Lanes::default();
        }
        for mut entry in page.entries {
            entry.commit.experiment = marks.get(&entry.commit.id).cloned().map(Box::new);
            let place = self.lanes.place(&entry.commit.id, &std::mem::take(&mut entry.parents));
            self.rows.push(GraphRow { entry, place, is_loose: false });
        }
        self.at_end = page.is_last;
        self.selected = self.selected.min(self.last());
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    /// No more are taken in.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= HELD
    }

    pub fn selected(&self) -> Option<&GraphEntry> {
        self.rows.get(self.selected).map(|row| &row.entry)
    }

    pub fn select(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.last());
    }

    /// To the commit whose id begins so; false where it was not read.
    pub fn go_to(&mut self, digits: &str) -> bool {
        let found = self.position(digits);
        self.selected = found.unwrap_or(self.selected).min(self.last());
        found.is_some()
    }

    fn position(&self, digits: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.entry.commit.id.starts_with(digits))
    }

    /// Goes to the goal, as near as was read; true where it is there.
    pub fn reach(&mut self) -> bool {
        match self.goal.take() {
            None => return true,
            Some(Goal::Row(row)) => {
                self.selected = row.min(self.last());
                self.goal = (self.selected != row).then_some(Goal::Row(row));
            }
            Some(Goal::Commit(digits)) => {
                self.goal = (!self.go_to(&digits)).then_some(Goal::Commit(digits));
            }
            Some(Goal::Tried(entry)) => self.goal = self.put_in(entry).map(Goal::Tried),
        }
        self.goal.is_none()
    }

    /// Gives a commit that no branch holds a row above its first parent, and selects it; gives it back where the parent was
    /// not read.
    fn put_in(&mut self, mut entry: Box<GraphEntry>) -> Option<Box<GraphEntry>> {
        if self.go_to(&entry.commit.id) {
            return None;
        }
        let Some(at) = entry.parents.first().and_then(|parent| self.position(parent)) else {
            return Some(entry);
        };
        let below = &mut self.rows[at].place;
        let place = above(below);
        below.has_child = true;
        entry.parents.clear();
        self.rows.insert(at, GraphRow { entry: *entry, place, is_loose: true });
        self.selected = at;
        None
    }

    /// The selected row.
    pub fn at(&self) -> usize {
        self.selected
    }

    /// Rows below the selected one.
    pub fn left_below(&self) -> usize {
        self.rows.len().saturating_sub(self.selected + 1)
    }

    pub(super) fn bring_into_view(&mut self, rows: usize) -> usize {
        let lowest = (self.selected + 1).saturating_sub(rows);
        self.first = self.first.clamp(lowest, self.selected.max(lowest));
        self.first
    }
}

/// The place of a further child right above its parent: beside all lines that come from above.
fn above(parent: &Place) -> Place {
    let own = parent.has_child.then_some(parent.column);
    let mut passing: Vec<usize> = parent.passing.iter().chain(&parent.joins).copied().chain(own).collect();
    passing.sort_unstable();
    let is_free = |column: &usize| *column != parent.column && !passing.contains(column);
    let column = (0..).find(is_free).unwrap_or_default();
    Place { column, has_child: false, joins: Vec::new(), parents: vec![parent.column], passing }
}
