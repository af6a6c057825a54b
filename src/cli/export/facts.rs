//! What the head of an export says: where the kernel comes from, what was measured, and whose
//! licence it has.

use anyhow::Result;
use lab_git::{Repo, short};
use lab_project::{Project, SIZE_LIMIT};
use lab_run::experiment::Status;
use lab_run::record::{Origin, Record};
use lab_run::verdict::Verdict;
use lab_store::{RunIndex, RunStore, RunSummary};
use lab_text::{figures, listed, sanitise};
use std::path::Path;

/// The lines of the head, and what else is known of the kernel.
pub struct Facts {
    pub lines: Vec<String>,
    /// Full id of the commit that holds the kernel; `None` of bytes on disk that were not kept.
    pub commit: Option<String>,
    /// The run that measured the kernel.
    pub run: Option<u64>,
    /// As in `sm_90a`.
    pub built_for: Option<String>,
    /// The device of that run.
    pub device: Option<String>,
}

impl Facts {
    /// Reads HEAD, the record of the kernel and the names of licence files.
    pub fn of(repo: &Repo, project: &Project, on_disk: bool) -> Result<Facts> {
        let head = lab_git::head_with_parent(repo)?;
        let kernel = &project.kernel_name;
        let incumbent = lab_git::incumbent(repo)?;
        let blob = if on_disk {
            blob_on_disk(repo, project)?
        } else {
            incumbent.clone()
        };
        let is_incumbent = blob.is_some() && blob == incumbent;
        let record = match blob {
            Some(blob) => record(repo, project, &blob, is_incumbent)?,
            None => None,
        };
        let by = format!(
            "Written by `lab export` of lab {}.",
            env!("CARGO_PKG_VERSION")
        );
        let kept = record.as_ref().and_then(|record| record.decision.as_ref());
        let kept = kept.filter(|decision| decision.status == Status::Keep);
        let kept = kept.and_then(|kept| Some((kept.commit.as_ref()?, &kept.description)));
        let held = head.as_ref().filter(|_| is_incumbent);
        let held = held.map(|(id, _, subject)| (id, subject));
        let mut lines = Vec::new();
        lines.push(match kept.or(held) {
            Some((id, subject)) => {
                let id = short(id);
                let beside = if on_disk {
                    ", and the files beside it are those on disk"
                } else {
                    ""
                };
                format!("The kernel is {kernel} of the commit {id} ({subject}){beside}. {by}")
            }
            None => {
                let beside = head
                    .as_ref()
                    .map(|(id, ..)| format!(" beside the commit {}", short(id)));
                let (beside, judged) = (beside.unwrap_or_default(), not_kept(record.as_ref()));
                format!("The kernel is {kernel} as it was on disk{beside}; {judged}. {by}")
            }
        });
        let commit = kept.or(held).map(|(id, _)| id.clone());
        lines.extend(measured(record.as_ref(), on_disk));
        lines.push(licence(repo)?);
        let lines = lines.iter().map(|line| sanitise::words(line)).collect();
        let built_for = record
            .as_ref()
            .and_then(|record| record.report().built_for().map(str::to_owned));
        Ok(Facts {
            lines,
            commit,
            run: record.as_ref().map(|record| record.start.id.0),
            built_for,
            device: record.and_then(|record| record.device),
        })
    }
}

/// The git blob id of the kernel on disk; `None` if there is none.
fn blob_on_disk(repo: &Repo, project: &Project) -> Result<Option<String>> {
    // What cannot be read is reported where its text is wanted.
    let bytes = project
        .files()
        .read_resolved(&project.kernel, SIZE_LIMIT)
        .ok();
    bytes
        .map(|bytes| lab_git::blob_id(repo, &project.kernel_name, &bytes))
        .transpose()
}

/// The record of these bytes of the kernel: the note of the incumbent's commit, the run that was
/// kept, or the newest run.
fn record(
    repo: &Repo,
    project: &Project,
    blob: &str,
    is_incumbent: bool,
) -> Result<Option<Record>> {
    let store = RunStore::of(project);
    let noted = || serde_json::from_str(&lab_git::incumbent_note(repo)?).ok();
    if let Some(noted) = is_incumbent.then(noted).flatten() {
        return Ok(Some(own(&store, noted)));
    }
    let index = RunIndex::open(project);
    let runs = || {
        let of_kernel = |run: &&RunSummary| run.judges(project) && run.verdict.is_some();
        index.newest_of_blob(blob).filter(of_kernel)
    };
    let is_kept = |run: &&RunSummary| {
        run.decision
            .as_ref()
            .is_some_and(|it| it.status == Status::Keep)
    };
    let found = runs().find(is_kept).or_else(|| runs().next());
    Ok(found.and_then(|run| store.read(run.id).ok()))
}

/// The record of a note, as this user's lab wrote it; foreign without that.
fn own(store: &RunStore, noted: Record) -> Record {
    let start = &noted.start;
    let is_same = |own: &Record| !own.is_foreign() && own.start.fingerprint == start.fingerprint;
    let own = store.read(start.id).ok().filter(is_same);
    own.unwrap_or(Record {
        origin: Origin::Foreign,
        ..noted
    })
}

/// What is known of bytes that no keep holds, as the end of a sentence.
fn not_kept(record: Option<&Record>) -> String {
    let Some(record) = record else {
        return "no run here judged these bytes".to_owned();
    };
    let run = record.start.id;
    let word = record.verdict.as_ref().map_or("", Verdict::word);
    let came_to = match &record.decision {
        Some(decision) => format!("discarded ({})", decision.description),
        None => "not kept".to_owned(),
    };
    format!("run {run} judged these bytes: {word}, {came_to}")
}

/// The figures of the record in a sentence.
fn measured(record: Option<&Record>, on_disk: bool) -> Option<String> {
    let Some(record) = record else {
        return (!on_disk).then(|| "Measured: there is no record of this kernel here.".to_owned());
    };
    let verdict = record.verdict.as_ref()?;
    let device = record.device.as_deref().unwrap_or("an unknown device");
    let emulated = if verdict.emulated {
        ", which is emulated: its times say nothing about a GPU"
    } else {
        ""
    };
    let sealed_us = record.sealed().and_then(|sealed| sealed.kernel_us);
    let objective = record.objective().map(|o| (o.value, "samples/s"));
    let launch = sealed_us
        .or(verdict.kernel_us)
        .map(|us| (us, "us a launch"));
    let figures = [objective, launch].into_iter().flatten();
    let figures = figures.map(|(value, unit)| format!("{} {unit}", figures::figure(value)));
    let figure = listed(figures).unwrap_or_else(|| "no figure".to_owned());
    let run = record.start.id;
    let whose = if record.is_foreign() {
        ", foreign: somebody else's lab wrote its record, or it was changed since"
    } else {
        ""
    };
    Some(format!(
        "Measured: {figure} on {device}{emulated} (run {run}{whose})."
    ))
}

/// Whether a file of this name says what others may do with the files beside it.
pub fn is_licence(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|word| upper.starts_with(word))
}

/// Which licence files the repository has.
fn licence(repo: &Repo) -> Result<String> {
    let mut files = lab_git::names_in_head(repo, Path::new(""))?;
    files.retain(|name| is_licence(name));
    let theirs = if files.is_empty() {
        "the repository that they come from has no licence file: ask its owners".to_owned()
    } else {
        format!("that of their repository ({})", files.join(", "))
    };
    Ok(format!(
        "Licence of the kernel and the reference: {theirs}. What lab adds may be used under MIT or Apache-2.0."
    ))
}
