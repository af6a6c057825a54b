//! Builds the [`Snapshot`] that [`allowed`](super::policy::allowed) looks at, from disk and git.

use super::policy::{Candidate, Kept, LastDecision, LaterWork, Present, Snapshot};
use super::refusals;
use crate::rules;
use anyhow::Result;
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::Language;
use lab_run::experiment::Status;
use lab_run::inputs::{self, Inputs, KernelError, Role};
use lab_run::record::{Origin, Record};
use lab_run::verdict::Outcome;
use lab_run::{Fingerprint, RunId};
use lab_store::{RunIndex, RunSummary, decision_lock};
use std::path::Path;
use std::result::Result as StdResult;

/// Reads everything that the rules look at. `present` are the inputs on disk, `candidate` is the
/// run that a decision would be about. What was built on the last keep stays
/// [`LaterWork::Unknown`]: that walks every branch.
pub fn snapshot(
    repo: &Repo,
    index: &RunIndex,
    present: &StdResult<Inputs, KernelError>,
    candidate: Option<&Record>,
) -> Result<Snapshot> {
    let project = &repo.project;
    let present = match present {
        Ok(inputs) => Ok(read_present(repo, index, inputs)?),
        Err(why) => Err(why.to_string()),
    };
    let (last_decision, damaged) = last_decision(project, index);
    let incumbent = lab_git::incumbent(repo)?;
    Ok(Snapshot {
        kernel: project.kernel_name.clone(),
        argument: project.argument.clone(),
        external: project.external(),
        kept: kept(project, index, incumbent.as_deref()),
        incumbent,
        present,
        obstacle: lab_git::obstacle(repo),
        candidate: candidate.map(Candidate::from),
        running: None,
        deciding: false,
        damaged,
        last_decision,
    })
}

/// The keeps of the bytes that HEAD holds, the newest first.
fn kept(project: &Project, index: &RunIndex, incumbent: Option<&str>) -> Vec<Kept> {
    let of_blob = incumbent
        .into_iter()
        .flat_map(|blob| index.newest_of_blob(blob));
    let keeps = of_blob
        .filter(|run| run.judges(project) && run.origin == Origin::Own)
        .filter_map(|run| {
            let decision = run
                .decision
                .as_ref()
                .filter(|decision| decision.status == Status::Keep)?;
            let (fingerprint, device) = (run.fingerprint.clone(), run.device.clone());
            Some(Kept {
                run: run.id,
                commit: decision.commit.clone()?,
                fingerprint,
                device,
            })
        });
    keeps.collect()
}

fn read_present(repo: &Repo, index: &RunIndex, inputs: &Inputs) -> Result<Present> {
    let project = &repo.project;
    let mut uncommitted_includes = Vec::new();
    let inside = |path: &Path| project.relative(path).is_some();
    for include in inputs
        .sources
        .iter()
        .filter(|source| source.role == Role::Include && inside(&source.path))
    {
        if !lab_git::in_head(repo, &include.file.path, include.bytes.as_deref())? {
            uncommitted_includes.push(include.file.path.clone());
        }
    }
    Ok(Present {
        fingerprint: inputs.fingerprint.clone(),
        blob: Some(lab_git::blob_id(
            repo,
            &project.kernel_name,
            inputs.kernel(),
        )?),
        files: inputs.files(),
        uncommitted_includes,
        outside: inputs.outside.clone(),
        rules: rules::compare(repo, inputs)?,
        keeps_at_same: keeps_at_same(repo, inputs.kernel()),
        sealed_runs: if project.external() {
            1
        } else {
            refusals::sealed_runs(project, index, inputs)
        },
    })
}

/// Whether lab.toml asks to keep a kernel that is as fast as the incumbent and shorter
/// (`[auto] keep_shorter`), and this kernel has fewer tokens. False where the tokens of one of the
/// two cannot be counted.
pub fn keeps_at_same(repo: &Repo, kernel: &[u8]) -> bool {
    let is_shorter = || {
        let head = lab_git::head(repo).ok()?.commit?;
        let incumbent = lab_git::bytes_of(repo, &head).ok()?;
        let count =
            |bytes: &[u8]| inputs::token_count(bytes, Language::of(&repo.project.kernel_name));
        Some(count(kernel)? < count(&incumbent)?)
    };
    repo.project.config.auto.keep_shorter && is_shorter().unwrap_or(false)
}

