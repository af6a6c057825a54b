//! The view Git: the graph as far as it was read, the target it reads on to, and the details of the
//! selected commit.

use crate::model::Model;
use crate::panes::graph::ReadTarget;
use crate::reply::GraphPage;
use crate::request::ViewRequest;
use crate::views::Pane;
use lab_git::{CommitDetails, GraphEntry, LogEntry, Marks, short};
use lab_run::experiment::{Experiment, ExperimentKey};
use lab_text::figures::thousands;

/// The next page is asked for where fewer commits than this are below the selected one.
const NEAR_END: usize = 100;

impl Model {
    /// Reads the graph again where the view shows it: branches may have moved.
    pub(super) fn open_graph(&mut self) {
        if !self.panes.shows(Pane::Graph) {
            return;
        }
        self.panes.graph.asked = true;
        self.load(ViewRequest::Graph);
    }

    pub(super) fn on_graph(&mut self, page: Result<GraphPage, String>) {
        let graph = &mut self.panes.graph;
        graph.asked = false;
        match page {
            Ok(page) => {
                let is_first = page.is_first;
                // In a new walk the selected commit may be in another row.
                let selected = graph
                    .selected()
                    .filter(|_| page.is_first)
                    .map(|entry| entry.commit.id.clone());
                let marks = Marks::of(&self.repository.experiments);
                graph.take_in(page, &marks);
                // An experiment that another pane selected meanwhile, else the commit that was
                // selected here.
                let elsewhere = self
                    .selection
                    .key
                    .clone()
                    .filter(|key| graph.followed.as_ref() != Some(key));
                graph.followed.clone_from(&self.selection.key);
                if let Some(id) = &selected {
                    graph.go_to(id);
                }
                match elsewhere {
                    Some(key) => self.seek(key),
                    None if is_first && selected.is_none() => self.seek_own(),
                    None => self.read_on(),
                }
            }
            Err(why) => {
                graph.target = None;
                self.fail(format!("git log: {why}"));
            }
        }
    }

    /// Marks each commit with the experiment that it holds in the present history.
    pub(super) fn mark_graph(&mut self) {
        let marks = Marks::of(&self.repository.experiments);
        for row in &mut self.panes.graph.rows {
            row.entry.commit.experiment = marks.get(&row.entry.commit.id).cloned().map(Box::new);
        }
    }

    /// Goes to the commit of an experiment that another pane selected, however far down it is.
    fn seek(&mut self, key: ExperimentKey) {
        match self.repository.experiment(&key).map(Experiment::is_kept) {
            None => self.settle(false),
            Some(true) => self.read_to(ReadTarget::Commit(key.commit)),
            Some(false) => self.read_loose(key.commit),
        }
    }

    /// Goes to the newest commit of this kernel, if none of those that were read is one.
    fn seek_own(&mut self) {
        let log = &self.repository.log;
        let own = &self.repository.commits[..log.count_of_own];
        let rows = &self.panes.graph.rows;
        let is_read = |entry: &LogEntry| rows.iter().any(|row| row.entry.commit.id == entry.id);
        match own.first().filter(|_| !own.iter().any(is_read)) {
            Some(newest) => self.read_to(ReadTarget::Commit(newest.id.clone())),
            None => self.read_on(),
        }
    }

    /// Loads the details of a commit that no branch holds, to insert it into the graph.
    fn read_loose(&mut self, commit: String) {
        self.panes.graph.loose = Some(commit.clone());
        self.load(ViewRequest::Commit(commit, self.panes.around));
    }

    /// Selects the target, and reads on until it is reached.
    pub(super) fn read_to(&mut self, target: ReadTarget) {
        self.panes.graph.target = Some(target);
        self.read_on();
    }

    fn read_on(&mut self) {
        let graph = &mut self.panes.graph;
        let by_hand = matches!(graph.target, Some(ReadTarget::Row(_)));
        if graph.reach() {
            return self.settle(by_hand);
        }
        if graph.asked {
            return;
        }
        if !graph.at_end && !graph.is_full() {
            graph.asked = true;
            return self.load(ViewRequest::MoreGraph);
        }
        let is_full = graph.is_full();
        let read = thousands(graph.rows.len() as f64);
        match graph.target.take() {
            Some(ReadTarget::Row(_)) if is_full => {
                let text = format!(
                    "the newest {read} commits are held: `git log` in a shell shows older ones"
                );
                self.warn(text);
            }
            Some(ReadTarget::Row(_)) | None => {}
            Some(ReadTarget::Commit(commit)) => return self.read_loose(commit),
            Some(ReadTarget::Tried(entry)) => {
                let parent = entry.parents.first().map_or("nothing", |id| short(id));
                let id = short(&entry.commit.id);
                let text = format!(
                    "{id} was tried on {parent}, which is not among the {read} commits here"
                );
                self.warn(text);
                return;
            }
        }
        self.settle(by_hand);
    }

