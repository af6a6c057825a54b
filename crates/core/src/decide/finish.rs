//! What every decision about a run ends with: its row, the decision in the record, and the git
//! note.

use super::carry_out::carry_out;
use super::intent::{Asked, Intent, What};
use super::step::{RowChange, Step};
use super::{Decided, Locked, begin};
use crate::message::Message;
use crate::project::Project;
use crate::run::experiment::{Row, Status};
use crate::run::record::{Decision, Record};
use crate::run::verdict::Outcome;
use crate::store::{Fact, RunIndex, RunSummary};
use crate::{history, ledger, repo};
use anyhow::Result;
use jiff::Timestamp;

/// Adds every row that a decision owes to its ledger. Returns the number of rows; an error is the
/// first failure.
pub fn append_missing(project: &Project) -> Result<usize> {
    let asked = Asked {
        what: What::Append,
        kernel: "",
        text: "",
    };
    let locked = begin(project, &asked)?;
    let missing = history::missing(&locked.repo, project);
    let mut added = 0;
    for mut record in missing {
        let Some(row) = record.decision.as_ref().and_then(|d| d.row.clone()) else {
            continue;
        };
        // First alone: a ledger that cannot be written is an error here, and nothing to go on with.
        let path = ledger::path(project, record.emulated());
        let from = ledger::length(&path);
        let mut intent = Intent::new(&asked, project, "");
        let change = RowChange::Append { from };
        intent.steps.push(Step::Row {
            emulated: record.emulated(),
            row: row.clone(),
            change,
        });
        if let Some(decision) = &mut record.decision {
            decision.row_written = true;
        }
        intent.steps.push(decision_step(&record));
        let carried = carry_out(project, &locked, intent, "no row was added")?;
        carried.close(project, &locked)?;
        ledger::append_once(&path, &row, from)?;
        added += 1;
    }
    Ok(added)
}

/// Adds the rows that decisions owe, if the index knows of any: the disk was full when they were to
/// be written. Call [`RunIndex::refresh`] first. Returns the number of rows.
pub fn append_owed(project: &Project, index: &mut RunIndex) -> Result<usize> {
    let is_any = index
        .newest_with(|keys| keys.is(Fact::OwesRow))
        .any(owes_row);
    if !is_any {
        return Ok(0);
    }
    let added = append_missing(project)?;
    index.refresh();
    Ok(added)
}

fn owes_row(run: &RunSummary) -> bool {
    run.decision
        .as_ref()
        .is_some_and(|decision| decision.row.is_some() && !decision.row_written)
}

/// The decision about a run, as it will be made. Its number is greater than that of every decision
/// before, also if the records of some cannot be read.
pub(super) fn new_decision(index: &RunIndex, status: Status, message: &Message) -> Decision {
    Decision {
        status,
        description: message.subject().to_owned(),
        trailers: message.trailers().to_vec(),
        decided: Timestamp::now(),
        order: index.greatest_order() + 1 + index.damaged().count() as u64,
        commit: None,
        made: None,
        row: None,
        row_written: true,
    }
}

/// The step that writes this record's decision.
pub(super) fn decision_step(record: &Record) -> Step {
    let (decision, undone) = (record.decision.clone().map(Box::new), record.undone.clone());
    Step::Decision {
        run: record.start.id,
        decision,
        undone,
    }
}

/// The last steps of a decision. `commit` is the full id of the commit that holds the judged bytes;
/// empty if it is not made yet.
pub(super) fn last_steps(project: &Project, record: &mut Record, commit: &str) -> Vec<Step> {
    let row = row(record, commit);
    if let Some(decision) = &mut record.decision {
        decision.commit = Some(commit.to_owned()).filter(|commit| !commit.is_empty());
        decision.row = Some(row.clone());
    }
    let from = ledger::length(&ledger::path(project, record.emulated()));
    vec![
        Step::Row {
            emulated: record.emulated(),
            row,
            change: RowChange::Append { from },
        },
        decision_step(record),
        Step::Note {
            commit: commit.to_owned(),
            run: Some(record.start.id),
            text: None,
        },
    ]
}

/// Carries out the intent of a decision about a run.
pub(super) fn decide(
    project: &Project,
    locked: &Locked,
    index: &mut RunIndex,
    record: &Record,
    intent: Intent,
    nothing: &str,
    notes: Vec<String>,
) -> std::result::Result<Decided, super::Refusal> {
    let carried = carry_out(project, locked, intent, nothing)?;
    let row = carried.intent.row().cloned();
    let commit = carried.intent.commit.clone().unwrap_or_default();
    let mut all = carried.close(project, locked)?;
    all.extend(notes);
    index.catch_up();
    let mut owed = index
        .newest_with(|keys| keys.is(Fact::OwesRow))
        .filter(|b| b.id != record.start.id && owes_row(b));
    let owed = owed.find_map(|summary| locked.lock.store.read(summary.id).ok());
    all.extend(owed.map(|record| missing_row(project, &record)));
    let status = row.as_ref().map_or(Status::Discard, |row| row.status);
    Ok(Decided {
        run: Some(record.start.id),
        status,
        commit,
        row,
        notes: all,
    })
}

/// Tells the user that the row of a decided run is not in its ledger.
fn missing_row(project: &Project, record: &Record) -> String {
    format!(
        "the row of run {} is missing in {}: `lab log --append-missing` adds it",
        record.start.id,
        ledger::path(project, record.emulated()).display()
    )
}

/// The row of a decided run. A kept run has the figures of its sealed runs, if these were timed. A
/// figure that was not measured is 0.0.
fn row(record: &Record, commit: &str) -> Row {
    let status = record
        .decision
        .as_ref()
        .map_or(Status::Discard, |d| d.status);
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
        description: record
            .decision
            .as_ref()
            .map_or_else(String::new, |d| d.description.clone()),
    }
}
