//! Keep: commits the judged bytes, once they have passed the held-out check. The first keep of a
//! problem also commits its rules.

use super::auto;
use super::draft::with_draft;
use super::finish::{decide, last_steps, new_decision};
use super::folder_programs;
use super::intent::{Asked, Intent, What};
use super::policy::{Keep, allowed};
use super::step::Step;
use super::{
    Decided, Locked, Refusal, begin, judged_bytes, no, pick, refusals, require_subject, snapshot,
};
use crate::disk::space;
use crate::history::last_peers;
use crate::history::tested;
use crate::inputs::{self, Inputs, KernelError};
use crate::message::{Message, TrailerKey};
use crate::project::Project;
use crate::repo::{self, ChangedFile, Move, Prepared, Repo, ToCommit};
use crate::rules::Rules;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::peers;
use crate::run::record::{HeldOut, Record, SealedFigures};
use crate::runner::held_out;
use crate::store::RunIndex;
use crate::text::figures;
use lab_protocol::report::Measure;
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
    let asked_for = Asked {
        what: What::Keep,
        kernel: &project.kernel_name,
        text: message.subject(),
    };
    let mut locked = begin(project, &asked_for)?;
    require_subject(message)?;
    folder_programs::require_trust(&locked.repo, project)?;
    index.refresh();
    let present = inputs::read(project);
    let picked = pick(project, &locked.lock.store, index, run, &present)?;
    let (mut next, mut rules) = may_keep(&locked.repo, project, index, &present, picked.as_ref())?;
    // The rules allow a keep only with a run and with inputs that were read.
    let (Some(mut record), Ok(inputs)) = (picked, &present) else {
        return no(format!(
            "no verdict belongs to the present bytes: `lab run{}` first",
            project.argument
        ));
    };
    let bytes = judged_bytes(&locked.lock.store, &record)?;
    if let Next::Check { sealed_runs } = next {
        check_held_out(project, &locked, &mut record, inputs, sealed_runs, asked)?;
        // The check took a while: somebody else may be at the repository by now.
        locked.repo = Repo::open(project)?;
        index.refresh();
        (next, rules) = may_keep(&locked.repo, project, index, &present, Some(&record))?;
    }
    if let Next::Check { .. } = next {
        return no(
            "another check was failed meanwhile, so more sealed runs are to be passed: keep again",
        );
    }
    let left = record
        .held_out
        .as_ref()
        .and_then(auto::mixed_on_held_out)
        .filter(|_| asked.by_rule);
    if let Some(why) = left {
        return Err(Refusal::Left(why));
    }
    let rules = rule_files(inputs, &rules);
    let message = &with_peers(
        with_sealed(&with_draft(message, &record), &record),
        project,
        index,
        &record,
    );
    let text = message.render();
    let blob = &record.start.blob;
    let prepared = repo::prepare_kernel(&locked.repo, project, &bytes, blob, &rules, &text);
    let prepared = prepared.map_err(|error| space::explain(error, "nothing was kept"))?;
    let mut notes = Vec::new();
    let mut decision = new_decision(index, Status::Keep, message);
    decision.made = Some(matches!(prepared, ToCommit::New(_)));
    record.decision = Some(decision);
    let mut intent = Intent::new(&asked_for, project, &format!("of run {}", record.start.id));
    match prepared {
        ToCommit::Already(commit) => {
            let short = repo::short(&commit);
            notes.push(format!(
                "HEAD holds these bytes already: the row names commit {short}"
            ));
            intent.commit = Some(commit);
        }
        ToCommit::New(prepared) => {
            intent.commit.clone_from(&prepared.commit);
            intent.steps.extend(commit_steps(prepared, &text));
        }
    }
    if !rules.is_empty() {
        let names: Vec<&str> = rules.iter().map(|(name, _)| name.as_str()).collect();
        notes.push(format!(
            "this first keep also commits the rules of the problem: {}",
            names.join(", ")
        ));
    }
    let commit = intent.commit.clone().unwrap_or_default();
    intent.steps.push(Step::JudgedBytes {
        commit: commit.clone(),
        run: record.start.id,
    });
    intent
        .steps
        .extend(last_steps(project, &mut record, &commit));
    let mut decided = decide(
        project,
        &locked,
        index,
        &record,
        intent,
        "nothing was kept",
        notes,
    )?;
    decided.notes.extend(sealed_notes(&record));
    decided
        .notes
        .extend(context_notes(&locked.repo, project, &record));
    Ok(decided)
}

