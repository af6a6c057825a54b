//! The view Git: the graph as far as it was read, what it reads on to, and the selected commit whole.

use super::super::effect::Effect;
use super::super::event::GraphPage;
use super::super::panes::{Goal, Pane};
use super::super::status::Level;
use super::App;
use crate::request::ViewRequest as Wish;
use lab_core::repo::{CommitDetails, GraphEntry, LogEntry, Marks, short};
use lab_core::run::experiment::{Experiment, Key};
use lab_core::text::figures::thousands;

/// The graph is read on where fewer commits than this are left below the selected one.
const NEAR_END: usize = 100;

impl App {
    /// What the view wants read when it is shown: the graph anew, for branches may have moved.
    pub(super) fn open_graph(&mut self) -> Vec<Effect> {
        if !self.panes.shows(Pane::Graph) {
            return Vec::new();
        }
        self.panes.graph.asked = true;
        vec![Effect::Read(Wish::Graph)]
    }

    pub(super) fn on_graph(&mut self, page: Result<GraphPage, String>) -> Vec<Effect> {
        let graph = &mut self.panes.graph;
        graph.asked = false;
        match page {
            Ok(page) => {
                // Where it begins anew the selected commit may stand elsewhere.
                let selected =
                    graph.selected().filter(|_| page.is_first).map(|entry| entry.commit.id.clone());
                let marks = Marks::of(&self.history);
                graph.take_in(page, &marks);
                // The experiment that another pane chose meanwhile, else the commit that was selected.
                let elsewhere = self.chosen.clone().filter(|key| graph.known.as_ref() != Some(key));
                graph.known.clone_from(&self.chosen);
                if let Some(id) = selected {
                    graph.go_to(&id);
                }
                match elsewhere {
                    Some(key) => self.seek(key),
                    None => self.read_on(),
                }
            }
            Err(why) => {
                graph.goal = None;
                self.say(Level::Error, format!("git log: {why}"));
                Vec::new()
            }
        }
    }

    /// Which experiment each commit holds, as the history now has it.
    pub(super) fn mark_graph(&mut self) {
        let marks = Marks::of(&self.history);
        for row in &mut self.panes.graph.rows {
            row.entry.commit.experiment = marks.get(&row.entry.commit.id).cloned().map(Box::new);
        }
    }

    /// To the row of an experiment that was chosen elsewhere, however far down it is.
    fn seek(&mut self, key: Key) -> Vec<Effect> {
        match self.experiment(&key).map(Experiment::is_kept) {
            None => self.settle(false),
            Some(true) => self.read_to(Goal::Commit(key.commit)),
            Some(false) => self.read_loose(key.commit),
        }
    }

    /// Of a commit that no branch holds the graph knows nothing: it is read by itself, and put in.
    fn read_loose(&mut self, commit: String) -> Vec<Effect> {
        self.panes.graph.loose = Some(commit.clone());
        vec![Effect::Read(Wish::Commit(commit, self.panes.around))]
    }

    /// Selects the goal, and reads until it is there.
    pub(super) fn read_to(&mut self, goal: Goal) -> Vec<Effect> {
        self.panes.graph.goal = Some(goal);
        self.read_on()
    }

    fn read_on(&mut self) -> Vec<Effect> {
        let graph = &mut self.panes.graph;
        let by_hand = matches!(graph.goal, Some(Goal::Row(_)));
        if graph.reach() {
            return self.settle(by_hand);
        }
        if graph.asked {
            return Vec::new();
        }
        if !graph.at_end && !graph.is_full() {
            graph.asked = true;
            return vec![Effect::Read(Wish::MoreGraph)];
        }
        let is_full = graph.is_full();
        let read = thousands(graph.rows.len() as f64);
        match graph.goal.take() {
            Some(Goal::Row(_)) if is_full => {
                let text =
                    format!("the newest {read} commits are held: `git log` in a shell shows older ones");
                self.say(Level::Warning, text);
            }
            Some(Goal::Row(_)) | None => {}
            Some(Goal::Commit(commit)) => return self.read_loose(commit),
            Some(Goal::Tried(entry)) => {
                let parent = entry.parents.first().map_or("nothing", |id| short(id));
                let id = short(&entry.commit.id);
                let text = format!("{id} was tried on {parent}, which is not among the {read} commits here");
                self.say(Level::Warning, text);
                return Vec::new();
            }
        }
        self.settle(by_hand)
    }

