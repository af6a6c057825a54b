//! A decision while it is made: the steps worked out so far, and notes for the user.

use super::intent::{Intent, Step, What};
use super::resume::resume_locked;
use super::steps::{self, Came, Locked, unfinished};
use super::{Decided, Refusal, no};
use anyhow::Result;
use lab_git::Repo;
use lab_project::{Project, trust};
use lab_run::RunId;
use lab_run::experiment::{Row, Status};
use lab_store::{DecisionLock, RunStore};
use lab_system::space;
use std::result::Result as StdResult;

/// One decision.
pub struct Decision<'p> {
    pub project: &'p Project,
    pub locked: Locked,
    pub intent: Intent,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

impl<'p> Decision<'p> {
    /// Waits until no other process decides. If a lab was killed during a decision, that one is
    /// completed or taken back, and this one is refused: its user could not know what it would come
    /// on top of. `text` is what the user gave: see [`Intent::new`].
    pub fn begin(project: &'p Project, what: What, text: &str) -> StdResult<Decision<'p>, Refusal> {
        let mut locked = Locked::new(project, DecisionLock::take(project)?)?;
        let intent = Intent::new(what, project, text);
        if let Some(resumed) = resume_locked(&mut locked)? {
            return Err(Refusal::Resumed {
                is_as_asked: resumed.is_as_asked(&intent),
                text: resumed.text,
            });
        }
        Ok(Decision {
            project,
            locked,
            intent,
            notes: Vec::new(),
        })
    }

    pub fn repo(&self) -> &Repo {
        &self.locked.repo
    }

    pub fn records(&self) -> &RunStore {
        &self.locked.lock.store
    }

    /// Says what the decision is about, in words that go on after its name: `of run 7`. `commit`
    /// holds the bytes; `None` until the git program has made it.
    pub fn is_about(&mut self, subject: &str, commit: Option<String>) {
        self.intent.subject = format!("{} {subject}", self.intent.subject);
        self.intent.commit = commit;
    }

    pub fn add(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.intent.steps.extend(steps);
    }

    pub fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes.extend(notes);
    }

    /// Writes the intent and takes its steps. `nothing` says what a full disk means as long as no
    /// step has changed anything: "nothing was kept". On an error nothing was changed, or the next
    /// lab goes on. The intent stays on disk until [`Decision::close`].
    pub fn carry_out(&mut self, nothing: &str) -> StdResult<(), Refusal> {
        let locked = &self.locked;
        self.intent.owed.clone_from(&locked.owed);
        let written = self.intent.write(self.project);
        let unchanged = "nothing was changed";
        written.map_err(|error| space::explain(error.context(unchanged), unchanged))?;
        match steps::take(locked, &mut self.intent) {
            Came::Done(notes) => {
                let first = locked.said.iter().cloned().chain(notes);
                self.notes.splice(0..0, first);
                Ok(())
            }
            Came::TakenBack(at) => {
                locked.withdraw(&self.intent)?;
                no(format!("{at}: nothing was changed, so try again"))
            }
            Came::Failed(error) => {
                locked.withdraw(&self.intent)?;
                Err(space::explain(error, nothing).into())
            }
            Came::Unfinished(error) => Err(unfinished(&self.intent, error).into()),
        }
    }

    /// Removes the intent, once the user may know. Until then the next lab says that the decision
    /// is done, and decides nothing else.
    pub fn close(&self) -> Result<()> {
        let closed = self.locked.close(self.intent.owed.clone());
        closed.map_err(|error| unfinished(&self.intent, error))
    }

    /// Carries the decision out, and ends it.
    pub fn finish(&mut self, nothing: &str) -> StdResult<(), Refusal> {
        self.carry_out(nothing)?;
        Ok(self.close()?)
    }

    /// What came of the decision.
    pub fn decided(&mut self, run: Option<RunId>, status: Status, row: Option<Row>) -> Decided {
        Decided {
            run,
            status,
            commit: self.intent.commit.take().unwrap_or_default(),
            row,
            notes: std::mem::take(&mut self.notes),
        }
    }

    /// Refuses a commit that would start a hook or another program of the folder, unless the user
    /// trusts the folder.
    pub fn require_trust(&self) -> StdResult<(), Refusal> {
        match lab_git::folder_programs(self.repo())? {
            // Without a place to remember trust, nothing is trusted.
            Some(program) if !trust::is_granted(self.project) => no(format!(
                "a commit here would start {program}, which may have come with this folder: look at it, then `lab trust` lets it run"
            )),
            _ => Ok(()),
        }
    }
}
