//! The messages of compilers and of `lab check`, at the lines of the present text that they belong
//! to.

use super::SourceView;
use crate::diff::LineLocation;
use crate::text::printable;
use lab_protocol::report::{Diagnostic, Report, Severity};
use lab_run::{Fingerprint, RunId};
use std::collections::BTreeMap;

/// The number of messages that are shown at most. All messages are in run.log.
const MESSAGE_LIMIT: usize = 500;

/// Whether a message belongs to the bytes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The message is about exactly these bytes.
    Fresh,
    /// The message is about older bytes; its line is unchanged.
    Stale,
    /// The message is about older bytes; its line has changed since.
    Lost,
}

/// A message whose text is safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMessage {
    pub severity: Severity,
    pub text: String,
    pub column: Option<u32>,
    pub freshness: Freshness,
}

impl SourceMessage {
    pub fn word(&self) -> &'static str {
        severity_word(self.severity)
    }
}

/// `error`, `warning` or `note`.
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// All messages of the shown runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMessages {
    /// The messages of each line of the present text, lines from 0.
    by_line: BTreeMap<usize, Vec<SourceMessage>>,
    /// Messages about other files; their text begins with `FILE:LINE: `.
    pub elsewhere: Vec<SourceMessage>,
}

/// Whether the file of a message is the kernel. Only the file name counts: the compiler may see
/// another folder, and the judged kernel is a copy.
pub fn of_kernel(file: &str, kernel: &str) -> bool {
    file.rsplit('/').next() == kernel.rsplit('/').next()
}

impl SourceMessages {
    /// Collects the messages of runs and locates them in the present text of `source`. A run is
    /// given with the fingerprint of what it judged, and with its report. `kernel` is the kernel's
    /// path.
    pub fn of<'r>(
        source: &SourceView,
        runs: impl IntoIterator<Item = (RunId, &'r Fingerprint, &'r Report)>,
        kernel: &str,
    ) -> Self {
        let mut all = SourceMessages::default();
        let Ok(present) = &source.present else {
            return all;
        };
        let last = present.text.len().saturating_sub(1);
        let mut count = 0;
        for (run, fingerprint, report) in runs {
            let freshness = if *fingerprint == present.fingerprint {
                Freshness::Fresh
            } else {
                Freshness::Stale
            };
            let since = source
                .since
                .iter()
                .find(|(of, _)| *of == run)
                .map(|(_, diff)| diff);
            for diagnostic in report.diagnostics().iter().take(MESSAGE_LIMIT - count) {
                count += 1;
                if !of_kernel(&diagnostic.file, kernel) {
                    let text = format!(
                        "{}:{}: {}",
                        diagnostic.file, diagnostic.line, diagnostic.message
                    );
                    put(&mut all.elsewhere, message(diagnostic, &text, freshness));
                    continue;
                }
                let (line, freshness) = match since.map(|diff| diff.locate(diagnostic.line)) {
                    Some(LineLocation::Kept(line)) => (line, Freshness::Stale),
                    Some(LineLocation::Gone(line)) => (line, Freshness::Lost),
                    None => (diagnostic.line, freshness),
                };
                let line = (line as usize).saturating_sub(1).min(last);
                put(
                    all.by_line.entry(line).or_default(),
                    message(diagnostic, &diagnostic.message, freshness),
                );
            }
        }
        all
    }

    /// The messages at a line, from 0.
    pub fn at(&self, line: usize) -> &[SourceMessage] {
        self.by_line.get(&line).map_or(&[], Vec::as_slice)
    }

    /// The lines with messages, from the top.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.by_line.keys().copied()
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.by_line.is_empty() && self.elsewhere.is_empty()
    }

    /// The first line with an error about the bytes on disk.
    pub fn first_error(&self) -> Option<usize> {
        let is_error =
            |m: &SourceMessage| m.severity == Severity::Error && m.freshness == Freshness::Fresh;
        self.by_line
            .iter()
            .find(|(_, all)| all.iter().any(is_error))
            .map(|(line, _)| *line)
    }

    fn all(&self) -> impl Iterator<Item = &SourceMessage> {
        self.by_line.values().flatten().chain(&self.elsewhere)
    }

    /// The number of errors and warnings: `✗ 2 errors ! 1 warning`, then `(stale)` where all are
    /// about older bytes. Empty without errors and warnings.
    pub fn tally(&self) -> String {
        let mut parts = Vec::new();
        for (severity, symbol) in [(Severity::Error, "✗"), (Severity::Warning, "!")] {
            let count = self.all().filter(|m| m.severity == severity).count();
            if count > 0 {
                let (word, plural) = (severity_word(severity), if count == 1 { "" } else { "s" });
                parts.push(format!("{symbol} {count} {word}{plural}"));
            }
        }
        if !parts.is_empty() && self.all().all(|m| m.freshness != Freshness::Fresh) {
            parts.push("(stale)".to_owned());
        }
        parts.join(" ")
    }
}

/// Adds a message once: a compiler that builds for two targets reports each message twice.
fn put(all: &mut Vec<SourceMessage>, message: SourceMessage) {
    if !all.contains(&message) {
        all.push(message);
    }
}

fn message(diagnostic: &Diagnostic, text: &str, freshness: Freshness) -> SourceMessage {
    SourceMessage {
        severity: diagnostic.severity,
        text: printable(text),
        column: diagnostic.column,
        freshness,
    }
}
