//! Deciding a run: keep it, or discard it; and putting an experiment back.
//!
//! The decision is in the record before git is touched, the commit before the row, so that a lab
//! that ends halfway can say what is missing and add it.

use super::experiment::{Row, Status};
use super::held_out;
use super::history;
use super::inputs::{self, Inputs, KernelError};
use super::ledger;
use super::project::Project;
use super::record::{Decision, Record};
use super::records::Records;
use super::repo;
use super::room;
use super::run::RunId;
use super::shelf::{Brief, Shelf};
use super::verdict::Outcome;
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::fs::{self, File};
use std::result::Result as StdResult;

/// What came of a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub run: Option<RunId>,
    pub status: Status,
    /// Full id of the commit that holds the judged bytes.
    pub commit: String,
    /// `None` where nothing was judged.
    pub row: Option<Row>,
    /// What a person should know besides: detached HEAD, a row that could not be written, …
    pub notes: Vec<String>,
}

/// Why a decision was not made.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It can be done, once confirmed: call again with `confirmed`.
    #[error("{0}")]
    Ask(String),
    /// It cannot be done now; the text ends with what to do.
    #[error("{0}")]
    No(String),
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

fn no<T>(why: impl Into<String>) -> StdResult<T, Refusal> {
    Err(Refusal::No(why.into()))
}

/// Commits the bytes that `run` (`None`: the last one) judged, and writes their row, once they have passed on what was
/// held out.
pub fn keep(
    project: &Project,
    run: Option<RunId>,
    description: &str,
    asked: &mut held_out::Asked,
) -> StdResult<Decided, Refusal> {
    let _deciding = lock(project)?;
    let description = said(description)?;
    let records = Records::new(&project.lab_dir);
    let Some(mut record) = pick(project, &records, run)? else {
        return no(format!("nothing was judged yet: `lab run{}` first", project.argument));
    };
    let present = inputs::read(project);
    if let Err(why) = may_keep(project, &record, &present) {
        return no(why);
    }
    if let Some(obstacle) = repo::obstacle(project)? {
        return no(obstacle);
    }
    let bytes = judged_bytes(&records, &record)?;
    if let Ok(present) = &present {
        pass_held_out(project, &records, &mut record, present, asked)?;
        // It took a while, and somebody else may be at the repository.
        if let Some(obstacle) = repo::obstacle(project)? {
            return no(obstacle);
        }
    }
    intend(&records, &mut record, Status::Keep, &description)?;
    let committed = match repo::commit_kernel(project, &bytes, &record.start.blob, &description) {
        Ok(committed) => committed,
        Err(error) => {
            // Nothing came of it: the run is undecided again.
            record.decision = None;
            let _ = records.write(&record);
            return Err(room::in_words(error, "nothing was kept").into());
        }
    };
    let mut notes = committed.notes;
    if committed.already {
        notes.push(format!(
            "HEAD holds these bytes already: the row names commit {}",
            repo::short(&committed.id)
        ));
    }
    notes.extend(differing_context(project, &record)?);
    finish(project, &records, record, committed.id, notes)
}

/// The check on what was held out, once for a run; a refusal where it is not passed. An external harness has none.
fn pass_held_out(
    project: &Project,
    records: &Records,
    record: &mut Record,
    present: &Inputs,
    asked: &mut held_out::Asked,
) -> StdResult<(), Refusal> {
    if project.external() || record.held_out.as_ref().is_some_and(|h| h.outcome == Outcome::Pass) {
        return Ok(());
    }
    let Some(came) = held_out::check(project, record, present, asked)? else {
        return no(format!("cancelled: nothing was committed, and run {} is undecided", record.start.id));
    };
    let (outcome, why) = (came.outcome, came.why.clone());
    record.held_out = Some(came);
    records.write(record)?;
    match outcome {
        Outcome::Pass => Ok(()),
        _ => no(format!("keep refused: {why}")),
    }
}

