//! The text that is copied: what the focused pane is about.

use super::Model;
use super::rows::{RowText, no_rows};
use crate::source::severity_word;
use crate::views::Pane;
use itertools::Itertools;
use lab_run::verdict::Outcome;

/// Most bytes of a copied text. Terminals take up to 100,000 bytes in one OSC 52, and base64 makes
/// four bytes of three.
const LIMIT: usize = 74_994;

impl Model {
    /// The text to copy, or why there is none.
    pub fn to_copy(&self) -> Result<String, String> {
        let pane = self.panes.focus();
        let (text, missing) = match pane {
            Pane::Correctness => (self.verdict_text(), "needs a verdict"),
            Pane::Log => (self.shown_lines(), "run.log is empty"),
            Pane::Graph | Pane::Commit => {
                let selected = self.panes.graph.selected();
                let id = selected.map(|entry| entry.commit.id.clone());
                (id, "no commit is selected")
            }
            Pane::Commits => {
                let selected = self.repository.commits.get(self.panes.commits.selected);
                let id = selected.map(|commit| commit.id.clone());
                (id, "no commit is selected")
            }
            Pane::History | Pane::Experiments | Pane::Experiment => {
                let commit = self.shown().map(|shown| shown.row.commit.clone());
                (commit, "no experiment is selected")
            }
            Pane::Source => (Some(self.source_place()), ""),
            Pane::Workloads => (self.all_rows(pane), "no run with several workloads"),
            Pane::Gauges | Pane::Build | Pane::Profile => (None, "this pane has nothing to copy"),
            Pane::Board
            | Pane::Decision
            | Pane::Loop
            | Pane::Edit
            | Pane::Verdicts
            | Pane::Command
            | Pane::Sweep
            | Pane::Points => {
                return self.all_rows(pane).ok_or_else(|| no_rows(pane));
            }
        };
        text.ok_or_else(|| missing.to_owned())
    }

    /// All rows of the focused pane, those of the table with their figures and a tab between columns.
    /// The chart has the same rows.
    pub fn all_to_copy(&self) -> Result<String, String> {
        let pane = self.panes.focus();
        let all = match pane {
            Pane::Experiments | Pane::History => self.table_text(),
            pane => self.all_rows(pane),
        };
        all.ok_or_else(|| no_rows(pane))
    }

    fn table_text(&self) -> Option<String> {
        let row = |place: &usize| {
            let experiment = self.repository.experiments.get(*place)?;
            let row = &experiment.row;
            let figure = experiment.figure().map(|figure| figure.to_string());
            let run = experiment.run.map(|run| run.to_string());
            Some(
                [
                    row.commit.clone(),
                    row.status.word().to_owned(),
                    figure.unwrap_or_default(),
                    experiment
                        .objective(&self.setup.objective)
                        .unit()
                        .to_owned(),
                    run.unwrap_or_default(),
                    experiment.device.clone().unwrap_or_default(),
                    row.description.clone(),
                ]
                .join("\t"),
            )
        };
        let order = &self.panes.experiments.table.order;
        let rows: Vec<String> = order.iter().filter_map(row).collect();
        Some(rows.join("\n")).filter(|rows| !rows.is_empty())
    }

    fn all_rows(&self, pane: Pane) -> Option<String> {
        let rows = self.rows_for(pane, RowText::Copied);
        let text = (0..rows.count).map(|at| rows.text(at)).join("\n");
        Some(text).filter(|_| rows.count > 0)
    }

    /// The marked line, else the visible lines of run.log.
    fn shown_lines(&self) -> Option<String> {
        let text = self.panes.text(Pane::Log);
        let rows = text.marked.map_or(text.visible(), |at| at..at + 1);
        let lines = self.panes.log.log().lines.iter();
        let lines = lines.skip(rows.start).take(rows.len());
        let lines: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
        Some(lines.join("\n")).filter(|_| !lines.is_empty())
    }

    /// The compiler's messages of a failed run, else the verdict and its reason.
    fn verdict_text(&self) -> Option<String> {
        let run = self.runs.to_copy()?;
        let verdict = &run.verdict;
        let messages = run.report.diagnostics().iter();
        let messages: Vec<String> = messages
            .map(|d| {
                format!(
                    "{}:{}: {}: {}",
                    d.file,
                    d.line,
                    severity_word(d.severity),
                    d.message
                )
            })
            .collect();
        if !messages.is_empty() && verdict.outcome != Outcome::Pass {
            return Some(messages.join("\n"));
        }
        let mut text = format!("run {} {}", run.start.id, verdict.word());
        if let Some(measure) = verdict.objective {
            text += &format!(" {}={}", self.setup.objective, measure.value);
        }
        if !verdict.why.is_empty() {
            text += &format!(": {}", verdict.why);
        }
        Some(text)
    }

    /// The cursor's line as compilers name it, with their messages.
    fn source_place(&self) -> String {
        let Some(line) = self.panes.source.line() else {
            return self.setup.kernel.clone();
        };
        let place = format!("{}:{line}", self.setup.kernel);
        let messages = self.panes.source.messages_at(line as usize - 1).iter();
        let messages: Vec<String> = messages
            .map(|m| format!("{place}: {}: {}", m.word(), m.text))
            .collect();
        if messages.is_empty() {
            place
        } else {
            messages.join("\n")
        }
    }
}

/// As many whole lines as fit, or the beginning of a long line; and whether something was cut.
pub fn shortened(text: &str) -> (String, bool) {
    if text.len() <= LIMIT {
        return (text.to_owned(), false);
    }
    let head = &text[..text.floor_char_boundary(LIMIT)];
    let lines = head.rsplit_once('\n').map_or(head, |(lines, _)| lines);
    (lines.to_owned(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line() {
        assert_eq!(shortened("a\nb"), ("a\nb".to_owned(), false));
        let long = "0123456789\n".repeat(10_000);
        let (text, cut) = shortened(&long);
        assert!(cut && text.len() <= LIMIT && text.ends_with("0123456789"));
        let (text, cut) = shortened(&"漢".repeat(LIMIT));
        assert!(cut && text.len() <= LIMIT && text.ends_with('漢'));
    }
}
