//! Commits a change of the rules on its own, as a row that everybody sees: the rows before and
//! after it were judged by different rules.

use super::decision::Decision;
use super::finish::append_step;
use super::intent::{Step, What};
use super::{Decided, NotAllowed, Refusal, no, require_subject};
use crate::rules::{self, RuleChange, Rules};
use itertools::Itertools;
use lab_git::{ChangedFile, Move, Repo};
use lab_project::Project;
use lab_run::experiment::{Correctness, Row, Status};
use lab_run::inputs::{self, Inputs};
use lab_run::message::{Message, TrailerKey};
use lab_store::{RunIndex, RunSummary};
use lab_system::failure::Failure;
use std::result::Result as StdResult;

/// What stands before the subject of such a commit.
const PREFIX: &str = "rules: ";

/// How the rules on disk compare with those in HEAD.
pub fn read_rules(project: &Project) -> StdResult<Rules, Refusal> {
    let inputs = inputs::read(project).map_err(|why| Refusal::No(why.to_string()))?;
    Ok(rules::compare(&Repo::open(project)?, &inputs)?)
}

/// Commits the rules as they are on disk, and nothing else, and writes a row for the change.
pub fn change_rules(project: &Project, message: &Message) -> StdResult<Decided, Refusal> {
    let mut changing = Decision::begin(project, What::Rules, message.subject())?;
    require_subject(message)?;
    changing.require_trust()?;
    let inputs = inputs::read(project).map_err(|why| Refusal::No(why.to_string()))?;
    let rules = rules::compare(changing.repo(), &inputs)?;
    let changed = rules.changed.iter().map(|change| &change.path);
    let files = files(&inputs, changed.chain(&rules.first));
    if files.is_empty() {
        return no(format!(
            "the rules of {} are as in HEAD: there is nothing to commit",
            project.kernel_name
        ));
    }
    if let Some(obstacle) = lab_git::obstacle(changing.repo()) {
        return Err(NotAllowed::Git(obstacle).into());
    }
    let description = message.subject().trim_start_matches(PREFIX).to_owned();
    let changed = rules.changed.iter().map(RuleChange::committed);
    let first = rules.first.iter().map(|path| format!("{path} is added"));
    let what = changed.chain(first).join("; ");
    let commit_message = Message::new(
        &format!("{PREFIX}{description}"),
        message.trailers().iter().cloned(),
    )
    .with_default(TrailerKey::Other("Rules".to_owned()), &what);
    let text = commit_message.render();
    let prepared =
        lab_git::prepare_rules(changing.repo(), &files, &text).and_so("nothing was committed")?;
    let commit = prepared.to.clone();
    let row = row(commit.as_deref().unwrap_or_default(), &description);
    changing.is_about(&format!("of {}", project.kernel_name), commit);
    changing.add(commit_steps(prepared, &text));
    changing.add([append_step(project, is_emulated(project), row)]);
    changing.finish("nothing was committed")?;
    let row = changing.intent.row().cloned();
    Ok(changing.decided(None, Status::Rules, row))
}

/// Files of the rules that a commit takes along, with their bytes on disk; `None` for a file that is
/// gone.
pub fn files<'p>(inputs: &Inputs, paths: impl IntoIterator<Item = &'p String>) -> Vec<ChangedFile> {
    let bytes = |path: &String| {
        let mut sources = inputs.sources.iter();
        sources.find(|s| s.file.path == *path)?.bytes.clone()
    };
    let with_bytes = |path: &String| (path.clone(), bytes(path));
    paths.into_iter().map(with_bytes).collect()
}

/// The steps of a commit: HEAD and the index move together.
pub fn commit_steps(branch: Move, message: &str) -> Vec<Step> {
    let files = branch.files.clone();
    let commit = match branch.to {
        Some(_) => Step::MoveHead { branch },
        None => Step::Commit {
            branch,
            message: message.to_owned(),
        },
    };
    vec![Step::LockIndex, commit, Step::Stage { files }]
}

/// A row without figures: nothing was measured.
fn row(commit: &str, description: &str) -> Row {
    Row {
        commit: lab_git::short(commit).to_owned(),
        throughput_sps: 0.0,
        kernel_us: 0.0,
        correctness: Correctness::Unjudged,
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
