//! Keep: commits the judged bytes, once they have passed the held-out check. The first keep of a
//! problem also commits its rules.

use super::commit_rules::{commit_steps, files};
use super::decision::Decision;
use super::finish::{new_decision, with_sweep};
use super::intent::{Step, What};
use super::policy::{Keep, Present, allowed};
use super::upkeep::with_draft;
use super::{Decided, Refusal, auto, judged_bytes, no, require_subject, snapshot};
use anyhow::Result;
use itertools::Itertools;
use lab_git::{ChangedFile, Repo, ToCommit};
use lab_history::{last_peers, tested};
use lab_project::Project;
use lab_protocol::report::Measure;
use lab_run::experiment::Status;
use lab_run::inputs::{self, Inputs, KernelError};
use lab_run::message::{Message, TrailerKey};
use lab_run::record::{HeldOut, Record, SealedFigures};
use lab_run::sweep::AttachedSweep;
use lab_run::{RunId, peers};
use lab_runner::held_out;
use lab_store::RunIndex;
use lab_system::failure::Failure;
use lab_text::figures;
use std::path::Path;
use std::result::Result as StdResult;

/// Commits the bytes that `run` (`None`: [`default_run`](super::default_run)) judged, and writes
/// their row, once they have passed the held-out check. `index` is the caller's, which need not be
/// up to date.
pub fn keep(
    project: &Project,
    index: &mut RunIndex,
    run: Option<RunId>,
    message: &Message,
    asked: &mut held_out::RunContext,
) -> StdResult<Decided, Refusal> {
    let mut keeping = Decision::begin(project, What::Keep, message.subject())?;
    require_subject(message)?;
    keeping.require_trust()?;
    let (present, picked) = keeping.pick(index, run)?;
    let (next, mut now) = keeping.may_keep(index, &present, picked.as_ref())?;
    // The rules allow a keep only with a run and with inputs that were read.
    let (Some(mut record), Ok(inputs)) = (picked, &present) else {
        return no(format!(
            "no verdict belongs to the present bytes: `lab run{}` first",
            project.argument
        ));
    };
    let bytes = judged_bytes(keeping.records(), &record)?;
    if next == Keep::CheckHeldOut {
        keeping.check_held_out(&mut record, inputs, now.sealed_runs, asked)?;
        // The check took a while: somebody else may be at the repository by now.
        keeping.locked.repo = Repo::open(project)?;
        index.refresh();
        let again = keeping.may_keep(index, &present, Some(&record))?;
        if again.0 == Keep::CheckHeldOut {
            return no(
                "another check was failed meanwhile, so more sealed runs are to be passed: keep again",
            );
        }
        now = again.1;
    }
    let mixed = record.held_out.as_ref().and_then(auto::mixed_on_held_out);
    if let Some(why) = mixed.filter(|_| asked.by_rule) {
        return Err(Refusal::Left(why));
    }
    let message = with_sealed(&with_draft(message, &record), &record);
    let message = with_peers(message, project, index, &record);
    let message = with_sweep(message, project, &record);
    let mut rules = files(inputs, &now.rules.first);
    rules.retain(|(_, bytes)| bytes.is_some());
    keeping.commit(index, &mut record, message, &bytes, &rules)?;
    let mut decided = keeping.decide(index, &mut record, None, "nothing was kept")?;
    decided.notes.extend(sealed_notes(&record));
    let context = context_notes(keeping.repo(), &record);
    decided.notes.extend(context);
    Ok(decided)
}

impl Decision<'_> {
    /// Asks the rules, with a fresh look at git. Returns also what they know of the inputs.
    fn may_keep(
        &self,
        index: &RunIndex,
        present: &StdResult<Inputs, KernelError>,
        record: Option<&Record>,
    ) -> StdResult<(Keep, Present), Refusal> {
        let snapshot = snapshot(self.repo(), index, present, record)?;
        let keep = allowed(&snapshot).keep?;
        Ok((keep, snapshot.present.map_err(Refusal::No)?))
    }

    /// Works out the commit of the judged bytes and of the rules of a first keep.
    fn commit(
        &mut self,
        index: &RunIndex,
        record: &mut Record,
        (message, sweep): (Message, Option<AttachedSweep>),
        bytes: &[u8],
        rules: &[ChangedFile],
    ) -> Result<()> {
        let (text, run) = (message.render(), record.start.id);
        let blob = &record.start.blob;
        let prepared = lab_git::prepare_kernel(self.repo(), bytes, blob, rules, &text)
            .and_so("nothing was kept")?;
        let mut decision = new_decision(index, Status::Keep, &message, sweep);
        decision.made = Some(matches!(prepared, ToCommit::New(_)));
        record.decision = Some(decision);
        let subject = format!("of run {run}");
        match prepared {
            ToCommit::Already(commit) => {
                let short = lab_git::short(&commit);
                self.note([format!(
                    "HEAD holds these bytes already: the row names commit {short}"
                )]);
                self.is_about(&subject, Some(commit));
            }
            ToCommit::New(prepared) => {
                self.is_about(&subject, prepared.to.clone());
                self.add(commit_steps(prepared, &text));
            }
        }
        if !rules.is_empty() {
            let names = rules.iter().map(|(name, _)| name).join(", ");
            self.note([format!(
                "this first keep also commits the rules of the problem: {names}"
            )]);
        }
        let commit = self.intent.commit.clone().unwrap_or_default();
        self.add([Step::JudgedBytes { commit, run }]);
        Ok(())
    }

    /// Runs the held-out check and writes its outcome into the record. A refusal if the user ended
    /// it.
    fn check_held_out(
        &self,
        record: &mut Record,
        present: &Inputs,
        sealed_runs: u32,
        asked: &mut held_out::RunContext,
    ) -> StdResult<(), Refusal> {
        let (project, repo) = (self.project, self.repo());
        let Some(came) = held_out::check(project, repo, record, present, sealed_runs, asked)?
        else {
            return no(format!(
                "cancelled: nothing was kept, and run {} is open",
                record.start.id
            ));
        };
        record.held_out = Some(came);
        Ok(self.locked.lock.write(record)?)
    }
}

