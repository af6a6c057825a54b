//! The words of compilers and of `lab check`, at the lines that they are about.

use super::Source;
use crate::diff::Moved;
use crate::text::printable;
use lab_core::run::{Fingerprint, RunId};
use lab_protocol::report::{Diagnostic, Report, Severity};
use std::collections::BTreeMap;

/// More than this are not shown; they are in run.log.
const MESSAGES: usize = 500;

/// How a message stands to the bytes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is about exactly these.
    Fresh,
    /// About older ones, in which this line was the same.
    Stale,
    /// About older ones, and its line has changed since.
    Lost,
}

/// Clean: fit for a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    pub text: String,
    pub column: Option<u32>,
    pub standing: Standing,
}

impl Message {
    pub fn word(&self) -> &'static str {
        match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// By the line of the present bytes, from 0.
    here: BTreeMap<usize, Vec<Message>>,
    /// Those in other files, with their places.
    pub elsewhere: Vec<Message>,
}

/// Whether a compiler's file is the kernel: it may be named from anywhere, and the judged one is a copy.
pub fn of_kernel(file: &str, kernel: &str) -> bool {
    file.rsplit('/').next() == kernel.rsplit('/').next()
}

impl Messages {
    /// Of runs with what they judged and what their lines said, at their places in what is on disk.
    pub fn of<'r>(
        source: &Source,
        runs: impl IntoIterator<Item = (RunId, &'r Fingerprint, &'r Report)>,
        kernel: &str,
    ) -> Self {
        let mut all = Messages::default();
        let Ok(present) = &source.present else { return all };
        let last = present.text.len().saturating_sub(1);
        let mut count = 0;
        for (run, fingerprint, report) in runs {
            let is_stale = *fingerprint != present.fingerprint;
            let since = source.since.iter().find(|(of, _)| *of == run).map(|(_, diff)| diff);
            for found in report.diagnostics().iter().take(MESSAGES - count) {
                count += 1;
                if !of_kernel(&found.file, kernel) {
                    let text = format!("{}:{}: {}", found.file, found.line, found.message);
                    let standing = if is_stale { Standing::Stale } else { Standing::Fresh };
                    put(&mut all.elsewhere, message(found, &text, standing));
                    continue;
                }
                let (line, standing) = match since.map(|diff| diff.moved(found.line)) {
                    Some(Moved::Kept(line)) => (line, Standing::Stale),
                    Some(Moved::Gone(line)) => (line, Standing::Lost),
                    None if is_stale => (found.line, Standing::Stale),
                    None => (found.line, Standing::Fresh),
                };
                let line = (line as usize).saturating_sub(1).min(last);
                put(all.here.entry(line).or_default(), message(found, &found.message, standing));
            }
        }
        all
    }

    /// Those at a line.
    pub fn at(&self, line: usize) -> &[Message] {
        self.here.get(&line).map_or(&[], Vec::as_slice)
    }

    /// Lines with messages, from the top.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.here.keys().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.elsewhere.is_empty()
    }

    /// The first line with an error that is about the bytes on disk.
    pub fn first_error(&self) -> Option<usize> {
        let is_error = |m: &Message| m.severity == Severity::Error && m.standing == Standing::Fresh;
        self.here.iter().find(|(_, all)| all.iter().any(is_error)).map(|(line, _)| *line)
    }

    fn all(&self) -> impl Iterator<Item = &Message> {
        self.here.values().flatten().chain(&self.elsewhere)
    }

    /// `✗ 2 errors ! 1 warning`, `stale` behind it; empty where there is nothing to say.
    pub fn tally(&self) -> String {
        let mut parts = Vec::new();
        for (severity, sign, word) in [(Severity::Error, "✗", "error"), (Severity::Warning, "!", "warning")]
        {
            let count = self.all().filter(|message| message.severity == severity).count();
            if count > 0 {
                parts.push(format!("{sign} {count} {word}{}", if count == 1 { "" } else { "s" }));
            }
        }
        if !parts.is_empty() && self.all().all(|message| message.standing != Standing::Fresh) {
            parts.push("(stale)".to_owned());
        }
        parts.join(" ")
    }
}

/// A compiler that builds for two targets says everything twice.
fn put(all: &mut Vec<Message>, message: Message) {
    if !all.contains(&message) {
        all.push(message);
    }
}

fn message(found: &Diagnostic, text: &str, standing: Standing) -> Message {
    Message { severity: found.severity, text: printable(text).into_owned(), column: found.column, standing }
}
