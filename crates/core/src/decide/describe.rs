//! An experiment in other words: the record, its note, and then that one line of results.tsv. Its commit keeps the
//! message that it was made with: other commits are built on it.

use super::{Refusal, begin, no, write_note};
use crate::decide::intent::Unfinished;
use crate::history;
use crate::ledger::{self, Edit};
use crate::project::Project;
use crate::repo::{self, Notes};
use crate::run::RunId;
use crate::run::experiment::{Experiment, Row};
use crate::run::record::Record;
use crate::store::decision_lock::Deciding;
use anyhow::Result;
use std::result::Result as StdResult;

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The row as it is now.
    pub row: Row,
    pub before: String,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

/// Gives the experiment that `commit` holds (digits of an id, another name that git knows, or the number of a
/// discarded run) another description.
pub fn describe(project: &Project, commit: &str, description: &str) -> StdResult<Described, Refusal> {
    let deciding = begin(project)?;
    let description = ledger::description(description);
    if description.is_empty() {
        return no("say in a few words what was tried (`-m TEXT`)");
    }
    let Some(experiment) = find(project, commit)? else {
        return no(format!("'{commit}' is the commit of no experiment: `lab log --all` lists them"));
    };
    let Experiment { row, run, emulated, .. } = experiment;
    let unfinished =
        Unfinished::Describe { run, row: row.clone(), emulated, description: description.clone() };
    unfinished.begin(project)?;
    let notes = carry_out(project, &deciding, run, &row, emulated, &description)?;
    Unfinished::end(project)?;
    let before = row.description.clone();
    Ok(Described { row: Row { description, ..row }, before, notes })
}

/// The newest experiment that a commit holds.
fn find(project: &Project, name: &str) -> Result<Option<Experiment>> {
    let known = repo::resolve(project, name).map(|(id, _)| id);
    let mut experiments = history::history(project)?.experiments;
    let wanted = |e: &Experiment| match &known {
        Ok(id) => e.row.commit.len() >= 4 && id.starts_with(&e.row.commit),
        // Of another clone, whose commit was not fetched.
        Err(_) => name.len() >= 4 && e.row.commit.starts_with(name),
    };
    let at = experiments.iter().rposition(wanted);
    Ok(at.map(|at| experiments.swap_remove(at)))
}

/// Every step, each of which may be done already. `row` is as it was before.
pub(super) fn carry_out(
    project: &Project,
    deciding: &Deciding,
    run: Option<RunId>,
    row: &Row,
    emulated: bool,
    description: &str,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let told = |record: &mut Record| {
        if let Some(decision) = &mut record.decision {
            decision.description = description.to_owned();
            decision.row.iter_mut().for_each(|row| row.description = description.to_owned());
        }
    };
    let record = match run {
        Some(id) => {
            let mut record = deciding.records.read(id)?;
            told(&mut record);
            deciding.write(&record)?;
            Some(record)
        }
        None => Notes::open(project).of(&row.commit).and_then(|text| {
            let mut record: Record = serde_json::from_str(&text).ok()?;
            told(&mut record);
            Some(record)
        }),
    };
    if let Some(record) = &record {
        let wrote = write_note(project, &row.commit, record);
        notes.extend(
            wrote.err().map(|error| format!("its git note still has the old description: {error:#}")),
        );
    }
    let path = ledger::path(project, emulated);
    if !ledger::replace(&path, row, Edit::Describe(description))? {
        notes.push(format!("its row is not in {}: nothing was changed there", path.display()));
    }
    Ok(notes)
}
