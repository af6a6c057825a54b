//! What was decided so far: the rows of results.tsv and results.cpu.tsv beside their records.

use super::experiment::{Experiment, Row};
use super::project::Project;
use super::record::Record;
use super::records::Records;
use super::repo::Notes;
use super::{ledger, repo};
use anyhow::Result;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Oldest first; `kernel` tells the problem, `device` and `emulated` the device.
    pub experiments: Vec<Experiment>,
    /// Rows that cannot be read, rows that are missing, damaged records: in words.
    pub problems: Vec<String>,
}

/// Reads disk: not for the screen's own thread.
pub fn history(project: &Project) -> Result<History> {
    Ok(read(project).0)
}

/// Decided runs whose rows are not in their ledger, in the order in which they were decided.
pub fn missing(project: &Project) -> Vec<Record> {
    let mut missing = read(project).1;
    missing.sort_by_key(|r| r.decision.as_ref().map(|d| d.decided));
    missing
}

fn read(project: &Project) -> (History, Vec<Record>) {
    let (mut records, mut problems) = Records::new(&project.lab_dir).newest();
    records.retain(|r| r.decision.as_ref().is_some_and(|d| d.row.is_some()));
    records.reverse();
    let notes = Notes::open(project);
    let (mut experiments, mut missing) = (Vec::new(), Vec::new());
    for emulated in [false, true] {
        let ledger = ledger::read(&ledger::path(project, emulated));
        problems.extend(ledger.problems);
        let mut recorded: Vec<&Record> = records.iter().filter(|r| r.emulated() == emulated).collect();
        // Newest first: a commit that was kept twice has two rows, and the old record may be gone.
        let mut rows: Vec<Experiment> = ledger
            .rows
            .into_iter()
            .rev()
            .map(|row| {
                let at = recorded.iter().rposition(|r| belongs(r, &row));
                let local = at.map(|at| recorded.remove(at).clone());
                experiment(&notes, row, local, emulated)
            })
            .collect();
        rows.reverse();
        // A row whose description somebody changed is still the row.
        let edited = |r: &Record| {
            let row = r.decision.as_ref().and_then(|d| d.row.as_ref());
            rows.iter().any(|e| e.run.is_none() && row.is_some_and(|known| known.commit == e.row.commit))
        };
        let gone: Vec<&Record> = recorded.into_iter().filter(|r| !edited(r)).collect();
        missing.extend(owed(project, emulated, gone).into_iter().cloned());
        // A row whose time is not known stays after its neighbour.
        let mut last = None;
        experiments.extend(rows.into_iter().map(|e| {
            last = e.decided.or(last);
            (last, e)
        }));
    }
    experiments.sort_by_key(|(when, _)| *when);
    problems.extend([false, true].into_iter().filter_map(|emulated| {
        in_words(project, emulated, missing.iter().filter(|r: &&Record| r.emulated() == emulated))
    }));
    (History { experiments: experiments.into_iter().map(|(_, e)| e).collect(), problems }, missing)
}

/// Of the decided runs without a row those that the ledger owes one. Rows that were written once
/// and are gone were deleted by hand; of a ledger that git tracks another branch may hold them.
fn owed<'r>(project: &Project, emulated: bool, gone: Vec<&'r Record>) -> Vec<&'r Record> {
    let written = |r: &&Record| r.decision.as_ref().is_some_and(|d| d.row_written);
    let tracked = gone.iter().any(written) && repo::tracked(project, &ledger::path(project, emulated));
    gone.into_iter().filter(|r| !(tracked && written(r))).collect()
}

/// In words, that rows of decided runs are not in their ledger.
fn in_words<'r>(
    project: &Project,
    emulated: bool,
    missing: impl Iterator<Item = &'r Record>,
) -> Option<String> {
    let runs: Vec<String> = missing.map(|r| r.start.id.to_string()).collect();
    let (what, them) = match runs.as_slice() {
        [] => return None,
        [run] => (format!("the row of run {run} is"), "it"),
        several => (format!("the rows of runs {} are", several.join(", ")), "them"),
    };
    let path = ledger::path(project, emulated);
    Some(format!("{what} missing in {}: `lab log --append-missing` adds {them}", path.display()))
}

fn belongs(record: &Record, row: &Row) -> bool {
    let decision = record.decision.as_ref();
    decision.and_then(|d| d.row.as_ref()).is_some_and(|known| {
        known.commit == row.commit && known.status == row.status && known.description == row.description
    })
}

/// In another clone the record is the note of the commit, where notes were fetched.
fn experiment(notes: &Notes, row: Row, local: Option<Record>, emulated: bool) -> Experiment {
    let noted = || {
        let record: Record = serde_json::from_str(&notes.of(&row.commit)?).ok()?;
        (record.emulated() == emulated).then_some(record)
    };
    let run = local.as_ref().map(|r| r.start.id);
    let record = local.or_else(noted);
    Experiment {
        run,
        kernel: record.as_ref().map(|r| r.start.kernel.clone()),
        device: record.as_ref().and_then(|r| r.device.clone()),
        emulated,
        decided: record.as_ref().and_then(|r| r.decision.as_ref()).map(|d| d.decided),
        measured: record.as_ref().and_then(|r| r.verdict.as_ref()).map(Into::into).unwrap_or_default(),
        row,
    }
}
