//! Every pane that shows text offers its rows as text: what they say, where one is among them, and the way to one.
//! What goes through text (`/`, `n`, `N`, a number in the palette) asks here and knows no pane.

use super::super::effect::Effect;
use super::super::panes::{self, Goal, Pane};
use super::App;
use lab_core::repo::{LogEntry, short};
use std::borrow::Cow;

/// The rows of one pane, from the top.
pub struct Rows<'a> {
    pub count: usize,
    says: Box<dyn Fn(usize) -> Cow<'a, str> + 'a>,
}

impl<'a> Rows<'a> {
    pub fn new(count: usize, says: impl Fn(usize) -> Cow<'a, str> + 'a) -> Self {
        Rows { count, says: Box::new(says) }
    }

    /// What row `at` says; empty where there is none.
    pub fn text(&self, at: usize) -> Cow<'a, str> {
        (self.says)(at)
    }
}

impl App {
    /// The pane whose rows are gone through where the focus is now.
    pub fn text_pane(&self) -> Pane {
        self.panes.focus().text()
    }

    pub fn rows(&self, pane: Pane) -> Rows<'_> {
        match pane {
            Pane::Log | Pane::Correctness | Pane::History => {
                let log = self.log.log();
                Rows::new(log.len(), |at| log.line(at).map_or("", |line| line.text.as_str()).into())
            }
            Pane::Commits => {
                Rows::new(self.commits.len(), |at| self.commits.get(at).map(of_commit).unwrap_or_default())
            }
            Pane::Graph => Rows::new(self.panes.graph.rows.len(), |at| {
                let Some(row) = self.panes.graph.rows.get(at) else { return "".into() };
                let names = row.entry.labels.iter().map(|label| format!(" {}", label.name));
                (of_commit(&row.entry.commit) + names.collect::<String>().as_str()).into_owned().into()
            }),
            Pane::Experiments => Rows::new(self.table.len(), |at| {
                let place = self.table.order().get(at);
                let row = place.and_then(|place| Some(&self.history.get(*place)?.row));
                let says = row.map(|row| format!("{} {} {}", row.commit, row.status.word(), row.description));
                says.unwrap_or_default().into()
            }),
            Pane::Source => {
                let source = &self.panes.source;
                Rows::new(source.count(), |at| source.says(at).into())
            }
            Pane::Experiment => panes::experiment_rows(self),
            Pane::Commit => panes::commit_rows(self),
            Pane::Gauges => panes::gauges_rows(self),
            Pane::Build => panes::build_rows(self),
        }
    }

    /// The row that is selected, or was gone to, else the first one that is seen.
    pub(super) fn row_at(&self, pane: Pane) -> usize {
        match pane {
            Pane::Log | Pane::Correctness | Pane::History => self.log.at(),
            Pane::Commits => self.panes.commits.selected,
            Pane::Graph => self.panes.graph.at(),
            Pane::Experiments => self.chosen_row().unwrap_or(0),
            Pane::Source => self.panes.source.at(),
            Pane::Experiment => self.panes.experiment.text.at(),
            Pane::Commit => self.panes.commit.text.at(),
            Pane::Gauges => self.panes.gauges.at(),
            Pane::Build => self.panes.build.at(),
        }
    }

    /// To a row of the pane, which has the focus then: a list selects it, in a text it stands out.
    pub(super) fn go_to_row(&mut self, pane: Pane, at: usize) -> Vec<Effect> {
        let pane = pane.text();
        self.panes.set_focus(pane);
        match pane {
            // As a key would select it.
            Pane::Commits | Pane::Graph | Pane::Experiments => {
                return self.scroll(at as isize - self.row_at(pane) as isize);
            }
            Pane::Log | Pane::Correctness | Pane::History => self.log.go_to(at),
            Pane::Source => self.panes.source.go_to(at),
            Pane::Experiment => self.panes.experiment.text.go_to(at),
            Pane::Commit => self.panes.commit.text.go_to(at),
            Pane::Gauges => self.panes.gauges.go_to(at),
            Pane::Build => self.panes.build.go_to(at),
        }
        Vec::new()
    }

    /// No row stands out any more; what is selected stays.
    pub(super) fn unmark(&mut self, pane: Pane) {
        match pane {
            Pane::Log | Pane::Correctness | Pane::History => self.log.unmark(),
            Pane::Experiment => self.panes.experiment.text.unmark(),
            Pane::Commit => self.panes.commit.text.unmark(),
            Pane::Gauges => self.panes.gauges.unmark(),
            Pane::Build => self.panes.build.unmark(),
            Pane::Commits | Pane::Graph | Pane::Experiments | Pane::Source => {}
        }
    }

    /// What a number in the palette would go through, and how many rows that has; the error says why to nothing.
    pub fn numbered(&self) -> Result<(Pane, usize), String> {
        let pane = self.text_pane();
        match self.rows(pane).count {
            0 => Err(nothing_in(pane)),
            count => Ok((pane, count)),
        }
    }

    /// To the row of this number, from 1, or to the last; of kernel.cu to the line, also where its changes are shown.
    pub(super) fn go_to_number(&mut self, number: usize) -> Vec<Effect> {
        let Ok((pane, count)) = self.numbered() else { return Vec::new() };
        match pane {
            Pane::Source => {
                self.panes.source.go_to_line(number.max(1));
                Vec::new()
            }
            // More of them may be read.
            Pane::Graph => self.read_to(Goal::Row(number.max(1) - 1)),
            _ => self.go_to_row(pane, number.clamp(1, count) - 1),
        }
    }
}

/// Why there is nothing to go through.
pub(super) fn nothing_in(pane: Pane) -> String {
    if pane == Pane::Log { "run.log is empty".to_owned() } else { format!("no line in {}", pane.name()) }
}

fn of_commit(commit: &LogEntry) -> Cow<'static, str> {
    format!("{} {} {}", short(&commit.id), commit.subject, commit.author).into()
}
