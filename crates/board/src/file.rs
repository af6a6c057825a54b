//! decisions.toml: its keys, and where in it something stands.

use crate::DECISIONS;
use crate::status::{Expected, Status};
use anyhow::{Context, Result, anyhow};
use lab_system::root::Root;
use lab_text::toml_error;
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::Path;
use toml::Spanned;

/// Most bytes of the file.
const LIMIT: u64 = 1 << 20;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    decision: Vec<Entry>,
}

/// A `[[decision]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub id: Spanned<String>,
    pub domain: String,
    pub title: Spanned<String>,
    pub claim: Spanned<String>,
    /// Lower than the rule's; without it the rule's.
    pub status: Option<Spanned<Status>>,
    /// What every named workload must show beside the peer.
    pub verdict: Option<Expected>,
    /// What the evidence does not show.
    #[serde(default)]
    pub boundary: Option<Spanned<String>>,
    #[serde(default)]
    pub evidence: Vec<Spanned<String>>,
    #[serde(default)]
    pub next: Vec<NextEntry>,
}

/// Evidence that is to be made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextEntry {
    pub what: String,
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub reason: String,
    /// The evidence that it brought.
    pub done: Option<Spanned<String>>,
}

/// The file as it was read.
#[derive(Default)]
pub struct DecisionsFile {
    pub entries: Vec<Entry>,
    /// Conflicts of a merge, each in a sentence with its lines.
    pub conflicts: Vec<String>,
    text: String,
}

impl DecisionsFile {
    /// Reads the file; a repository without one has no decisions. The error has line and column.
    pub fn read(root: &Path) -> Result<DecisionsFile> {
        let path = root.join(DECISIONS);
        match Root::new(root).read_text(&path, LIMIT) {
            Ok(text) => DecisionsFile::parse(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(DecisionsFile::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    pub fn parse(text: &str) -> Result<DecisionsFile> {
        let (text, conflicts) = without_conflicts(text);
        let content: Content = toml::from_str(&text).map_err(|error| {
            let why = toml_error::explain(&text, DECISIONS, &error);
            let above = conflicts.iter().map(|conflict| format!("{conflict}\n"));
            anyhow!("{}{why}", above.collect::<String>())
        })?;
        let entries = content.decision;
        Ok(DecisionsFile {
            entries,
            conflicts,
            text,
        })
    }

    /// `decisions.toml:LINE:COLUMN` of a value.
    pub fn position<T>(&self, value: &Spanned<T>) -> String {
        toml_error::position(&self.text, DECISIONS, value.span().start)
    }
}

/// The text with the side of HEAD in the place of each conflict, and with as many lines; and where
/// the conflicts are.
fn without_conflicts(text: &str) -> (String, Vec<String>) {
    let (mut out, mut found) = (String::new(), Vec::new());
    // The line at which the conflict began, and whether the side of HEAD is over.
    let mut open: Option<(usize, bool)> = None;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let begins = |mark: &str| line.starts_with(mark);
        match open {
            None if begins("<<<<<<<") => open = Some((number, false)),
            Some((from, _)) if begins("|||||||") || line == "=======" => open = Some((from, true)),
            Some((from, _)) if begins(">>>>>>>") => {
                found.push(conflict(from, number));
                open = None;
            }
            Some((_, true)) => {}
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    found.extend(open.map(|(from, _)| conflict(from, text.lines().count())));
    (out, found)
}

fn conflict(from: usize, to: usize) -> String {
    format!(
        "{DECISIONS}:{from}: a merge left a conflict in the lines {from} to {to}: the side of HEAD is shown. Choose \
         the lines that hold, and remove the marks"
    )
}
