//! What is copied: always what the focused pane is about.

use super::super::effect::Effect;
use super::super::panes::Pane;
use super::super::status::Level;
use super::super::text::fit;
use super::{App, Judged};
use lab_core::run::verdict::Outcome;
use lab_protocol::report::Severity;

/// Terminals take no more than 100,000 bytes in one OSC 52, and base64 makes four of three.
const LIMIT: usize = 74_994;

impl App {
    /// The text, or why there is none.
    pub fn to_copy(&self) -> Result<String, String> {
        let none = |what: &str| Err(what.to_owned());
        match self.panes.focus() {
            Pane::Correctness => self.verdict_in_words().ok_or_else(|| "needs a verdict".to_owned()),
            Pane::Log => self.shown_lines(),
            Pane::Graph | Pane::Commit => {
                let commit = self.panes.graph.selected();
                commit.map(|entry| entry.commit.id.clone()).ok_or_else(|| "no commit is selected".to_owned())
            }
            Pane::Commits => {
                let commit = self.commits.get(self.panes.commits.selected);
                commit.map(|commit| commit.id.clone()).ok_or_else(|| "no commit is selected".to_owned())
            }
            Pane::History | Pane::Experiments | Pane::Experiment => match self.shown() {
                Some(experiment) => Ok(experiment.row.commit.clone()),
                None => none("no experiment is chosen"),
            },
            Pane::Source => Ok(self.source_place()),
            Pane::Gauges | Pane::Build => none("nothing here is copied"),
        }
    }

    /// The line that was gone to, else what is seen of run.log.
    fn shown_lines(&self) -> Result<String, String> {
        let log = self.log.log();
        let rows = match self.log.marked() {
            Some(at) => at..at + 1,
            None => self.log.first()..self.log.first() + self.log.height,
        };
        let lines: Vec<&str> = rows.filter_map(|at| Some(log.line(at)?.text.as_str())).collect();
        if lines.is_empty() { Err("run.log is empty".to_owned()) } else { Ok(lines.join("\n")) }
    }

    /// The compiler's words where it said any, else the verdict and why.
    fn verdict_in_words(&self) -> Option<String> {
        let failed = |judged: &&Judged| judged.verdict.outcome != Outcome::Pass;
        let judged = self.checked().filter(failed).or(self.last.as_ref())?;
        let words = judged.report.diagnostics().iter();
        let words: Vec<String> =
            words.map(|d| format!("{}:{}: {}: {}", d.file, d.line, word(d.severity), d.message)).collect();
        if !words.is_empty() && judged.verdict.outcome != Outcome::Pass {
            return Some(words.join("\n"));
        }
        let verdict = &judged.verdict;
        let number = verdict.objective.map(|m| format!(" {}={}", self.setup.objective, m.value));
        let why = Some(&verdict.why).filter(|why| !why.is_empty()).map(|why| format!(": {why}"));
        let (number, why) = (number.unwrap_or_default(), why.unwrap_or_default());
        Some(format!("run {} {}{number}{why}", judged.start.id, verdict.word()))
    }

    pub(super) fn copy(&mut self) -> Vec<Effect> {
        let Ok(text) = self.to_copy() else { return Vec::new() };
        let (text, cut) = shortened(&text);
        let what = match text.lines().count() {
            0 | 1 => fit(&text, 60).into_owned(),
            lines => format!("{lines} lines"),
        };
        let rest = if cut { ", all that a terminal takes" } else { "" };
        self.say(Level::Info, format!("copied {what}{rest}"));
        vec![Effect::Copy(text)]
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// As many whole lines as fit, of one line as much as fits; whether something is missing.
fn shortened(text: &str) -> (String, bool) {
    if text.len() <= LIMIT {
        return (text.to_owned(), false);
    }
    let end = (0..=LIMIT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let head = &text[..end];
    (head.rsplit_once('\n').map_or(head, |(lines, _)| lines).to_owned(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_at_a_line() {
        assert_eq!(shortened("a\nb"), ("a\nb".to_owned(), false));
        let long = "0123456789\n".repeat(10_000);
        let (text, cut) = shortened(&long);
        assert!(cut && text.len() <= LIMIT && text.ends_with("0123456789"));
        let (text, cut) = shortened(&"漢".repeat(LIMIT));
        assert!(cut && text.len() <= LIMIT && text.ends_with('漢'));
    }
}
