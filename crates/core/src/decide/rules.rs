//! Commits a change of the rules on its own, as a row that everybody sees: the rows before and
//! after it were judged by different rules.

use super::carry_out::carry_out;
use super::folder_programs;
use super::intent::{Asked, Intent, What};
use super::keep::commit_steps;
use super::step::{RowChange, Step};
use super::{Decided, Locked, NotAllowed, Refusal, begin, no, require_subject};
use crate::disk::space;
use crate::inputs::{self, Inputs};
use crate::ledger;
use crate::message::{Message, TrailerKey};
use crate::project::Project;
use crate::repo::{self, ChangedFile, Repo};
use crate::rules::{self, Rules};
use crate::run::experiment::{Correctness, Row, Status};
use crate::store::{RunIndex, RunSummary};
use anyhow::Result;
use std::result::Result as StdResult;

/// What stands before the subject of such a commit.
const PREFIX: &str = "rules: ";

/// How the rules on disk compare with those in HEAD.
pub fn read_rules(project: &Project) -> StdResult<Rules, Refusal> {
    let inputs = inputs::read(project).map_err(|why| Refusal::No(why.to_string()))?;
    Ok(rules::compare(&Repo::open(project)?, project, &inputs)?)
}

/// Commits the rules as they are on disk, and nothing else, and writes a row for the change.
pub fn change_rules(project: &Project, message: &Message) -> StdResult<Decided, Refusal> {
    let asked = Asked {
        what: What::Rules,
        kernel: &project.kernel_name,
        text: message.subject(),
    };
    let locked = begin(project, &asked)?;
    require_subject(message)?;
    folder_programs::require_trust(&locked.repo, project)?;
    let inputs = inputs::read(project).map_err(|why| Refusal::No(why.to_string()))?;
    let rules = rules::compare(&locked.repo, project, &inputs)?;
    let files = files(&inputs, &rules);
    if files.is_empty() {
        return no(format!(
            "the rules of {} are as in HEAD: there is nothing to commit",
            project.kernel_name
        ));
    }
    if let Some(obstacle) = repo::obstacle(&locked.repo) {
        return Err(NotAllowed::Git(obstacle).into());
    }
    let description = message.subject().trim_start_matches(PREFIX).to_owned();
    let what: Vec<String> = rules
        .changed
        .iter()
        .map(ToString::to_string)
        .chain(rules.first)
        .collect();
    let commit_message = Message::new(
        &format!("{PREFIX}{description}"),
        message.trailers().iter().cloned(),
    )
    .with_default(TrailerKey::Other("Rules".to_owned()), &what.join("; "));
    let text = commit_message.render();
    let prepared = repo::prepare_rules(&locked.repo, project, &files, &text);
    let prepared = prepared.map_err(|error| space::explain(error, "nothing was committed"))?;
    let mut intent = Intent::new(&asked, project, &format!("of {}", project.kernel_name));
    intent.commit.clone_from(&prepared.commit);
    let row = row(prepared.commit.as_deref().unwrap_or_default(), &description);
    intent.steps.extend(commit_steps(prepared, &text));
    intent
        .steps
        .push(append(project, row, is_emulated(project)));
    let carried = carry_out(project, &locked, intent, "nothing was committed")?;
    let (commit, row) = (
        carried.intent.commit.clone().unwrap_or_default(),
        carried.intent.row().cloned(),
    );
    let notes = carried.close(project, &locked)?;
    Ok(Decided {
        run: None,
        status: Status::Rules,
        commit,
        row,
        notes,
    })
}

fn append(project: &Project, row: Row, emulated: bool) -> Step {
    let from = ledger::length(&ledger::path(project, emulated));
    Step::Row {
        emulated,
        row,
        change: RowChange::Append { from },
    }
}

/// The row that an older lab owes that ended halfway; `None` if it did not make the commit.
pub(super) fn plan_older(
    project: &Project,
    locked: &Locked,
    asked: &Asked,
    head: Option<&str>,
    subject: &str,
    emulated: bool,
) -> Result<Option<Intent>> {
    let made = repo::head_with_parent(&locked.repo)?;
    let made = made.filter(|(_, parent, found)| parent.as_deref() == head && found == subject);
    Ok(made.map(|(commit, ..)| {
        let row = row(&commit, subject.trim_start_matches(PREFIX));
        let mut intent = Intent::new(asked, project, &format!("in {}", row.commit));
        intent.steps.push(Step::Row {
            emulated,
            row,
            change: RowChange::Append { from: 0 },
        });
        intent.commit = Some(commit);
        intent
    }))
}

/// The files to commit, with their bytes on disk; `None` for a file that is gone.
fn files(inputs: &Inputs, rules: &Rules) -> Vec<ChangedFile> {
    let paths = rules
        .changed
        .iter()
        .map(|change| &change.path)
        .chain(&rules.first);
    let bytes = |path: &String| {
        inputs
            .sources
            .iter()
            .find(|s| s.file.path == *path)?
            .bytes
            .clone()
    };
    paths.map(|path| (path.clone(), bytes(path))).collect()
}

/// A row without figures: nothing was measured.
fn row(commit: &str, description: &str) -> Row {
    Row {
        commit: repo::short(commit).to_owned(),
        throughput_sps: 0.0,
        kernel_us: 0.0,
        correctness: Correctness::Fail,
        status: Status::Rules,
        description: description.to_owned(),
    }
}

/// Whether the row belongs to the ledger of the emulated device: the last run of this kernel was
/// there.
fn is_emulated(project: &Project) -> bool {
    let index = RunIndex::open(project);
    index
        .newest()
        .find(|summary| summary.judges(project))
        .is_some_and(RunSummary::emulated)
}