/// The steps of a commit: HEAD and the index move together.
pub(super) fn commit_steps(prepared: Prepared, message: &str) -> Vec<Step> {
    let Prepared {
        reference,
        head,
        files,
        commit,
    } = prepared;
    let kind = if head.is_some() {
        "commit"
    } else {
        "commit (initial)"
    };
    let subject = message.lines().next().unwrap_or_default();
    let is_made = commit.is_some();
    let branch = Move {
        reference,
        from: head,
        to: commit,
        why: format!("{kind}: {subject}"),
        files: files.clone(),
    };
    let commit = match is_made {
        true => Step::MoveHead { branch },
        false => Step::Commit {
            branch,
            message: message.to_owned(),
        },
    };
    vec![Step::LockIndex, commit, Step::Stage { files }]
}

/// How a keep goes on.
enum Next {
    Check { sealed_runs: u32 },
    Commit,
}

/// Asks the rules, with a fresh look at git. Returns also how the problem's rules compare with
/// HEAD's.
fn may_keep(
    repo: &Repo,
    project: &Project,
    index: &RunIndex,
    present: &StdResult<Inputs, KernelError>,
    record: Option<&Record>,
) -> StdResult<(Next, Rules), Refusal> {
    let snapshot = snapshot(repo, project, index, present, record)?;
    let keep = allowed(&snapshot).keep?;
    let present = snapshot.present.map_err(Refusal::No)?;
    let next = match keep {
        Keep::CheckHeldOut => Next::Check {
            sealed_runs: present.sealed_runs,
        },
        Keep::Commit => Next::Commit,
    };
    Ok((next, present.rules))
}

/// The files of the rules that a first keep commits, with the bytes that were judged.
fn rule_files(inputs: &Inputs, rules: &Rules) -> Vec<ChangedFile> {
    let bytes = |path: &String| {
        inputs
            .sources
            .iter()
            .find(|s| s.file.path == *path)?
            .bytes
            .clone()
    };
    rules
        .first
        .iter()
        .map(|path| (path.clone(), bytes(path)))
        .filter(|(_, bytes)| bytes.is_some())
        .collect()
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

/// Tells the user what the held-out check came to.
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
    let mut text = match held_out.sealed_runs.unwrap_or(1) {
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

/// Runs the held-out check and writes its outcome into the record. A refusal if the user ended it.
fn check_held_out(
    project: &Project,
    locked: &Locked,
    record: &mut Record,
    present: &Inputs,
    sealed_runs: u32,
    asked: &mut held_out::RunContext,
) -> StdResult<(), Refusal> {
    refusals::require_list(project)?;
    let Some(came) = held_out::check(project, &locked.repo, record, present, sealed_runs, asked)?
    else {
        return no(format!(
            "cancelled: nothing was kept, and run {} is undecided",
            record.start.id
        ));
    };
    // Each of the two remembers a refusal, so neither failure keeps the other from being tried.
    let noted = refusals::note(project, record, &came);
    record.held_out = Some(came);
    locked.lock.write(record)?;
    Ok(noted?)
}

/// Names the inputs besides the kernel that HEAD does not hold: the commit alone does not repeat
/// the measurement.
fn context_notes(repo: &Repo, project: &Project, record: &Record) -> Vec<String> {
    let mut notes = Vec::new();
    for file in record
        .inputs
        .iter()
        .skip(1)
        .filter(|file| file.hash.is_some())
    {
        // Of a file outside HEAD can hold nothing.
        let bytes = project
            .tree_files()
            .read_resolved(Path::new(&file.path), inputs::SIZE_LIMIT)
            .ok();
        if !repo::in_head(repo, &file.path, bytes.as_deref()).unwrap_or(true) {
            notes.push(format!(
                "{} is not as in HEAD: the commit alone does not repeat this measure",
                file.path
            ));
        }
    }
    notes
}
