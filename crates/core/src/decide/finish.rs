//! What every decision goes through: the intention in the record, then note, row and record.

use super::{Decided, Refusal, begin};
use crate::disk::space as room;
use crate::message::Message;
use crate::project::Project;
use crate::run::experiment::{Row, Status};
use crate::run::record::{Decision, Record};
use crate::run::verdict::Outcome;
use crate::store::decision_lock::Deciding;
use crate::store::index::{Brief, Shelf};
use crate::{history, ledger, repo};
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::result::Result as StdResult;

/// Adds every row that a decision owes to its ledger. The number of rows, and the first failure.
pub fn append_missing(project: &Project) -> Result<usize> {
    let deciding = begin(project)?;
    let missing = history::missing(project);
    let added = missing.len();
    for mut record in missing {
        if let Some(row) = record.decision.as_ref().and_then(|d| d.row.clone()) {
            ledger::append(&ledger::path(project, record.emulated()), &row)?;
            mark_written(&mut record);
            deciding.write(&record)?;
        }
    }
    Ok(added)
}

pub(super) fn mark_written(record: &mut Record) {
    if let Some(decision) = &mut record.decision {
        decision.row_written = true;
    }
}

pub(super) fn intend(
    deciding: &Deciding,
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
    deciding.write(record)
}

/// The commit is made: note, row and record follow. None of them undoes it.
pub(super) fn finish(
    project: &Project,
    deciding: &Deciding,
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
    let mut attempt = |what: Result<()>| {
        let done = what.is_ok();
        notes.extend(what.err().map(|error| format!("{error:#}")));
        done
    };
    let recorded = attempt(deciding.write(&record).with_context(|| {
        format!(
            "commit {} is made, but run {} counts as undecided and has no row: decide it again",
            row.commit, record.start.id
        )
    }));
    // Without the record nobody would know of the row, and deciding again would add a second one.
    if recorded && attempt(ledger::append(&ledger::path(project, record.emulated()), &row)) {
        mark_written(&mut record);
        attempt(deciding.write(&record));
    }
    let owes = |b: &Brief| b.decision.as_ref().is_some_and(|d| d.row.is_some() && !d.row_written);
    let owed = Shelf::runs(project, |b| b.id != record.start.id && owes(b));
    let owed = owed.into_iter().find_map(|run| deciding.records.read(run).ok());
    attempt(
        serde_json::to_string_pretty(&record)
            .map_err(Into::into)
            .and_then(|text| repo::note(project, &commit, &text))
            .map_err(|error| room::in_words(error, "the git note of the commit was not written"))
            .context("the experiment is kept here, but its record does not go with the commit"),
    );
    notes.extend(owed.map(|r| missing(project, &r)));
    Ok(Decided { run: Some(record.start.id), status, commit, row: Some(row), notes })
}

/// In words, that the row of a decided run is not in its ledger.
pub fn missing(project: &Project, record: &Record) -> String {
    format!(
        "the row of run {} is missing in {}: `lab log --append-missing` adds it",
        record.start.id,
        ledger::path(project, record.emulated()).display()
    )
}

fn row(record: &Record, commit: &str) -> Row {
    let status = record.decision.as_ref().map_or(Status::Discard, |d| d.status);
    let verdict = record.verdict.as_ref();
    let passed = verdict.is_some_and(|v| v.outcome == Outcome::Pass);
    Row {
        commit: repo::short(commit).to_owned(),
        throughput_sps: verdict.and_then(|v| v.objective).map_or(0.0, |m| m.value),
        kernel_us: verdict.and_then(|v| v.kernel_us).unwrap_or(0.0),
        correctness: passed.into(),
        status,
        description: record.decision.as_ref().map_or_else(String::new, |d| d.description.clone()),
    }
}
