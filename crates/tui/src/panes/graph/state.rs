//! What the graph remembers: the commits as far as they were read, which is selected, and what it reads on to.

use super::super::super::event::GraphPage;
use lab_core::repo::{GraphEntry, Lanes, Marks, Place};
use lab_core::run::experiment::Key;

/// Commits that are held at most: 41 MiB, read on to in 0.9 s (`cargo bench --bench history -- 10000 200000`, on two cores
/// with other work). All of a million would be ten times that, and nobody looks through them by eye.
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

#[cfg(test)]
mod tests {
    use super::*;
    use lab_core::repo::LogEntry;

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
        let entries = ids.iter().zip(parents).map(|(id, parent)| entry(id, parent.copied().as_slice()));
        GraphPage { is_first, is_last, entries: entries.collect() }
    }

    fn ids(state: &GraphState) -> String {
        state.rows.iter().map(|row| row.entry.commit.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_goal_is_neared_with_each_page_and_forgotten_where_it_is_reached() {
        let none = Marks::of(&[]);
        let mut state = GraphState::default();
        state.take_in(page(&["f", "e", "d"], true, false), &none);
        assert!(state.reach(), "there is no goal");
        state.goal = Some(Goal::Row(4));
        assert!(!state.reach() && state.at() == 2);
        state.take_in(page(&["c", "b", "a"], false, true), &none);
        assert!(state.reach() && state.at() == 4 && state.goal.is_none());
        state.goal = Some(Goal::Commit("d".into()));
        assert!(state.reach() && state.at() == 2);
        state.goal = Some(Goal::Row(usize::MAX));
        assert!(!state.reach() && state.at() == 5, "as far as there is something");
    }

    #[test]
    fn what_no_branch_holds_is_put_in_above_its_parent_once() {
        let none = Marks::of(&[]);
        let mut state = GraphState::default();
        state.take_in(page(&["c", "b", "a"], true, true), &none);
        state.goal = Some(Goal::Tried(Box::new(entry("x", &["z"]))));
        assert!(!state.reach() && ids(&state) == "c b a" && state.goal.is_some());
        for _ in 0..2 {
            state.goal = Some(Goal::Tried(Box::new(entry("x", &["b"]))));
            assert!(state.reach());
            assert_eq!((ids(&state).as_str(), state.at()), ("c x b a", 1));
        }
        let place = &state.rows[1].place;
        assert_eq!((place.column, &place.parents[..], &place.passing[..]), (1, &[0][..], &[0][..]));
        // Read anew it is gone, and has to be looked for.
        state.known = Some(Key { commit: "x".into(), run: None, decided: None });
        state.take_in(page(&["c", "b", "a"], true, true), &none);
        assert_eq!((ids(&state).as_str(), state.known.is_none()), ("c b a", true));
    }
}
