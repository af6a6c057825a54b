//! What the head of an export says: where the kernel comes from, what was measured, and whose licence it has.

use anyhow::Result;
use lab_core::project::Project;
use lab_core::repo::{self, Repo, short};
use lab_core::run::record::Record;
use lab_core::store::{RunIndex, RunStore};
use lab_core::text::{figures, sanitise};
use std::path::Path;

/// The lines of the head, and what else is known of the kernel.
pub struct Facts {
    pub lines: Vec<String>,
    /// Full id of the commit that the kernel was taken from; `None` of a file on disk.
    pub commit: Option<String>,
    /// The run that measured the kernel.
    pub run: Option<u64>,
    /// As in `sm_90a`.
    pub built_for: Option<String>,
}

impl Facts {
    /// Reads HEAD, the record of the kernel and the names of licence files.
    pub fn of(repo: &Repo, project: &Project, on_disk: bool) -> Result<Facts> {
        let head = repo::head_with_parent(repo)?;
        let kernel = &project.kernel_name;
        let record = if on_disk { None } else { record(repo, project)? };
        let by = format!("Written by `lab export` of lab {}.", env!("CARGO_PKG_VERSION"));
        let kept = record.as_ref().and_then(|record| record.decision.as_ref());
        let kept =
            kept.and_then(|decision| Some((decision.commit.as_deref()?, decision.description.as_str())));
        let mut lines = Vec::new();
        let commit = match (&head, on_disk) {
            (Some((id, _, subject)), false) => {
                let (id, subject) = kept.unwrap_or((id, subject));
                lines.push(format!("The kernel is {kernel} of the commit {} ({subject}). {by}", short(id)));
                Some(id.to_owned())
            }
            (head, _) => {
                let beside = head
                    .as_ref()
                    .map_or_else(String::new, |(id, ..)| format!(" beside the commit {}", short(id)));
                lines
                    .push(format!("The kernel is {kernel} as it was on disk{beside}; it was not kept. {by}"));
                None
            }
        };
        lines.extend(measured(record.as_ref(), on_disk));
        lines.push(licence(repo)?);
        let lines = lines.iter().map(|line| sanitise::words(line)).collect();
        let built_for = record.as_ref().and_then(|record| record.report().built_for().map(str::to_owned));
        Ok(Facts { lines, commit, run: record.map(|record| record.start.id.0), built_for })
    }
}

/// The record of the kernel in HEAD: the note of its commit, or the newest run of its bytes.
fn record(repo: &Repo, project: &Project) -> Result<Option<Record>> {
    let noted = repo::incumbent_note(repo, project).and_then(|note| serde_json::from_str(&note).ok());
    if let Some(record) = noted {
        return Ok(Some(record));
    }
    let Some(blob) = repo::incumbent(repo, project)? else { return Ok(None) };
    let index = RunIndex::open(project);
    let store = RunStore::new(&project.lab_dir);
    let mut runs = index.newest_of_blob(&blob).filter_map(|run| store.read(run.id).ok());
    Ok(runs.find(|record| record.start.kernel == project.kernel_name && record.verdict.is_some()))
}

/// The figures of the record in a sentence.
fn measured(record: Option<&Record>, on_disk: bool) -> Option<String> {
    let Some(record) = record else {
        return (!on_disk).then(|| "Measured: there is no record of this kernel here.".to_owned());
    };
    let verdict = record.verdict.as_ref()?;
    let device = record.device.as_deref().unwrap_or("an unknown device");
    let emulated =
        if verdict.emulated { ", which is emulated: its times say nothing about a GPU" } else { "" };
    let kernel_us = record.sealed().and_then(|sealed| sealed.kernel_us).or(verdict.kernel_us);
    let mut figure: Vec<String> =
        record.objective().map(|o| format!("{} samples/s", figures::figure(o.value))).into_iter().collect();
    figure.extend(kernel_us.map(|us| format!("{} us a launch", figures::figure(us))));
    let figure = if figure.is_empty() { "no figure".to_owned() } else { figure.join(", ") };
    Some(format!("Measured: {figure} on {device}{emulated} (run {}).", record.start.id))
}

/// Which licence files the repository has.
fn licence(repo: &Repo) -> Result<String> {
    let is_licence = |name: &String| {
        let upper = name.to_ascii_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"].iter().any(|word| upper.starts_with(word))
    };
    let files: Vec<String> =
        repo::names_in_head(repo, Path::new(""))?.into_iter().filter(is_licence).collect();
    let theirs = match files.as_slice() {
        [] => "the repository that they come from has no licence file: ask its owners".to_owned(),
        files => format!("that of their repository ({})", files.join(", ")),
    };
    Ok(format!(
        "Licence of the kernel and the reference: {theirs}. What lab adds may be used under MIT or Apache-2.0."
    ))
}
