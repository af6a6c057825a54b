//! The rows of each pane as text, and the present one among them. Search and the palette go through
//! rows here and know no pane.

use super::Model;
use crate::panes::{build, commit, experiment, gauges, profile};
use crate::views::Pane;
use lab_core::repo::{LogEntry, short};
use ratatui::text::Line;
use std::borrow::Cow;

/// The rows of one pane, from the top.
pub struct Rows<'a> {
    pub count: usize,
    text: Box<dyn Fn(usize) -> Cow<'a, str> + 'a>,
}

impl<'a> Rows<'a> {
    fn new(count: usize, text: impl Fn(usize) -> Cow<'a, str> + 'a) -> Self {
        Rows {
            count,
            text: Box::new(text),
        }
    }

    fn of_lines(lines: Vec<Line<'static>>) -> Self {
        Rows::new(lines.len(), move |at| {
            lines
                .get(at)
                .map(Line::to_string)
                .unwrap_or_default()
                .into()
        })
    }

    /// The text of row `at`; empty where there is none.
    pub fn text(&self, at: usize) -> Cow<'a, str> {
        (self.text)(at)
    }
}

impl Model {
    /// The pane whose rows a search goes through now.
    pub fn text_pane(&self) -> Pane {
        self.panes.focus().text()
    }

    /// The rows of a pane; texts are wrapped as at the last frame.
    pub fn rows(&self, pane: Pane) -> Rows<'_> {
        let panes = &self.panes;
        match pane {
            Pane::Log | Pane::Correctness | Pane::History => {
                let log = panes.log.log();
                Rows::new(log.len(), |at| {
                    log.line(at).map_or("", |line| line.text.as_str()).into()
                })
            }
            Pane::Commits => {
                let commits = &self.repository.commits;
                Rows::new(commits.len(), |at| {
                    commits.get(at).map(commit_text).unwrap_or_default()
                })
            }
            Pane::Graph => Rows::new(panes.graph.rows.len(), |at| {
                let Some(row) = panes.graph.rows.get(at) else {
                    return "".into();
                };
                let names = row
                    .entry
                    .labels
                    .iter()
                    .map(|label| format!(" {}", label.name));
                (commit_text(&row.entry.commit) + names.collect::<String>().as_str())
                    .into_owned()
                    .into()
            }),
            Pane::Experiments => Rows::new(panes.experiments.table.len(), |at| {
                let place = panes.experiments.table.order().get(at);
                let row =
                    place.and_then(|place| Some(&self.repository.experiments.get(*place)?.row));
                let text = row
                    .map(|row| format!("{} {} {}", row.commit, row.status.word(), row.description));
                text.unwrap_or_default().into()
            }),
            Pane::Source => Rows::new(panes.source.count(), |at| panes.source.row_text(at).into()),
            Pane::Experiment => {
                let columns = panes.experiment.text.columns();
                let shown = self.experiment_shown();
                let document =
                    experiment::document(shown, &panes.experiment, columns, &self.appearance);
                Rows::new(document.rows(), move |at| document.text(at, columns))
            }
            Pane::Commit => {
                let (head, diff) =
                    commit::rows(self.commit_data(), &panes.commit, &self.appearance);
                let count = head.len() + diff.map_or(0, |diff| diff.rows().len());
                Rows::new(count, move |at| match (head.get(at), diff) {
                    (Some(line), _) => line.to_string().into(),
                    (None, Some(diff)) => diff.text(at - head.len()).into(),
                    (None, None) => "".into(),
                })
            }
            Pane::Workloads => {
                let rows = self
                    .workload_table()
                    .map(|table| panes.workloads.rows(&table))
                    .unwrap_or_default();
                Rows::new(rows.len(), move |at| {
                    rows.get(at).cloned().unwrap_or_default().into()
                })
            }
            Pane::Gauges => {
                Rows::of_lines(gauges::rows(self.device_data(), &self.appearance.theme))
            }
            Pane::Build => {
                let columns = panes.build.columns();
                Rows::of_lines(build::rows(&self.runs, columns, &self.appearance.theme))
            }
            Pane::Profile => {
                let columns = panes.profile.columns();
                Rows::of_lines(profile::rows(
                    &self.profile_data(),
                    columns,
                    &self.appearance.theme,
                ))
            }
            Pane::Edit => Rows::new(panes.loops.edit.count(), |at| {
                panes.loops.edit.row(at).into()
            }),
            Pane::Loop | Pane::Verdicts | Pane::Command => {
                Rows::of_lines(panes.loops.rows(pane, self.loop_data(), &self.appearance))
            }
        }
    }

    /// The selected or marked row, else the first visible one.
    pub fn row_at(&self, pane: Pane) -> usize {
        match pane {
            Pane::Log | Pane::Correctness | Pane::History => self.panes.log.at(),
            Pane::Commits => self.panes.commits.selected,
            Pane::Graph => self.panes.graph.at(),
            Pane::Experiments => self.selected_row().unwrap_or(0),
            Pane::Source => self.panes.source.at(),
            Pane::Experiment => self.panes.experiment.text.at(),
            Pane::Commit => self.panes.commit.text.at(),
            Pane::Gauges => self.panes.gauges.at(),
            Pane::Build => self.panes.build.at(),
            Pane::Profile => self.panes.profile.at(),
            Pane::Loop | Pane::Edit | Pane::Verdicts | Pane::Command => self.panes.loops.at(pane),
            Pane::Workloads => self.panes.workloads.selected(),
        }
    }

    /// The pane that a number in the palette refers to, and how many rows it has; or why there is
    /// none.
    pub fn numbered(&self) -> Result<(Pane, usize), String> {
        let pane = self.text_pane();
        match self.rows(pane).count {
            0 => Err(no_rows(pane)),
            count => Ok((pane, count)),
        }
    }
}

/// Why a pane without rows cannot be searched.
pub fn no_rows(pane: Pane) -> String {
    if pane == Pane::Log {
        "run.log is empty".to_owned()
    } else {
        format!("no line in {}", pane.name())
    }
}

fn commit_text(commit: &LogEntry) -> Cow<'static, str> {
    format!("{} {} {}", short(&commit.id), commit.subject, commit.author).into()
}