    /// A key stops reading on; true where the graph was reading.
    pub(super) fn stop_reading(&mut self) -> bool {
        let graph = &mut self.panes.graph;
        graph.loose = None;
        match graph.target.take() {
            // The row that was reached stays selected.
            Some(ReadTarget::Row(_)) => {
                self.settle(true);
                true
            }
            Some(ReadTarget::Commit(_) | ReadTarget::Tried(_)) => true,
            None => false,
        }
    }

    pub(super) fn step_graph(&mut self, by: isize) {
        let graph = &mut self.panes.graph;
        (graph.target, graph.loose) = (None, None);
        graph.list.select(by, graph.rows.len());
        let is_near_end = graph.rows.len() <= graph.list.selected + NEAR_END;
        if is_near_end && !graph.at_end && !graph.is_full() && !graph.asked {
            graph.asked = true;
            self.load(ViewRequest::MoreGraph);
        }
        self.settle(true);
    }

    /// Selects the experiment of the selected commit, where it holds one.
    fn select_of_commit(&mut self) {
        let holds = self
            .panes
            .graph
            .selected()
            .and_then(|entry| entry.commit.experiment.as_deref());
        if let Some(key) = holds.map(Experiment::key) {
            self.select(Some(key));
        }
        self.panes.graph.followed.clone_from(&self.selection.key);
    }

    /// The selection has come to rest: loads its commit. Where the user moved it, selects the
    /// commit's experiment.
    fn settle(&mut self, by_hand: bool) {
        if by_hand {
            self.select_of_commit();
        }
        self.load_commit();
    }

    pub(super) fn load_commit(&mut self) {
        let around = self.panes.around;
        let wanted = self
            .panes
            .graph
            .selected()
            .map(|entry| entry.commit.id.clone());
        let is_wanted =
            |id: &String| self.panes.shows(Pane::Commit) && !self.panes.commit.shows(id, around);
        if let Some(id) = wanted.filter(is_wanted) {
            self.load(ViewRequest::Commit(id, around));
        }
    }

    /// Goes to the next or the previous file or hunk of the commit.
    pub(super) fn step_change(&mut self, forward: bool) {
        self.panes.set_focus(Pane::Commit);
        self.panes.text_mut(Pane::Commit).step(forward);
    }

    pub(super) fn on_commit(&mut self, id: String, details: Result<CommitDetails, String>) {
        if self.panes.graph.loose.as_ref() == Some(&id) {
            self.panes.graph.loose = None;
            return self.on_loose(id, details);
        }
        if self
            .panes
            .graph
            .selected()
            .is_some_and(|entry| entry.commit.id == id)
        {
            self.show_commit(id, details);
        } else {
            self.ignore();
        }
    }

    fn show_commit(&mut self, id: String, details: Result<CommitDetails, String>) {
        let text = &mut self.panes.texts[Pane::Commit as usize];
        self.panes.commit.show(id, details, text);
    }

    /// Shows the commit of an experiment that no branch holds, and inserts it above its parent.
    fn on_loose(&mut self, id: String, details: Result<CommitDetails, String>) {
        let details = match details {
            Ok(details) => details,
            Err(why) => {
                self.warn(format!("the commit {id} cannot be shown: {why}"));
                return self.settle(false);
            }
        };
        let name = details.author.split(" <").next().unwrap_or_default();
        let commit = LogEntry {
            id: details.id.clone(),
            subject: details.subject.clone(),
            author: name.to_owned(),
            time: details.committed,
            experiment: Marks::of(&self.repository.experiments)
                .get(&details.id)
                .cloned()
                .map(Box::new),
        };
        let entry = GraphEntry {
            commit,
            parents: details.parents.clone(),
            labels: Vec::new(),
        };
        self.show_commit(details.id.clone(), Ok(details));
        self.read_to(ReadTarget::Tried(Box::new(entry)));
    }
}
