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
use lab_store::{RunIndex, RunSummary};
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

/// The newest decision about this kernel that a commit holds, and a run whose lost record held a newer
/// one. A foreign decision is the last if this user made none, or if it was made here later: a folder
/// could bring decisions of any date.
fn last_decision(project: &Project, index: &RunIndex) -> (Option<LastDecision>, Option<RunId>) {
    let last = index.last_decided(&project.kernel_name);
    let own = last.filter(|last| last.origin == Origin::Own);
    let order = own.and_then(|last| Some(last.decision.as_ref()?.order));
    let Some((newest, run)) = index.journal().last(&project.kernel_name) else {
        // No journal tells which decision was the last: a damaged record of a newer run may hold it.
        let is_newer = |run: &RunId| own.is_none_or(|last| *run > last.id);
        return (last.and_then(decided), index.damaged().find(is_newer));
    };
    if order >= Some(newest) {
        return (last.and_then(decided), None);
    }
    let of_run = index.summary(run);
    let changed = of_run.filter(|summary| summary.origin != Origin::Own);
    match changed.and_then(decided) {
        Some(changed) => (Some(changed), None),
        None if was_undone(index, run, newest) => (last.and_then(decided), None),
        None => (last.and_then(decided), Some(run)),
    }
}

/// Whether a run's record says that the decision of this order was taken back. The journal says so too,
/// unless that line could not be written.
fn was_undone(index: &RunIndex, run: RunId, order: u64) -> bool {
    index.store().read(run).is_ok_and(|record| {
        record.origin == Origin::Own && record.undone.iter().any(|undone| undone.order == order)
    })
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
