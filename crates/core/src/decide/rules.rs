//! Commits a change of the rules on its own, as a row that everybody sees: the rows before and after it were judged by
//! different rules.

use super::folder_programs;
use super::intent::Intent;
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
    let locked = begin(project)?;
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
    let what: Vec<String> = rules.changed.iter().map(ToString::to_string).chain(rules.first).collect();
    let commit_message = Message::new(&format!("{PREFIX}{description}"), message.trailers().iter().cloned())
        .with_default(TrailerKey::Other("Rules".to_owned()), &what.join("; "));
    let intent = Intent::Rules {
        head: repo::head(&locked.repo)?.commit,
        subject: commit_message.subject().to_owned(),
        emulated: is_emulated(project),
    };
    intent.write(project)?;
    let committed = repo::commit_rules(&locked.repo, project, &files, &commit_message.render());
    let committed = committed.map_err(|error| {
        // Nothing was committed, so there is nothing to go on with.
        let _ = Intent::remove(project);
        space::explain(error, "nothing was committed")
    })?;
    let row = row(&committed.id, &description);
    let mut notes = committed.notes;
    match ledger::append(&ledger::path(project, is_emulated(project)), &row) {
        Ok(()) => Intent::remove(project)?,
        Err(error) => notes.push(format!("{error:#}; the next `lab` writes the row")),
    }
    Ok(Decided { run: None, status: Status::Rules, commit: committed.id, row: Some(row), notes })
}

/// Writes the row that a lab that ended halfway owes, if it made the commit. Returns what was done.
pub(super) fn resume(
    project: &Project,
    locked: &Locked,
    head: Option<&str>,
    subject: &str,
    emulated: bool,
) -> Result<String> {
    let Some((commit, parent, found)) = repo::head_with_parent(&locked.repo)? else {
        return Ok("a change of the rules that an earlier lab began was not committed".to_owned());
    };
    if parent.as_deref() != head || found != subject {
        return Ok("a change of the rules that an earlier lab began was not committed".to_owned());
    }
    let (path, row) = (ledger::path(project, emulated), row(&commit, subject.trim_start_matches(PREFIX)));
    if !ledger::read(&path).rows.contains(&row) {
        ledger::append(&path, &row)?;
    }
    Ok(format!("the row of {} is written: an earlier lab changed the rules", row.commit))
}

/// The files to commit, with their bytes on disk; `None` for a file that is gone.
fn files(inputs: &Inputs, rules: &Rules) -> Vec<ChangedFile> {
    let paths = rules.changed.iter().map(|change| &change.path).chain(&rules.first);
    let bytes = |path: &String| inputs.sources.iter().find(|s| s.file.path == *path)?.bytes.clone();
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

/// Whether the row belongs to the ledger of the emulated device: the last run of this kernel was there.
fn is_emulated(project: &Project) -> bool {
    let index = RunIndex::open(project);
    index.newest().find(|summary| summary.judges(project)).is_some_and(RunSummary::emulated)
}