/// Puts kernel.cu back to the incumbent; the attempt stays under `refs/lab/discarded/`.
/// `confirmed`: also where the present bytes are newer than the verdict (they are saved too).
pub fn discard(
    project: &Project,
    run: Option<RunId>,
    description: &str,
    confirmed: bool,
) -> StdResult<Decided, Refusal> {
    let _deciding = lock(project)?;
    let description = said(description)?;
    let records = Records::new(&project.lab_dir);
    let name = &project.kernel_name;
    let Some(incumbent) = repo::incumbent(project)? else {
        return no(format!(
            "HEAD does not hold {name}, so there is nothing to put back: keep it first, or delete it yourself"
        ));
    };
    let present = present(project)?;
    let record = pick(project, &records, run)?.filter(judged);
    let same =
        present.as_deref().map(|b| repo::blob_id(project, name, b)).transpose()?.as_ref() == Some(&incumbent);
    let Some(mut record) = record else {
        if same {
            return no(format!("{name} is the incumbent's: there is nothing to discard"));
        }
        if !confirmed {
            return Err(Refusal::Ask(format!(
                "no verdict belongs to the present bytes of {name}: `lab discard{} -m TEXT --unjudged` saves them \
                 and puts the incumbent back all the same, without a row",
                project.argument
            )));
        }
        return discard_unjudged(project, present.as_deref(), &description);
    };
    if record.start.blob == incumbent {
        return no(format!(
            "run {} judged the incumbent's own bytes: there is nothing to discard",
            record.start.id
        ));
    }
    if !confirmed && let Some(newer) = newer(&record, &inputs::read(project)) {
        return Err(Refusal::Ask(format!(
            "{newer}: `lab discard{} -m TEXT --unjudged` discards run {} all the same, and saves the present bytes",
            project.argument, record.start.id
        )));
    }
    let bytes = judged_bytes(&records, &record)?;
    let status = match record.verdict.as_ref().map(|v| v.outcome) {
        Some(Outcome::Crash) => Status::Crash,
        _ => Status::Discard,
    };
    let id = record.start.id;
    intend(&records, &mut record, status, &description)?;
    let kept = match repo::keep_discarded(project, id, &bytes, &description) {
        Ok(kept) => kept,
        Err(error) => {
            record.decision = None;
            let _ = records.write(&record);
            return Err(room::in_words(error, NOT_REPLACED).into());
        }
    };
    let mut notes =
        vec![format!("the attempt is kept as {} (`lab restore {}`)", kept.reference, repo::short(&kept.id))];
    // What was judged is kept already; only newer bytes need saving besides.
    let saved = match present.as_deref() {
        Some(newer) if newer != bytes => Some(save(project, newer, ON_DISK)?),
        _ => None,
    };
    put_back(project, "HEAD", present.as_deref())?;
    notes.extend(saved.map(|kept| saved_note(kept.id)));
    notes.extend(link_note(project));
    if repo::staged(project).unwrap_or(false) {
        notes.push(format!(
            "you staged a version of {name}: it is still staged (`git restore --staged {name}`)"
        ));
    }
    finish(project, &records, record, kept.id, notes)
}

/// Nothing was judged, so there is no experiment and no row: the bytes are saved, no more.
fn discard_unjudged(
    project: &Project,
    present: Option<&[u8]>,
    description: &str,
) -> StdResult<Decided, Refusal> {
    let head = repo::head(project)?.commit.unwrap_or_default();
    let saved = match present {
        Some(bytes) => Some(save(project, bytes, description)?),
        None => None,
    };
    put_back(project, "HEAD", present)?;
    let commit = saved.as_ref().map_or(head, |kept| kept.id.clone());
    let notes = saved.map(|kept| saved_note(kept.id)).into_iter().chain(link_note(project)).collect();
    Ok(Decided { run: None, status: Status::Discard, commit, row: None, notes })
}

fn link_note(project: &Project) -> Option<String> {
    let target = repo::link_target(project)?;
    Some(format!("{} is a link and stays one: {} was written", project.kernel_name, target.display()))
}

fn saved_note(id: String) -> String {
    let short = repo::short(&id);
    format!("the bytes that were on disk are kept as {short} (`lab restore {short}`)")
}

#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Full id of the commit whose kernel.cu is now on disk.
    pub commit: String,
    pub subject: String,
    /// Full id of the commit that keeps the bytes that were on disk, if they differed.
    pub saved: Option<String>,
    pub changed: bool,
}

/// Puts kernel.cu of any commit or experiment on disk; the present bytes are saved first.
pub fn restore(project: &Project, commit: &str) -> Result<Restored> {
    let _deciding = lock(project)?;
    let (commit, subject) = repo::resolve(project, commit)?;
    let before = present(project)?;
    let wanted = repo::bytes_of(project, &commit)?;
    let changed = before.as_deref() != Some(&wanted);
    let mut saved = None;
    if changed {
        saved = before.as_deref().map(|bytes| save(project, bytes, ON_DISK)).transpose()?;
        put_back(project, &commit, before.as_deref())?;
    }
    Ok(Restored { commit, subject, saved: saved.map(|kept| kept.id), changed })
}

/// Why bytes were saved; the subject of the commit that holds them.
const ON_DISK: &str = "lab: on disk before it was replaced";

/// What could not be saved is not replaced.
const NOT_REPLACED: &str = "what could not be saved was not replaced";

fn save(project: &Project, bytes: &[u8], why: &str) -> Result<repo::Kept> {
    repo::save(project, bytes, why).map_err(|error| room::in_words(error, NOT_REPLACED))
}

