//! The steps that every decision shares: the decision in the record, then row, record and note.

use super::{Decided, Locked, Refusal, begin, write_note};
use crate::message::Message;
use crate::project::Project;
use crate::run::experiment::{Row, Status};
use crate::run::record::{Decision, Record};
use crate::run::verdict::Outcome;
use crate::store::{Fact, RunIndex, RunSummary};
use crate::{history, ledger, repo};
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::result::Result as StdResult;

/// Adds every row that a decision owes to its ledger. Returns the number of rows; an error is the first failure.
pub fn append_missing(project: &Project) -> Result<usize> {
    let locked = begin(project)?;
    let missing = history::missing(&locked.repo, project);
    let added = missing.len();
    for mut record in missing {
        if let Some(row) = record.decision.as_ref().and_then(|d| d.row.clone()) {
            ledger::append(&ledger::path(project, record.emulated()), &row)?;
            mark_written(&mut record);
            locked.lock.write(&record)?;
        }
    }
    Ok(added)
}

fn mark_written(record: &mut Record) {
    if let Some(decision) = &mut record.decision {
        decision.row_written = true;
    }
}

/// Writes the decision into the record, before git is touched. Without a commit it does not count as a decision.
pub(super) fn write_decision(
    locked: &Locked,
    record: &mut Record,
    status: Status,
    message: &Message,
) -> Result<()> {
    record.decision = Some(Decision {
        status,
        description: message.subject().to_owned(),
        trailers: message.trailers().to_vec(),
        decided: Timestamp::now(),
        commit: None,
        made: None,
        row: None,
        row_written: false,
    });
    locked.lock.write(record)
}

/// Takes the decision out of the record, because git made no commit.
pub(super) fn withdraw_decision(locked: &Locked, record: &mut Record) {
    record.decision = None;
    // The caller reports why there is no commit. A record that keeps the decision counts as undecided all the same.
    let _ = locked.lock.write(record);
}

/// Writes row, record and note, after the commit was made. A failure becomes a note: the commit stays.
pub(super) fn finish(
    project: &Project,
    locked: &Locked,
    index: &mut RunIndex,
    mut record: Record,
    commit: String,
    mut notes: Vec<String>,
) -> StdResult<Decided, Refusal> {
    let row = row(&record, &commit);
    let status = row.status;
    if let Some(decision) = &mut record.decision {
        decision.commit = Some(commit.clone());
        decision.row = Some(row.clone());
    }
    let mut attempt = |result: Result<()>| {
        let done = result.is_ok();
        notes.extend(result.err().map(|error| format!("{error:#}")));
        done
    };
    let recorded = attempt(locked.lock.write(&record).with_context(|| {
        format!(
            "commit {} is made, but run {} counts as undecided and has no row: decide it again",
            row.commit, record.start.id
        )
    }));
    // Without the record nothing would tell that the row is there, and deciding again would add a second one.
    if recorded && attempt(ledger::append(&ledger::path(project, record.emulated()), &row)) {
        mark_written(&mut record);
        attempt(locked.lock.write(&record));
    }
    let owes = |b: &RunSummary| b.decision.as_ref().is_some_and(|d| d.row.is_some() && !d.row_written);
    index.refresh();
    let mut owed =
        index.newest_with(|keys| keys.is(Fact::OwesRow)).filter(|b| b.id != record.start.id && owes(b));
    let owed = owed.find_map(|summary| locked.lock.store.read(summary.id).ok());
    attempt(
        write_note(locked, &commit, &record)
            .context("the experiment is kept here, but its record does not go with the commit"),
    );
    notes.extend(owed.map(|record| missing_row(project, &record)));
    Ok(Decided { run: Some(record.start.id), status, commit, row: Some(row), notes })
}

/// Tells the user that the row of a decided run is not in its ledger.
fn missing_row(project: &Project, record: &Record) -> String {
    format!(
        "the row of run {} is missing in {}: `lab log --append-missing` adds it",
        record.start.id,
        ledger::path(project, record.emulated()).display()
    )
}

/// The row of a decided run. A kept run has the figures of its sealed runs, if these were timed. A figure that was not
/// measured is 0.0.
fn row(record: &Record, commit: &str) -> Row {
    let status = record.decision.as_ref().map_or(Status::Discard, |d| d.status);
    let verdict = record.verdict.as_ref();
    let passed = verdict.is_some_and(|v| v.outcome == Outcome::Pass);
    let kernel_us = match record.sealed() {
        Some(sealed) => sealed.kernel_us,
        None => verdict.and_then(|v| v.kernel_us),
    };
    Row {
        commit: repo::short(commit).to_owned(),
        throughput_sps: record.objective().map_or(0.0, |m| m.value),
        kernel_us: kernel_us.unwrap_or(0.0),
        correctness: passed.into(),
        status,
        description: record.decision.as_ref().map_or_else(String::new, |d| d.description.clone()),
    }
}
