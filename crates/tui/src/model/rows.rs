//! The rows of each pane as text, and the present one among them. Search and the palette go through
//! rows here and know no pane.

use super::Model;
use crate::panes::sweep;
use crate::views::Pane;
use lab_board::Decision;
use lab_git::{LogEntry, short};
use lab_run::experiment::Experiment;
use std::borrow::Cow;

/// What the text of a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowText {
    /// To search in.
    Searched,
    /// To copy: the lines of a diff have their signs, as in a patch.
    Copied,
}

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
        self.rows_for(pane, RowText::Searched)
    }

    /// The rows of a pane, with their texts for one purpose.
    pub fn rows_for(&self, pane: Pane, wanted: RowText) -> Rows<'_> {
        let is_copied = wanted == RowText::Copied;
        let panes = &self.panes;
        match pane {
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
                let labels = row.entry.labels.iter();
                let names: String = labels.map(|label| format!(" {}", label.name)).collect();
                format!("{}{names}", commit_text(&row.entry.commit)).into()
            }),
            Pane::Experiments => Rows::new(panes.experiments.table.len(), |at| {
                let place = panes.experiments.table.order.get(at);
                let experiment = place.and_then(|place| self.repository.experiments.get(*place));
                let text = experiment.map(|Experiment { row, .. }| {
                    format!("{} {} {}", row.commit, row.status.word(), row.description)
                });
                text.unwrap_or_default().into()
            }),
            Pane::Board => {
                let decisions = self.repository.decisions();
                Rows::new(decisions.len(), |at| {
                    let text = |it: &Decision| format!("{} {} {}", it.domain, it.id, it.title);
                    decisions.get(at).map(text).unwrap_or_default().into()
                })
            }
            Pane::Points => {
                let points = self.repository.points();
                Rows::new(points.len(), move |at| {
                    let start = self.repository.sweep.as_ref().map(|it| &it.sweep.start);
                    let row = start.zip(points.get(at));
                    let row = row.map(|(start, point)| sweep::row(start, point, usize::MAX));
                    row.map(|row| row.to_string()).unwrap_or_default().into()
                })
            }
            Pane::Source => Rows::new(panes.source.count(), move |at| match is_copied {
                true => panes.source.patch_line(at).into(),
                false => panes.source.row_text(at).into(),
            }),
            Pane::Workloads => {
                let table = panes.workload_table(self.data());
                let rows = table.map(|table| panes.workloads.rows(&table));
                let rows = rows.unwrap_or_default();
                Rows::new(rows.len(), move |at| {
                    rows.get(at).cloned().unwrap_or_default().into()
                })
            }
            _ => {
                let columns = panes.text(pane).columns;
                let document = panes.document(pane, self.data(), columns);
                Rows::new(document.rows(), move |at| match is_copied {
                    true => document.patch_line(at),
                    false => document.text(at),
                })
            }
        }
    }

    /// The selected or marked row, else the first visible one.
    pub fn row_at(&self, pane: Pane) -> usize {
        match pane {
            Pane::Commits => self.panes.commits.selected,
            Pane::Graph => self.panes.graph.list.selected,
            Pane::Experiments => self.selected_row().unwrap_or(0),
            Pane::Source => self.panes.source.at(),
            Pane::Workloads => self.panes.workloads.list.selected,
            Pane::Board => self.panes.board.selected,
            Pane::Points => self.panes.points.row(&self.repository.points()),
            _ => self.panes.text(pane).at(),
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