fn put_back(project: &Project, commit: &str, saved: Option<&[u8]>) -> Result<()> {
    let what = || format!("{} was not put back", project.kernel_name);
    repo::put_back(project, commit, saved).map_err(|error| room::in_words(error, &what()))
}

/// Adds every row that a decision owes to its ledger. The number of rows, and the first failure.
pub fn append_missing(project: &Project) -> Result<usize> {
    let _deciding = lock(project)?;
    let records = Records::new(&project.lab_dir);
    let missing = history::missing(project);
    let added = missing.len();
    for mut record in missing {
        if let Some(row) = record.decision.as_ref().and_then(|d| d.row.clone()) {
            ledger::append(&ledger::path(project, record.emulated()), &row)?;
            mark_written(&mut record);
            records.write(&record)?;
        }
    }
    Ok(added)
}

fn mark_written(record: &mut Record) {
    if let Some(decision) = &mut record.decision {
        decision.row_written = true;
    }
}

/// Whether this run may be kept now, as far as verdict and bytes go; the error is the reason.
pub fn may_keep(
    project: &Project,
    record: &Record,
    present: &StdResult<Inputs, KernelError>,
) -> StdResult<(), String> {
    let id = record.start.id;
    let this = &project.argument;
    let Some(verdict) = &record.verdict else { return Err(format!("run {id} still goes on")) };
    let needs_pass = || Err(format!("needs a passing verdict: run {id} came to {}", verdict.outcome.word()));
    if verdict.outcome == Outcome::Void {
        return needs_pass();
    }
    // Of bytes that changed since, nothing else that could be said here is about them.
    let present = present.as_ref().map_err(ToString::to_string)?;
    if let Some(newer) = changed_since(record, present) {
        return Err(format!("{newer}: judge them first (`lab run{this}`)"));
    }
    if let Some(decision) = record.decision.as_ref().filter(|d| d.commit.is_some()) {
        let word = decision.status.word();
        return Err(format!("run {id} was decided already ({word}): save a change first"));
    }
    if verdict.outcome != Outcome::Pass {
        return needs_pass();
    }
    if let Some(failed) = record.held_out.as_ref().filter(|h| h.outcome == Outcome::Fail) {
        return Err(format!("keep refused: {}: save a change first", failed.why));
    }
    if let Some(why) = verdict.unmeasured() {
        return Err(format!("{why}: let the harness print it, then `lab run{this}`"));
    }
    for include in present.sources.iter().filter(|s| s.include) {
        let held = repo::in_head(project, &include.file.path, include.bytes.as_deref());
        if !held.map_err(|e| format!("{e:#}"))? {
            return Err(format!(
                "{} is not as in HEAD, and an experiment changes {} alone: commit it yourself first, or put its \
                 text into the kernel",
                include.file.path, project.kernel_name
            ));
        }
    }
    Ok(())
}

/// In words, where the present bytes are not the ones that were judged.
pub fn newer(record: &Record, present: &StdResult<Inputs, KernelError>) -> Option<String> {
    present.as_ref().map_or_else(|error| Some(error.to_string()), |inputs| changed_since(record, inputs))
}

fn changed_since(record: &Record, present: &Inputs) -> Option<String> {
    let id = record.start.id;
    (present.fingerprint != record.start.fingerprint).then(|| {
        let names = inputs::differences(&record.inputs, &present.files());
        format!("{} changed after the verdict of run {id}", names.join(", "))
    })
}

/// A verdict belongs to the run's bytes, and nothing was decided about it.
pub fn judged(record: &Record) -> bool {
    let void = record.verdict.as_ref().is_none_or(|v| v.outcome == Outcome::Void);
    !void && record.decision.as_ref().is_none_or(|d| d.commit.is_none())
}

/// The run that is meant; without a name the last one of this kernel.
fn pick(project: &Project, records: &Records, run: Option<RunId>) -> StdResult<Option<Record>, Refusal> {
    match run {
        Some(id) => {
            let record = records.read(id)?;
            if record.start.is_check() {
                return no(format!("run {id} was a check: it judged nothing that could be decided"));
            }
            let kernel = &record.start.kernel;
            if *kernel != project.kernel_name {
                return no(format!(
                    "run {id} judged {kernel}, not {}: name that kernel",
                    project.kernel_name
                ));
            }
            Ok(Some(record))
        }
        None => Ok(last(project, &Shelf::open(project))),
    }
}

/// The last run of this kernel. One that came to nothing (a newer save ended it) is passed over
/// for the last verdict before it, if there is any.
pub fn last(project: &Project, shelf: &Shelf) -> Option<Record> {
    let ours = |b: &Brief| b.judges(project);
    shelf.find(|b| ours(b) && b.outcome() != Some(Outcome::Void)).or_else(|| shelf.find(ours))
}