/// The commit's message, with what the sealed runs measured, and how many workloads the check
/// judged.
fn with_sealed(message: &Message, record: &Record) -> Message {
    let key = TrailerKey::Other("Sealed".to_owned());
    let message = message.clone();
    let message =
        message.with_changed(&TrailerKey::Tested, |text| tested::with_check(text, record));
    match record
        .held_out
        .as_ref()
        .filter(|held_out| held_out.measured.is_some())
    {
        Some(held_out) => message.with_default(key, &in_words(held_out)),
        None => message,
    }
}

/// The message with what the kernel was timed beside, if that is known of these bytes. A message
/// that names peers is left as it is.
fn with_peers(message: Message, project: &Project, index: &RunIndex, record: &Record) -> Message {
    let start = &record.start;
    let last = last_peers::of(project, index, &start.fingerprint, record.device.as_deref());
    let Some(last) = last.filter(|_| peers::of_trailers(message.trailers()).is_empty()) else {
        return message;
    };
    let trailers = message
        .trailers()
        .iter()
        .cloned()
        .chain(peers::trailers(&last.peers));
    Message::new(message.subject(), trailers)
}

/// Tells the user the result of the held-out check.
fn sealed_notes(record: &Record) -> Vec<String> {
    let Some(held_out) = &record.held_out else {
        return Vec::new();
    };
    let row = if held_out.measured.is_some() {
        ": the row shows this figure"
    } else {
        ""
    };
    let mut notes = vec![format!(
        "passed on held-out inputs: {}{row}",
        in_words(held_out)
    )];
    notes.extend(
        held_out
            .mixed
            .iter()
            .map(|slower| format!("held-out check: {slower}")),
    );
    notes.extend(
        held_out
            .caveats
            .iter()
            .map(|caveat| format!("held-out check: {caveat}")),
    );
    notes
}

/// `8 sealed runs, 165,210 (164,880 … 165,540), faster +2.1 % (+1.9 … +2.4) vs incumbent`
fn in_words(held_out: &HeldOut) -> String {
    let mut text = match held_out.sealed_runs {
        1 => "1 sealed run".to_owned(),
        runs => format!("{runs} sealed runs"),
    };
    if let Some(sealed @ SealedFigures { chosen, change, .. }) = &held_out.measured {
        let Measure { value, low, high } = sealed.shown();
        text.push_str(&format!(", {}", figures::figure(value)));
        text.extend(chosen.map(|chosen| format!(" {}", chosen.of.objective().unit())));
        if let Some((low, high)) = low.zip(high) {
            text.push_str(&format!(
                " ({} … {})",
                figures::figure(low),
                figures::figure(high)
            ));
        }
        text.extend(change.map(|change| format!(", {change} vs {}", change.against())));
    }
    text
}

/// Names the inputs besides the kernel that HEAD does not hold: the commit alone does not repeat
/// the measurement.
fn context_notes(repo: &Repo, record: &Record) -> Vec<String> {
    let mut notes = Vec::new();
    for file in record
        .inputs
        .iter()
        .skip(1)
        .filter(|file| file.hash.is_some())
    {
        // A file that the work tree does not hold is in no commit of it.
        let bytes = repo
            .project
            .tree_files()
            .read_resolved(Path::new(&file.path), inputs::SIZE_LIMIT)
            .ok();
        if !lab_git::in_head(repo, &file.path, bytes.as_deref()).unwrap_or(true) {
            notes.push(format!(
                "{} is not as in HEAD: the commit alone does not repeat this measure",
                file.path
            ));
        }
    }
    notes
}
