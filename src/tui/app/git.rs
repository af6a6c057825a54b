//! The view Git: the graph as far as it was read, and the selected commit whole.

use super::super::effect::Effect;
use super::super::event::GraphPage;
use super::super::panes::Pane;
use super::super::reader::Wish;
use super::super::status::Level;
use super::App;
use crate::session::experiment::Experiment;
use crate::session::repo::{CommitDetails, Marks};

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
                let elsewhere = self.chosen.as_ref().filter(|key| graph.known.as_ref() != Some(key));
                let _ = elsewhere.is_some_and(|key| graph.go_to(&key.commit))
                    || selected.is_some_and(|id| graph.go_to(&id));
                graph.known.clone_from(&self.chosen);
                self.want_commit()
            }
            Err(why) => {
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

    pub(super) fn step_graph(&mut self, by: isize) -> Vec<Effect> {
        let graph = &mut self.panes.graph;
        graph.select(by);
        let mut effects = Vec::new();
        if graph.left_below() < NEAR_END && !graph.at_end && !graph.asked {
            graph.asked = true;
            effects.push(Effect::Read(Wish::MoreGraph));
        }
        let holds = graph.selected().and_then(|entry| entry.commit.experiment.as_deref());
        if let Some(key) = holds.map(Experiment::key) {
            effects.extend(self.choose(Some(key)));
        }
        self.panes.graph.known.clone_from(&self.chosen);
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
        if self.panes.graph.selected().is_some_and(|entry| entry.commit.id == id) {
            self.panes.commit.show(id, details);
        } else {
            self.dirty = false;
        }
        Vec::new()
    }
}
