//! The summaries of records in git notes: of the runs of other clones nothing else is known.

use super::RunIndex;
use crate::signature::public::{self, Statement};
use crate::signature::signers::Signers;
use crate::summary::RunSummary;
use lab_git::Notes;
use lab_run::RunId;
use lab_run::record::{Origin, is_inside};
use serde_json::Value;
use std::collections::HashMap;

/// Summaries read from notes, valid while the notes' ref is at `tip` and the repository lists these
/// keys.
#[derive(Default)]
pub struct InNotes {
    tip: Option<String>,
    signers: Signers,
    pub summaries: HashMap<String, Option<RunSummary>>,
}

impl RunIndex {
    /// The summary of the record in the commit's note, where notes were fetched. Another clone's
    /// runs are known only from notes.
    pub fn summary_in_note(&self, commit: &str) -> Option<&RunSummary> {
        self.in_notes.summaries.get(commit)?.as_ref()
    }

    /// The summary of a row's record: the one of this run, else the one in the note of its commit. Nobody
    /// else can prove a record in a folder that several users share; a listed key can vouch for its note.
    pub fn summary_of_row(&self, run: Option<RunId>, commit: &str) -> Option<&RunSummary> {
        let recorded = run.and_then(|run| self.summary(run));
        let noted = self.summary_in_note(commit);
        match recorded {
            Some(recorded) if recorded.is_foreign() => noted
                .filter(|noted| !noted.is_foreign() && noted.emulated() == recorded.emulated())
                .or(Some(recorded)),
            recorded => recorded.or(noted),
        }
    }

    /// Whether [`RunIndex::summary_of_row`] looks at the note for a row with this run.
    pub fn needs_note(&self, run: Option<RunId>) -> bool {
        let recorded = run.and_then(|run| self.summary(run));
        recorded.is_none_or(RunSummary::is_foreign)
    }

    /// Reads the notes of these rows' commits, for [`RunIndex::summary_in_note`]. `signers` are the
    /// keys that the repository lists.
    pub fn read_notes<'c>(
        &mut self,
        notes: &Notes,
        signers: &Signers,
        commits: impl Iterator<Item = &'c str>,
    ) {
        let tip = notes.tip();
        if self.in_notes.tip != tip || self.in_notes.signers != *signers {
            self.in_notes = InNotes {
                tip,
                signers: signers.clone(),
                summaries: HashMap::new(),
            };
        }
        if self.in_notes.tip.is_none() {
            return;
        }
        for commit in commits {
            if !self.in_notes.summaries.contains_key(commit)
                && let Some(note) = notes.note_of_row(commit)
            {
                self.in_notes
                    .summaries
                    .insert(commit.to_owned(), read(&note, commit, signers));
            }
        }
    }
}

/// The summary of the record in a commit's note. A note is another clone's, whatever it says of
/// itself. A listed key vouches for it where the note is that of the commit: anybody can copy one.
fn read(note: &str, commit: &str, signers: &Signers) -> Option<RunSummary> {
    let mut value: Value = serde_json::from_str(note).ok()?;
    let signer = public::signer_of(Statement::Note, &mut value);
    let is_listed = signer.is_some_and(|key| signers.name_of(&key).is_some());
    let summary: RunSummary = serde_json::from_value(value).ok()?;
    let decided = summary.decision.as_ref();
    let noted = decided.and_then(|decision| decision.commit.as_deref());
    let is_of_commit = noted.is_some_and(|noted| noted.starts_with(commit));
    is_inside(&summary.kernel).then_some(RunSummary {
        origin: match is_listed && is_of_commit {
            true => Origin::Listed,
            false => Origin::Foreign,
        },
        ..summary
    })
}
