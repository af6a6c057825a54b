//! The text that is copied: what the focused pane is about.

use super::Model;
use crate::views::Pane;
use lab_protocol::report::Severity;
use lab_run::verdict::Outcome;

/// Most bytes of a copied text. Terminals take up to 100,000 bytes in one OSC 52, and base64 makes
/// four bytes of three.
const LIMIT: usize = 74_994;

impl Model {
    /// The text to copy, or why there is none.
    pub fn to_copy(&self) -> Result<String, String> {
        let none = |what: &str| Err(what.to_owned());
        match self.panes.focus() {
            Pane::Correctness => self
                .verdict_text()
                .ok_or_else(|| "needs a verdict".to_owned()),
            Pane::Log => self.shown_lines(),
            Pane::Graph | Pane::Commit => {
                let commit = self.panes.graph.selected();
                commit
                    .map(|entry| entry.commit.id.clone())
                    .ok_or_else(|| "no commit is selected".to_owned())
            }
            Pane::Commits => {
                let commit = self.repository.commits.get(self.panes.commits.selected);
                commit
                    .map(|commit| commit.id.clone())
                    .ok_or_else(|| "no commit is selected".to_owned())
            }
            Pane::History | Pane::Experiments | Pane::Experiment => match self.shown() {
                Some(experiment) => Ok(experiment.row.commit.clone()),
                None => none("no experiment is selected"),
            },
            Pane::Source => Ok(self.source_place()),
            Pane::Workloads => match self.panes.workload_table(self.data()) {
                Some(table) => Ok(self.panes.workloads.rows(&table).join("\n")),
                None => none("no run with several workloads"),
            },
            Pane::Gauges | Pane::Build | Pane::Profile => none("this pane has nothing to copy"),
            pane @ (Pane::Loop | Pane::Edit | Pane::Verdicts | Pane::Command) => {
                let rows = self.rows(pane);
                match rows.count {
                    0 => Err(format!("no line in {}", pane.name())),
                    count => Ok((0..count)
                        .map(|at| rows.text(at))
                        .collect::<Vec<_>>()
                        .join("\n")),
                }
            }
        }
    }

    /// The marked line, else the visible lines of run.log.
    fn shown_lines(&self) -> Result<String, String> {
        let log = self.panes.log.log();
        let rows = match self.panes.log.marked() {
            Some(at) => at..at + 1,
            None => self.panes.log.visible(),
        };
        let lines: Vec<&str> = rows
            .filter_map(|at| Some(log.line(at)?.text.as_str()))
            .collect();
        if lines.is_empty() {
            Err("run.log is empty".to_owned())
        } else {
            Ok(lines.join("\n"))
        }
    }

    /// The compiler's messages of a failed run, else the verdict and its reason.
    fn verdict_text(&self) -> Option<String> {
        let run = self.runs.to_copy()?;
        let words = run.report.diagnostics().iter();
        let words: Vec<String> = words
            .map(|d| format!("{}:{}: {}: {}", d.file, d.line, word(d.severity), d.message))
            .collect();
        if !words.is_empty() && run.verdict.outcome != Outcome::Pass {
            return Some(words.join("\n"));
        }
        let verdict = &run.verdict;
        let number = verdict
            .objective
            .map(|m| format!(" {}={}", self.setup.objective, m.value));
        let why = Some(&verdict.why)
            .filter(|why| !why.is_empty())
            .map(|why| format!(": {why}"));
        let (number, why) = (number.unwrap_or_default(), why.unwrap_or_default());
        Some(format!(
            "run {} {}{number}{why}",
            run.start.id,
            verdict.word()
        ))
    }

    /// The cursor's line as compilers name it, with their messages.
    fn source_place(&self) -> String {
        let Some(line) = self.panes.source.line() else {
            return self.setup.kernel.clone();
        };
        let place = format!("{}:{line}", self.setup.kernel);
        let words = self.panes.source.messages_at(line as usize - 1).iter();
        let words: Vec<String> = words
            .map(|m| format!("{place}: {}: {}", m.word(), m.text))
            .collect();
        if words.is_empty() {
            place
        } else {
            words.join("\n")
        }
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// As many whole lines as fit, or the beginning of a long line; and whether something was cut.
pub fn shortened(text: &str) -> (String, bool) {
    if text.len() <= LIMIT {
        return (text.to_owned(), false);
    }
    let end = (0..=LIMIT)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let head = &text[..end];
    (
        head.rsplit_once('\n')
            .map_or(head, |(lines, _)| lines)
            .to_owned(),
        true,
    )
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
