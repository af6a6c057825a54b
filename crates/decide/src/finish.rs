//! What every decision about a run ends with: its row, the decision in the record, and the git
//! note.

use super::decision::Decision;
use super::intent::{RowChange, Step};
use super::{Decided, Refusal};
use lab_project::Project;
use lab_project::objective::Objective;
use lab_run::experiment::{Row, Status};
use lab_run::message::{Message, TrailerKey};
use lab_run::record::{self, Record};
use lab_run::sweep::AttachedSweep;
use lab_run::verdict::Outcome;
use lab_run::{RunId, RunStart, ledger};
use lab_store::{Fact, RunIndex, RunSummary};

/// The decision about a run, as it will be made. Its number is greater than that of every decision
/// before, even if some records cannot be read.
pub fn new_decision(
    index: &RunIndex,
    status: Status,
    message: &Message,
    sweep: Option<AttachedSweep>,
) -> record::Decision {
    record::Decision {
        status,
        description: message.subject().to_owned(),
        trailers: message.trailers().to_vec(),
        decided: lab_run::now(),
        order: index
            .greatest_order()
            .saturating_add(1 + index.damaged().count() as u64),
        commit: None,
        made: None,
        row: None,
        row_written: true,
        sweep: sweep.map(Box::new),
    }
}

/// The sweep that found the bytes of a run, if one did, and the message that names it.
pub fn with_sweep(
    message: Message,
    project: &Project,
    record: &Record,
) -> (Message, Option<AttachedSweep>) {
    let RunStart { kernel, blob, .. } = &record.start;
    let sweep = lab_sweep::origin_of(&project.lab_dir, kernel, blob);
    let message = match &sweep {
        Some(sweep) => {
            message.with_default(TrailerKey::Other("Sweep".to_owned()), &sweep.in_words())
        }
        None => message,
    };
    (message, sweep)
}

/// The step that writes this record's decision.
pub fn decision_step(record: &Record) -> Step {
    Step::Decision {
        run: record.start.id,
        decision: record.decision.clone().map(Box::new),
        undone: record.undone.clone(),
    }
}

/// The step that writes the record of a run into the note of its commit.
pub fn note_step(run: RunId, commit: Option<String>) -> Step {
    Step::Note {
        commit: commit.unwrap_or_default(),
        run: Some(run),
        text: None,
    }
}

/// The step that appends a row to a ledger as it is now.
pub fn append_step(project: &Project, emulated: bool, row: Row) -> Step {
    let from = ledger::length(&ledger::path(project, emulated));
    Step::Row {
        emulated,
        row,
        change: RowChange::Append { from },
    }
}

impl Decision<'_> {
    /// Carries out the decision that `record` holds, with the steps that every decision about a run
    /// ends with, and `last` behind them.
    pub(super) fn decide(
        &mut self,
        index: &mut RunIndex,
        record: &mut Record,
        last: Option<Step>,
        nothing: &str,
    ) -> Result<Decided, Refusal> {
        let (project, run) = (self.project, record.start.id);
        let commit = self.intent.commit.clone();
        let commit_id = commit.as_deref().unwrap_or_default();
        let row = row(record, commit_id, &project.config.objective);
        let status = row.status;
        if let Some(decision) = &mut record.decision {
            (decision.commit, decision.row) = (commit.clone(), Some(row.clone()));
        }
        let note = note_step(run, commit);
        let append = append_step(project, record.emulated(), row);
        self.add([append, decision_step(record), note]);
        self.add(last);
        self.finish(nothing)?;
        index.catch_up();
        let mut owed = index
            .newest_with(|keys| keys.is(Fact::OwesRow))
            .filter(|summary| summary.id != run && owes_row(summary));
        let owed = owed.find_map(|summary| self.records().read(summary.id).ok());
        self.note(owed.map(|record| missing_row(project, &record)));
        let row = self.intent.row().cloned();
        Ok(self.decided(Some(run), status, row))
    }
}

/// Whether the row of a decision is not in its ledger yet.
pub fn owes_row(run: &RunSummary) -> bool {
    run.decision
        .as_ref()
        .is_some_and(|decision| decision.row.is_some() && !decision.row_written)
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
/// figure that was not measured is 0.0, and so are samples per second if they are not the objective.
fn row(record: &Record, commit: &str, objective: &Objective) -> Row {
    let (decision, verdict) = (record.decision.as_ref(), record.verdict.as_ref());
    let passed = verdict.is_some_and(|v| v.outcome == Outcome::Pass);
    let kernel_us = match record.sealed() {
        Some(sealed) => sealed.kernel_us,
        None => verdict.and_then(|v| v.kernel_us),
    };
    Row {
        commit: lab_git::short(commit).to_owned(),
        throughput_sps: record
            .objective()
            .filter(|_| *objective == Objective::Throughput)
            .map_or(0.0, |m| m.value),
        kernel_us: kernel_us.unwrap_or(0.0),
        correctness: passed.into(),
        status: decision.map_or(Status::Discard, |d| d.status),
        description: decision.map_or_else(String::new, |d| d.description.clone()),
    }
}