/// The newest decision about this kernel that a commit holds, and a run whose damaged record may hold
/// a newer one. A foreign decision is the last if this user made none, or if it was made here later:
/// a folder could bring decisions of any date.
fn last_decision(project: &Project, index: &RunIndex) -> (Option<LastDecision>, Option<RunId>) {
    let last = index.last_decided(&project.kernel_name);
    let damaged = damaged(project, index, last.map(|last| last.id));
    let changed = damaged.and_then(|run| decided(index.summary(run)?));
    match changed {
        Some(_) => (changed, None),
        None => (last.and_then(decided), damaged),
    }
}

fn decided(summary: &RunSummary) -> Option<LastDecision> {
    let decision = summary.decision.as_ref()?;
    Some(LastDecision {
        run: summary.id,
        status: decision.status,
        description: decision.description.clone(),
        commit: decision.commit.clone()?,
        made: decision.made,
        is_foreign: summary.origin != Origin::Own,
        later_work: LaterWork::Unknown,
    })
}

/// A run whose record is damaged, empty or changed, and which may have been decided after the run
/// `last`. The list of records that decisions wrote tells; where it does not go back so far, a newer
/// run counts if its record is damaged. `lab describe` writes records too, so any of a record's
/// lines may be that of its decision.
fn damaged(project: &Project, index: &RunIndex, last: Option<RunId>) -> Option<RunId> {
    index.unsound().next()?;
    let written = decision_lock::written(&project.files(), &project.lab_dir);
    let first = last.and_then(|last| written.iter().position(|run| *run == last));
    let is_later = |run: RunId| match (written.iter().rposition(|of| *of == run), first) {
        (Some(at), Some(first)) => at > first,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => index.damaged().any(|of| of == run) && last.is_none_or(|last| run > last),
    };
    // A changed record may name any kernel. That of a kernel here is another user's decision.
    let is_of_another = |run| {
        index.summary(run).is_some_and(|summary| {
            summary.kernel != project.kernel_name && project.root.join(&summary.kernel).exists()
        })
    };
    let mut unsound = index.unsound().filter(|run| Some(*run) != last);
    unsound.find(|run| is_later(*run) && !is_of_another(*run))
}

/// The run that a decision without a number is about: the newest ended run that judged exactly the
/// present bytes. A run of the same bytes that is still in progress (of a screen that is open
/// beside) counts only if none has ended. If the present bytes were never judged, use the last run;
/// its decision tells what is newer.
pub fn default_run(
    project: &Project,
    index: &RunIndex,
    present: Option<&Fingerprint>,
) -> Option<Record> {
    let ours =
        |summary: &RunSummary| summary.judges(project) && Some(&summary.fingerprint) == present;
    let find = |wanted: &dyn Fn(&RunSummary) -> bool| {
        index.find_of(present?, |summary| ours(summary) && wanted(summary))
    };
    // A record without an ending is of a lab that died before the run ended.
    let judged = |summary: &RunSummary| {
        summary.ending.is_some() && summary.outcome().is_none_or(Outcome::is_verdict)
    };
    let ended = find(&judged);
    let in_progress = || find(&|summary| summary.verdict.is_none());
    ended.or_else(in_progress).or_else(|| last(project, index))
}

/// The last run of this kernel. A run without a verdict (a newer save ended it, or nothing was
/// judged) is passed over for the last verdict before it, if there is any.
pub fn last(project: &Project, index: &RunIndex) -> Option<Record> {
    let ours = |summary: &RunSummary| summary.judges(project);
    let judged =
        index.find(|summary| ours(summary) && summary.outcome().is_none_or(Outcome::is_verdict));
    judged.or_else(|| index.find(ours))
}