    /// A key stops what goes on; true where something did.
    pub(super) fn stop_reading(&mut self) -> (bool, Vec<Effect>) {
        let graph = &mut self.panes.graph;
        graph.loose = None;
        match graph.goal.take() {
            // Where it had come to is what is selected now.
            Some(Goal::Row(_)) => (true, self.settle(true)),
            Some(Goal::Commit(_) | Goal::Tried(_)) => (true, Vec::new()),
            None => (false, Vec::new()),
        }
    }

    pub(super) fn step_graph(&mut self, by: isize) -> Vec<Effect> {
        let graph = &mut self.panes.graph;
        (graph.goal, graph.loose) = (None, None);
        graph.select(by);
        let mut effects = Vec::new();
        if graph.left_below() < NEAR_END && !graph.at_end && !graph.is_full() && !graph.asked {
            graph.asked = true;
            effects.push(Effect::Read(Wish::MoreGraph));
        }
        effects.extend(self.settle(true));
        effects
    }

    /// The experiment of the selected commit is the chosen one, where it holds one.
    fn choose_selected(&mut self) -> Vec<Effect> {
        let holds = self.panes.graph.selected().and_then(|entry| entry.commit.experiment.as_deref());
        let effects = match holds.map(Experiment::key) {
            Some(key) => self.choose(Some(key)),
            None => Vec::new(),
        };
        self.panes.graph.known.clone_from(&self.chosen);
        effects
    }

    /// The selection has come to rest: its commit is shown, and where a hand made it, its experiment is chosen.
    fn settle(&mut self, by_hand: bool) -> Vec<Effect> {
        let mut effects = if by_hand { self.choose_selected() } else { Vec::new() };
        effects.extend(self.want_commit());
        effects
    }

    pub(super) fn want_commit(&mut self) -> Vec<Effect> {
        let around = self.panes.around;
        let wanted = self.panes.graph.selected().map(|entry| entry.commit.id.clone());
        match wanted.filter(|id| self.panes.shows(Pane::Commit) && !self.panes.commit.shows(id, around)) {
            Some(id) => vec![Effect::Read(Wish::Commit(id, around))],
            None => Vec::new(),
        }
    }

    /// To the next or the previous file or hunk of the commit.
    pub(super) fn step_change(&mut self, forward: bool) {
        self.panes.set_focus(Pane::Commit);
        self.panes.commit.step(forward);
    }

    /// An answer to an older wish is dropped.
    pub(super) fn on_commit(&mut self, id: String, details: Result<CommitDetails, String>) -> Vec<Effect> {
        if self.panes.graph.loose.as_ref() == Some(&id) {
            self.panes.graph.loose = None;
            return self.on_loose(id, details);
        }
        if self.panes.graph.selected().is_some_and(|entry| entry.commit.id == id) {
            self.panes.commit.show(id, details);
        } else {
            self.dirty = false;
        }
        Vec::new()
    }

    /// The commit of an experiment that no branch holds: shown, and then put in above what it was tried on.
    fn on_loose(&mut self, id: String, details: Result<CommitDetails, String>) -> Vec<Effect> {
        let details = match details {
            Ok(details) => details,
            Err(why) => {
                self.say(Level::Warning, format!("the commit {id} cannot be shown: {why}"));
                return self.settle(false);
            }
        };
        let name = details.author.split(" <").next().unwrap_or_default();
        let commit = LogEntry {
            id: details.id.clone(),
            subject: details.subject.clone(),
            author: name.to_owned(),
            time: details.committed,
            experiment: Marks::of(&self.history).get(&details.id).cloned().map(Box::new),
        };
        let entry = GraphEntry { commit, parents: details.parents.clone(), labels: Vec::new() };
        self.panes.commit.show(details.id.clone(), Ok(details));
        self.read_to(Goal::Tried(Box::new(entry)))
    }
}
