//! Describe: gives an experiment another description, in its record, in its git note, and then in its line of
//! results.tsv. The commit keeps its message: other commits are built on it.

use super::carry_out::carry_out;
use super::intent::{Asked, Intent, What};
use super::step::{RowChange, Step};
use super::{Locked, Refusal, begin, no};
use crate::history;
use crate::history::names::{holds, resolve_name};
use crate::project::Project;
use crate::repo::{self, Notes};
use crate::run::RunId;
use crate::run::experiment::{Experiment, Row};
use crate::run::record::Record;
use crate::text::sanitise;
use anyhow::Result;
use std::collections::HashSet;
use std::result::Result as StdResult;

/// What a describe did.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The row as it is now.
    pub row: Row,
    /// The description before.
    pub before: String,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// Gives the experiment that `commit` holds another description. `commit` is a prefix of an id, another name that git
/// knows, or the number of a discarded run.
pub fn describe(project: &Project, commit: &str, description: &str) -> StdResult<Described, Refusal> {
    let description = sanitise::words(description);
    let text = format!("{commit} {description}");
    let asked = Asked { what: What::Describe, kernel: "", text: &text };
    let locked = begin(project, &asked)?;
    if description.is_empty() {
        return no("say in a few words what was tried (`-m TEXT`)");
    }
    let experiment = find(project, &locked, commit)?;
    let Experiment { row, run, emulated, .. } = experiment;
    let intent = plan(project, &locked, &asked, run, &row, emulated, &description)?;
    let nothing = "the description was not changed";
    let notes = carry_out(project, &locked, intent, nothing)?.close(project, &locked)?;
    let before = row.description.clone();
    Ok(Described { row: Row { description, ..row }, before, notes })
}

/// The newest experiment that a commit holds.
fn find(project: &Project, locked: &Locked, name: &str) -> StdResult<Experiment, Refusal> {
    let is_digits = name.len() >= 4 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let mut experiments = history::read_once(&locked.repo, project).experiments;
    let named: HashSet<&str> = experiments
        .iter()
        .map(|e| e.row.commit.as_str())
        .filter(|commit| is_digits && commit.starts_with(name))
        .collect();
    let at = match repo::commits_named(&locked.repo, name)?.is_empty() {
        true if named.is_empty() => None,
        // The commit is of another clone and was not fetched: its row still has a description.
        true if named.len() == 1 => experiments.iter().rposition(|e| named.contains(e.row.commit.as_str())),
        _ => {
            let commit = resolve_name(&locked.repo, project, name)?.commit;
            experiments.iter().rposition(|e| holds(&commit, e))
        }
    };
    match at {
        Some(at) => Ok(experiments.swap_remove(at)),
        None => no(format!("'{name}' is the commit of no experiment: `lab log --all` lists them")),
    }
}

/// The steps. `row` is the row as it was before.
pub(super) fn plan(
    project: &Project,
    locked: &Locked,
    asked: &Asked,
    run: Option<RunId>,
    row: &Row,
    emulated: bool,
    description: &str,
) -> Result<Intent> {
    let set = |record: &mut Record| {
        if let Some(decision) = &mut record.decision {
            decision.description = description.to_owned();
            decision.row.iter_mut().for_each(|row| row.description = description.to_owned());
        }
    };
    let mut intent = Intent::new(asked, project, &format!("of {}", row.commit));
    let note = |text| Step::Note { commit: row.commit.clone(), run, text };
    match run {
        Some(id) => {
            let mut record = locked.lock.store.read(id)?;
            set(&mut record);
            let (decision, undone) = (record.decision.map(Box::new), record.undone);
            intent.steps.extend([Step::Decision { run: id, decision, undone }, note(None)]);
        }
        None => {
            let text = Notes::of(&locked.repo).note(&row.commit).and_then(|text| {
                let mut record: Record = serde_json::from_str(&text).ok()?;
                set(&mut record);
                serde_json::to_string_pretty(&record).ok()
            });
            intent.steps.extend(text.map(|text| note(Some(text))));
        }
    }
    let change = RowChange::Describe { description: description.to_owned() };
    intent.steps.push(Step::Row { emulated, row: row.clone(), change });
    Ok(intent)
}