fn said(description: &str) -> StdResult<String, Refusal> {
    let clean = ledger::description(description);
    if clean.is_empty() { no("say in a few words what you tried (`-m TEXT`)") } else { Ok(clean) }
}

/// The present kernel, whatever it is; `None` where it is gone.
fn present(project: &Project) -> Result<Option<Vec<u8>>> {
    match fs::read(&project.kernel) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| {
            format!("{} cannot be read, so it cannot be saved, so it is not replaced", project.kernel_name)
        }),
    }
}

fn judged_bytes(records: &Records, record: &Record) -> Result<Vec<u8>> {
    let path = records.folder(record.start.id).join("kernel.cu");
    let bytes = fs::read(&path)
        .with_context(|| format!("the judged bytes are gone: cannot read {}", path.display()))?;
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let known = record.inputs.first().and_then(|file| file.hash.as_deref());
    anyhow::ensure!(known == Some(hash.as_str()), "{} is not what was judged: judge again", path.display());
    Ok(bytes)
}

/// One decision at a time, also beside a screen.
fn lock(project: &Project) -> Result<File> {
    let path = project.lab_dir.join("decide.lock");
    let open = || -> std::io::Result<File> {
        fs::create_dir_all(&project.lab_dir)?;
        let file = File::options().create(true).append(true).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    open().with_context(|| format!("cannot lock {}", path.display()))
}

fn intend(records: &Records, record: &mut Record, status: Status, description: &str) -> Result<()> {
    record.decision = Some(Decision {
        status,
        description: description.to_owned(),
        decided: Timestamp::now(),
        commit: None,
        row: None,
        row_written: false,
    });
    records.write(record)
}

/// The commit is made: note, row and record follow. None of them undoes it.
fn finish(
    project: &Project,
    records: &Records,
    mut record: Record,
    commit: String,
    mut notes: Vec<String>,
) -> StdResult<Decided, Refusal> {
    let row = row(&record, &commit);
    let status = row.status;
    if let Some(decision) = &mut record.decision {
        decision.commit = Some(commit.clone());
        decision.row = Some(row.clone());
    }
    let mut attempt = |what: Result<()>| {
        let done = what.is_ok();
        notes.extend(what.err().map(|error| format!("{error:#}")));
        done
    };
    let recorded = attempt(records.write(&record).with_context(|| {
        format!(
            "commit {} is made, but run {} counts as undecided and has no row: decide it again",
            row.commit, record.start.id
        )
    }));
    // Without the record nobody would know of the row, and deciding again would add a second one.
    if recorded && attempt(ledger::append(&ledger::path(project, record.emulated()), &row)) {
        mark_written(&mut record);
        attempt(records.write(&record));
    }
    let owes = |b: &Brief| b.decision.as_ref().is_some_and(|d| d.row.is_some() && !d.row_written);
    let owed = Shelf::open(project).find(|b| b.id != record.start.id && owes(b));
    attempt(
        serde_json::to_string_pretty(&record)
            .map_err(Into::into)
            .and_then(|text| repo::note(project, &commit, &text))
            .map_err(|error| room::in_words(error, "the git note of the commit was not written"))
            .context("the experiment is kept here, but its record does not go with the commit"),
    );
    notes.extend(owed.map(|r| missing(project, &r)));
    Ok(Decided { run: Some(record.start.id), status, commit, row: Some(row), notes })
}

/// In words, that the row of a decided run is not in its ledger.
pub fn missing(project: &Project, record: &Record) -> String {
    format!(
        "the row of run {} is missing in {}: `lab log --append-missing` adds it",
        record.start.id,
        ledger::path(project, record.emulated()).display()
    )
}

fn row(record: &Record, commit: &str) -> Row {
    let status = record.decision.as_ref().map_or(Status::Discard, |d| d.status);
    let verdict = record.verdict.as_ref();
    let passed = verdict.is_some_and(|v| v.outcome == Outcome::Pass);
    Row {
        commit: repo::short(commit).to_owned(),
        throughput_sps: verdict.and_then(|v| v.objective).map_or(0.0, |m| m.value),
        kernel_us: verdict.and_then(|v| v.kernel_us).unwrap_or(0.0),
        correctness: if passed { "pass".into() } else { "fail".into() },
        status,
        description: record.decision.as_ref().map_or_else(String::new, |d| d.description.clone()),
    }
}

/// A measure was taken under these files too; a reader of the commit alone should know.
fn differing_context(project: &Project, record: &Record) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for file in record.inputs.iter().skip(1).filter(|f| f.hash.is_some()) {
        let bytes = fs::read(project.root.join(&file.path)).ok();
        if !repo::in_head(project, &file.path, bytes.as_deref()).unwrap_or(true) {
            notes.push(format!(
                "{} is not as in HEAD: the commit alone does not repeat this measure",
                file.path
            ));
        }
    }
    Ok(notes)
}
