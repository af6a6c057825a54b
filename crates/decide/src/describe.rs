//! Describe: gives an experiment another description or other trailers, in its record and its git
//! note. Its line of results.tsv gets the description. The commit keeps its message: other commits
//! are built on it.

use super::decision::Decision;
use super::finish::decision_step;
use super::intent::{RowChange, Step, What};
use super::{Refusal, is_undecided, no};
use anyhow::Result;
use lab_git::Notes;
use lab_history::names::{holds, resolve_name};
use lab_project::Project;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Row};
use lab_run::message::{Message, Trailer};
use lab_run::record::Record;
use lab_store::RunIndex;
use lab_text::sanitise;
use std::collections::HashSet;
use std::result::Result as StdResult;

/// What a describe is to change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// `None` leaves the description as it is.
    pub description: Option<&'a str>,
    /// Each replaces the trailers of its key; an empty value removes them. The others stay.
    pub trailers: &'a [Trailer],
}

impl Changes<'_> {
    /// Changes a record that has a decision.
    fn apply(&self, record: &mut Record) {
        let Some(decision) = &mut record.decision else {
            return;
        };
        if let Some(description) = self.description {
            decision.description = description.to_owned();
            decision
                .row
                .iter_mut()
                .for_each(|row| row.description = description.to_owned());
        }
        decision
            .trailers
            .retain(|(known, _)| !self.trailers.iter().any(|(key, _)| key == known));
        let given = self.trailers.iter().filter(|(_, value)| !value.is_empty());
        decision.trailers.extend(given.cloned());
    }
}

/// What a describe did.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The row as it is now.
    pub row: Row,
    /// The description before.
    pub before: String,
    /// The trailers that were given.
    pub trailers: Vec<Trailer>,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// Gives the experiment that `commit` holds another description or other trailers. `commit` is a
/// prefix of an id, another name that git knows, or the number of a run.
pub fn describe(
    project: &Project,
    commit: &str,
    changes: &Changes,
) -> StdResult<Described, Refusal> {
    let description = changes.description.map(sanitise::words);
    let message = Message::new(
        description.as_deref().unwrap_or_default(),
        changes.trailers.iter().cloned(),
    );
    let is_removed = |(_, value): &&Trailer| value.is_empty();
    let removed = changes.trailers.iter().filter(is_removed).cloned();
    let trailers: Vec<Trailer> = message.trailers().iter().cloned().chain(removed).collect();
    let without = trailers.iter().filter(|(_, value)| value.is_empty());
    let without: String = without.map(|(key, _)| format!("\n{key}:")).collect();
    let text = format!("{commit} {}{without}", message.render());
    let mut describing = Decision::begin(project, What::Describe, &text)?;
    if description.as_ref().is_some_and(String::is_empty) {
        return no("say in a few words what was tried (`-m TEXT`)");
    }
    if description.is_none() && trailers.is_empty() {
        return no(
            "say what is to change: a description (`-m TEXT`), `--hypothesis TEXT`, `--lesson TEXT` or `--trailer 'Note: TEXT'`",
        );
    }
    let changes = Changes {
        description: description.as_deref(),
        trailers: &trailers,
    };
    let experiment = find(&describing, commit)?;
    let row = experiment.row.clone();
    let has_record = describing.plan_describe(experiment, &changes)?;
    // A row has no place for trailers.
    if !changes.trailers.is_empty() && !has_record {
        return no(format!(
            "the experiment of {} has neither a record nor a git note here, and its row holds no trailers: `lab fetch` \
             brings the records of other clones",
            row.commit
        ));
    }
    describing.finish("the experiment was not changed")?;
    let before = row.description.clone();
    let row = Row {
        description: changes.description.unwrap_or(&before).to_owned(),
        ..row
    };
    Ok(Described {
        row,
        before,
        trailers: changes.trailers.to_vec(),
        notes: describing.notes,
    })
}

/// The newest experiment that a commit holds.
fn find(describing: &Decision, name: &str) -> StdResult<Experiment, Refusal> {
    let repo = describing.repo();
    let is_digits = name.len() >= 4 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let mut index = RunIndex::open(&repo.project);
    index.require_listed()?;
    let mut experiments = lab_history::look(repo, &mut index).experiments;
    let named: HashSet<&str> = experiments
        .iter()
        .map(|e| e.row.commit.as_str())
        .filter(|commit| is_digits && commit.starts_with(name))
        .collect();
    let at = match lab_git::commits_named(repo, name)?.is_empty() {
        // Of a kept run, only the record has the number.
        true if named.is_empty() => experiments
            .iter()
            .rposition(|e| e.run.is_some_and(|run| run.to_string() == name)),
        // The commit is of another clone and was not fetched: its row still has a description.
        true if named.len() == 1 => experiments
            .iter()
            .rposition(|e| named.contains(e.row.commit.as_str())),
        _ => {
            let commit = resolve_name(repo, name)?.commit;
            experiments.iter().rposition(|e| holds(&commit, e))
        }
    };
    match at {
        Some(at) => Ok(experiments.swap_remove(at)),
        None => {
            let run = name.parse().ok().map(RunId);
            no(match run.filter(|run| index.store().ids().contains(run)) {
                Some(run) => why_without_row(&index, run)?,
                None => {
                    format!("'{name}' is the commit of no experiment: `lab log --all` lists them")
                }
            })
        }
    }
}

/// Why no row is that of this run. The error says why its record cannot be read.
fn why_without_row(index: &RunIndex, run: RunId) -> Result<String> {
    let record = index.store().read(run)?;
    Ok(match is_undecided(&record) {
        true => format!(
            "run {run} is undecided: `lab keep --run {run} -m TEXT` or `lab discard --run {run} -m TEXT` describes it"
        ),
        false => format!(
            "run {run} was decided, and no row of the ledger is that of its experiment: `lab log` says what is missing or cannot be read"
        ),
    })
}

impl Decision<'_> {
    /// Works out the steps. Returns whether a record or a git note here holds the experiment.
    fn plan_describe(&mut self, experiment: Experiment, changes: &Changes) -> Result<bool> {
        let Experiment {
            row, run, emulated, ..
        } = experiment;
        self.is_about(&format!("of {}", row.commit), None);
        let mut text = None;
        if let Some(run) = run {
            let mut record = self.records().read(run)?;
            changes.apply(&mut record);
            self.add([decision_step(&record)]);
        } else {
            let note = Notes::of(self.repo()).note(&row.commit);
            text = note.and_then(|note| {
                let mut record: Record = serde_json::from_str(&note).ok()?;
                changes.apply(&mut record);
                serde_json::to_string_pretty(&record).ok()
            });
        }
        let has_record = run.is_some() || text.is_some();
        self.add(has_record.then(|| Step::Note {
            commit: row.commit.clone(),
            run,
            text,
        }));
        self.add(changes.description.map(|description| Step::Row {
            emulated,
            row,
            change: RowChange::Describe {
                description: description.to_owned(),
            },
        }));
        Ok(has_record)
    }
}
