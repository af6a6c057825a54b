//! An experiment in other words: the record, its note, and then that one line of results.tsv. Its commit keeps the
//! message that it was made with: other commits are built on it.

use super::{Refusal, begin, no};
use crate::decide::intent::Unfinished;
use crate::disk::space;
use crate::history;
use crate::ledger::{self, Edit};
use crate::project::Project;
use crate::repo::{self, Notes};
use crate::run::RunId;
use crate::run::experiment::{Experiment, Row};
use crate::run::record::Record;
use crate::store::DecisionLock;
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
    let lock = begin(project)?;
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
    let notes = carry_out(project, &lock, run, &row, emulated, &description)?;
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
    lock: &DecisionLock,
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
            let mut record = lock.store.read(id)?;
            told(&mut record);
            lock.write(&record)?;
            Some(record)
        }
        None => Notes::open(project).of(&row.commit).and_then(|text| {
            let mut record: Record = serde_json::from_str(&text).ok()?;
            told(&mut record);
            Some(record)
        }),
    };
    if let Some(record) = &record {
        let noted = serde_json::to_string_pretty(record)
            .map_err(anyhow::Error::from)
            .and_then(|text| repo::note(project, &row.commit, &text));
        notes.extend(noted.err().map(|error| {
            let error = space::explain(error, "the git note of the commit was not written");
            format!("its note still says the old words: {error:#}")
        }));
    }
    let path = ledger::path(project, emulated);
    if !ledger::replace(&path, row, Edit::Describe(description))? {
        notes.push(format!("its row is not in {}: nothing was changed there", path.display()));
    }
    Ok(notes)
}
