//! Undo: takes the last keep or discard back, until something was built on it. The run is undecided
//! again.
//!
//! Nothing is lost: a commit that HEAD leaves stays under `refs/lab/undone/`, bytes on disk are
//! saved before they are replaced, and the record remembers the decision that was taken back.

use super::decision::Decision;
use super::finish::decision_step;
use super::intent::{RowChange, Step, What};
use super::on_disk::{self, ON_DISK, save, saved_note};
use super::policy::{LastDecision, LaterWork, NotAllowed, allowed};
use super::{Refusal, no, snapshot};
use anyhow::{Context, Result};
use lab_git::{Repo, StoredCommit};
use lab_project::Project;
use lab_run::experiment::Status;
use lab_run::record::Origin;
use lab_run::{RunId, inputs};
use lab_store::{RunIndex, RunSummary};
use lab_text::shell::quote;
use std::result::Result as StdResult;

/// A decision that can be taken back now.
#[derive(Clone, Debug, PartialEq)]
pub struct Undoable {
    pub last: LastDecision,
    /// One sentence that tells what the undo will do, for a question.
    pub question: String,
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    /// The decision that was taken back.
    pub last: LastDecision,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// The last decision about this kernel, if it can be taken back now. Reads git, and walks every
/// branch after a keep: not for the screen's own thread.
pub fn undoable(repo: &Repo, index: &RunIndex) -> StdResult<Undoable, Refusal> {
    let project = &repo.project;
    let mut snapshot = snapshot(repo, index, &inputs::read(project), None)?;
    if let Some(last) = &mut snapshot.last_decision
        && last.made == Some(true)
    {
        last.later_work = match lab_git::built_on(repo, &last.commit)? {
            Some(work) => LaterWork::Found(work + &remedy(repo, index, &last.commit)?),
            None => LaterWork::None,
        };
    }
    allowed(&snapshot).undo?;
    let Some(last) = snapshot.last_decision else {
        return Err(NotAllowed::NothingDecided {
            kernel: snapshot.kernel,
        }
        .into());
    };
    let (subject, name) = (last.subject(), &project.kernel_name);
    // The index may say otherwise: nobody signed it, and the key may be another one since.
    if index.store().read(last.run)?.origin != Origin::Own {
        return Err(NotAllowed::ForeignDecision { subject }.into());
    }
    let question = match (last.status, last.made) {
        (Status::Keep, Some(true)) => format!(
            "undo the keep of {subject}: HEAD goes back by that commit, {name} stays as it is on disk"
        ),
        (Status::Keep | Status::Rules, _) => {
            format!(
                "undo the keep of {subject}: its row is taken out; it made no commit, so HEAD stays"
            )
        }
        (Status::Discard | Status::Crash, _) => {
            format!(
                "undo the discard of {subject}: {name} gets its bytes back; those on disk are saved first"
            )
        }
    };
    Ok(Undoable { last, question })
}

/// What to do about work that was built on a kept commit, after a semicolon. Empty where HEAD is
/// elsewhere: the work says what to do then.
fn remedy(repo: &Repo, index: &RunIndex, commit: &str) -> Result<String> {
    if !lab_git::leads_to_head(repo, commit)? {
        return Ok(String::new());
    }
    let revert = format!(
        "`git revert {}` takes it back with a new commit",
        lab_git::short(commit)
    );
    let head = lab_git::head_commit_id(repo);
    let made = |run: &&RunSummary| {
        run.decision
            .as_ref()
            .is_some_and(|d| d.made == Some(true) && d.commit == head)
    };
    let tip = index
        .newest()
        .find(made)
        .filter(|run| run.kernel != repo.project.kernel_name);
    Ok(match tip {
        Some(tip) => {
            format!(
                "; undo the keep of {0} first (`lab undo {1}`), or {revert}",
                tip.kernel,
                quote(&tip.kernel)
            )
        }
        None => format!("; {revert}"),
    })
}

/// Takes the last keep or discard back. `run` is the run that the user was asked about: the
/// decision about another run stays. It may put bytes on disk, which a watcher must not take for a
/// save.
///
/// Calls `tell` with what was undone before the next undo is allowed. If this process is killed
/// before that, the next lab tells the user, and takes nothing further back.
pub fn undo(
    project: &Project,
    run: Option<RunId>,
    tell: impl FnOnce(&Undone),
) -> StdResult<Undone, Refusal> {
    let mut undoing = Decision::begin(project, What::Undo, "")?;
    let index = RunIndex::open(project);
    index.require_listed()?;
    let Undoable { last, .. } = undoable(undoing.repo(), &index)?;
    if run.is_some_and(|run| run != last.run) {
        return no(format!(
            "the last decision is another one by now: that of run {}",
            last.run
        ));
    }
    undoing.plan_undo(last.run)?;
    undoing.carry_out("nothing was undone")?;
    let undone = Undone {
        last,
        notes: std::mem::take(&mut undoing.notes),
    };
    tell(&undone);
    undoing.close()?;
    Ok(undone)
}

impl Decision<'_> {
    /// Works out the steps that take the decision about a run back.
    fn plan_undo(&mut self, run: RunId) -> StdResult<(), Refusal> {
        let mut record = self.records().read(run)?;
        let Some(decision) = record.decision.take() else {
            return no(format!("nothing was decided about run {run}"));
        };
        let commit = decision.commit.clone().context("nothing was decided")?;
        self.is_about(&format!("of run {run}"), Some(commit.clone()));
        match decision.status {
            Status::Keep if decision.made == Some(true) => self.plan_uncommit(run, &commit)?,
            Status::Keep | Status::Rules => {}
            Status::Discard | Status::Crash => {
                let present = on_disk::read(self.project)?;
                let found = present.as_deref().map(inputs::hash_of);
                let wanted = lab_git::bytes_of(self.repo(), &commit)?;
                if let Some(bytes) = present.filter(|bytes| *bytes != wanted) {
                    let saved = save(self.repo(), &bytes, ON_DISK)?;
                    self.note([saved_note(&saved.id)]);
                }
                let commit = commit.clone();
                self.add([Step::Kernel { commit, found }]);
            }
        }
        self.add(decision.row.clone().map(|row| Step::Row {
            emulated: record.emulated(),
            row,
            change: RowChange::TakeOut,
        }));
        record.undone.push(decision);
        self.add([
            decision_step(&record),
            Step::Note {
                commit,
                run: Some(run),
                text: None,
            },
        ]);
        Ok(())
    }

    /// HEAD leaves the commit, which gets a ref.
    fn plan_uncommit(&mut self, run: RunId, commit: &str) -> Result<()> {
        let reference = lab_git::undone_ref(self.repo(), run, commit)?;
        self.note([format!("the commit is kept as {reference}")]);
        let branch = lab_git::uncommit(self.repo(), commit)?;
        let files = branch.files.clone();
        let stored = StoredCommit {
            id: commit.to_owned(),
            reference,
        };
        self.add([
            Step::LockIndex,
            Step::Name {
                stored,
                why: "lab undo".to_owned(),
            },
            Step::MoveHead { branch },
            Step::Stage { files },
        ]);
        Ok(())
    }
}
