//! Discard: puts the incumbent's kernel back on disk. The attempt stays under `refs/lab/`.

use super::decision::Decision;
use super::finish::{new_decision, with_sweep};
use super::intent::{Step, What};
use super::on_disk::{self, NOT_REPLACED, ON_DISK, save, saved_note};
use super::policy::{Discard, allowed};
use super::upkeep::with_draft;
use super::{Decided, Refusal, judged_bytes, require_subject, snapshot};
use anyhow::{Context, Result};
use lab_git::StoredCommit;
use lab_project::Project;
use lab_run::experiment::Status;
use lab_run::message::Message;
use lab_run::record::Record;
use lab_run::sweep::AttachedSweep;
use lab_run::verdict::Outcome;
use lab_run::{RunId, inputs};
use lab_store::RunIndex;
use lab_system::failure::Failure;
use std::result::Result as StdResult;

/// Puts the incumbent's kernel back on disk; the attempt stays under `refs/lab/discarded/`. Bytes
/// that are newer than the verdict are saved too, once the user has confirmed that:
/// [`Refusal::Ask`] is the question. `index` is the caller's, which need not be up to date.
pub fn discard(
    project: &Project,
    index: &mut RunIndex,
    run: Option<RunId>,
    message: &Message,
    confirmed: bool,
) -> StdResult<Decided, Refusal> {
    let mut discarding = Decision::begin(project, What::Discard, message.subject())?;
    require_subject(message)?;
    let on_disk = on_disk::read(project)?;
    let (present, picked) = discarding.pick(index, run)?;
    let snapshot = snapshot(discarding.repo(), index, &present, picked.as_ref())?;
    let discard = allowed(&snapshot).discard?;
    if !confirmed && let Some(question) = discard.question(&project.kernel_name, &project.argument)
    {
        return Err(Refusal::Ask(question));
    }
    let put_back = put_back(&discarding, on_disk.as_deref())?;
    match (discard, picked) {
        (Discard::Decided(..), Some(record)) => {
            discarding.put_incumbent_back(on_disk.as_deref(), &record, put_back)
        }
        (Discard::Unjudged { .. }, _) | (_, None) => {
            discarding.discard_unjudged(on_disk.as_deref(), message, put_back)
        }
        (Discard::Run(_) | Discard::AlsoNewer(..), Some(mut record)) => {
            let message = with_sweep(with_draft(message, &record), project, &record);
            discarding.store_attempt(index, on_disk.as_deref(), &mut record, message)?;
            discarding.add([put_back]);
            let pack = lab_git::has_many_loose_refs(discarding.repo()).then_some(Step::PackRefs);
            discarding.decide(index, &mut record, pack, NOT_REPLACED)
        }
    }
}

/// The step that puts the incumbent on disk, in place of these bytes.
fn put_back(discarding: &Decision, on_disk: Option<&[u8]>) -> Result<Step> {
    let head = lab_git::head(discarding.repo())?.commit;
    Ok(Step::Kernel {
        commit: head.context("HEAD is on no commit")?,
        found: on_disk.map(inputs::hash_of),
    })
}

impl Decision<'_> {
    /// Stores the judged bytes, and newer ones on disk, in git.
    fn store_attempt(
        &mut self,
        index: &RunIndex,
        on_disk: Option<&[u8]>,
        record: &mut Record,
        (message, sweep): (Message, Option<AttachedSweep>),
    ) -> Result<()> {
        let (project, id) = (self.project, record.start.id);
        let name = &project.kernel_name;
        let bytes = judged_bytes(self.records(), record)?;
        let status = match record.verdict.as_ref().map(|v| v.outcome) {
            Some(Outcome::Crash) => Status::Crash,
            _ => Status::Discard,
        };
        record.decision = Some(new_decision(index, status, &message, sweep));
        let stored = lab_git::prepare_discarded(self.repo(), id, &bytes, &message.render())
            .and_so(NOT_REPLACED)?;
        self.note([format!(
            "the attempt is kept as {} (`lab restore {}`)",
            stored.reference,
            lab_git::short(&stored.id)
        )]);
        // The judged bytes get a ref of their own: only newer bytes must be saved besides.
        if let Some(newer) = on_disk.filter(|newer| *newer != bytes) {
            let saved = save(self.repo(), newer, ON_DISK)?;
            self.note([saved_note(&saved.id)]);
        }
        self.note(link_note(project));
        if lab_git::staged(self.repo()).unwrap_or(false) {
            self.note([format!(
                "you staged a version of {name}: it is still staged (`git restore --staged {name}`)"
            )]);
        }
        self.is_about(&format!("of run {id}"), Some(stored.id.clone()));
        self.add([Step::Name {
            stored,
            why: "lab discard".to_owned(),
        }]);
        Ok(())
    }

    /// Puts the incumbent back in place of bytes whose run was decided already: a commit holds
    /// them, and they have their row.
    fn put_incumbent_back(
        mut self,
        on_disk: Option<&[u8]>,
        record: &Record,
        put_back: Step,
    ) -> StdResult<Decided, Refusal> {
        let (run, decision) = (record.start.id, record.decision.as_ref());
        let commit = decision
            .and_then(|decision| decision.commit.clone())
            .unwrap_or_default();
        // The commit may be gone: a fetch can move its ref.
        let is_held = lab_git::resolve(self.repo(), &commit).is_ok();
        let saved = on_disk
            .filter(|_| !is_held)
            .map(|bytes| save(self.repo(), bytes, ON_DISK))
            .transpose()?;
        let decided = match decision.map(|decision| decision.status) {
            Some(Status::Keep) => "kept",
            _ => "discarded",
        };
        self.note([format!(
            "the bytes that were on disk are those of run {run}, which was {decided} already as {short} ('{description}'): no \
             further row is written (`lab restore {short}`)",
            short = lab_git::short(&commit),
            description = decision.map_or("", |decision| &decision.description)
        )]);
        self.is_about(&format!("of run {run}"), Some(commit));
        self.put_back_alone(saved, put_back, Some(run))
    }

    /// Discards bytes without a verdict: they are saved, and there is neither an experiment nor a
    /// row.
    fn discard_unjudged(
        mut self,
        on_disk: Option<&[u8]>,
        message: &Message,
        put_back: Step,
    ) -> StdResult<Decided, Refusal> {
        let saved = on_disk
            .map(|bytes| save(self.repo(), bytes, &message.render()))
            .transpose()?;
        let commit = match &saved {
            Some(saved) => saved.id.clone(),
            None => lab_git::head(self.repo())?.commit.unwrap_or_default(),
        };
        self.is_about("of unjudged bytes", Some(commit));
        self.put_back_alone(saved, put_back, None)
    }

    /// Puts the incumbent back, without a row.
    fn put_back_alone(
        mut self,
        saved: Option<StoredCommit>,
        put_back: Step,
        run: Option<RunId>,
    ) -> StdResult<Decided, Refusal> {
        self.note(saved.map(|saved| saved_note(&saved.id)));
        self.note(link_note(self.project));
        self.add([put_back]);
        self.finish(NOT_REPLACED)?;
        Ok(self.decided(run, Status::Discard, None))
    }
}

fn link_note(project: &Project) -> Option<String> {
    let target = lab_git::link_target(project)?;
    Some(format!(
        "{} is a link and stays one: {} was written",
        project.kernel_name,
        target.display()
    ))
}
