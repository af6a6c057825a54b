//! The summaries of records in git notes: of the runs of other clones nothing else is known.

use super::RunIndex;
use crate::summary::RunSummary;
use lab_git::Notes;
use lab_run::record::{Origin, is_inside};
use std::collections::HashMap;

/// Summaries read from notes, valid while the notes' ref is at `tip`.
#[derive(Default)]
pub struct InNotes {
    tip: Option<String>,
    pub summaries: HashMap<String, Option<RunSummary>>,
}

impl RunIndex {
    /// The summary of the record in the commit's note, where notes were fetched. Another clone's
    /// runs are known only from notes.
    pub fn summary_in_note(&self, commit: &str) -> Option<&RunSummary> {
        self.in_notes.summaries.get(commit)?.as_ref()
    }

    /// Reads the notes of these rows' commits, for [`RunIndex::summary_in_note`].
    pub fn read_notes<'c>(&mut self, notes: &Notes, commits: impl Iterator<Item = &'c str>) {
        let tip = notes.tip();
        if self.in_notes.tip != tip {
            self.in_notes = InNotes {
                tip,
                summaries: HashMap::new(),
            };
        }
        if self.in_notes.tip.is_none() {
            return;
        }
        // A note is another clone's, whatever it says of itself.
        let read = |note: String| {
            let summary: RunSummary = serde_json::from_str(&note).ok()?;
            is_inside(&summary.kernel).then_some(RunSummary {
                origin: Origin::Foreign,
                ..summary
            })
        };
        for commit in commits {
            if !self.in_notes.summaries.contains_key(commit)
                && let Some(note) = notes.note_of_row(commit)
            {
                self.in_notes
                    .summaries
                    .insert(commit.to_owned(), read(note));
            }
        }
    }
}
