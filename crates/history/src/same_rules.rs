//! Which files of the rules differ between two runs: their figures were judged in different ways.

use lab_git::Repo;
use lab_project::SIZE_LIMIT;
use lab_project::config::{self, Config};
use lab_run::inputs::{hash_of, is_rule};
use lab_run::record::{InputFile, Record};
use std::collections::BTreeSet;

/// The files of the rules that the two judged differently, sorted. lab.toml is among them if a key
/// that changes a verdict has another value. `repo` is the repository of both.
pub fn differences(repo: Option<&Repo>, both: [&Record; 2]) -> Vec<String> {
    let [a, b] = both.map(|record| rules(&record.inputs));
    let paths: BTreeSet<&str> = a.iter().chain(b).map(|file| &*file.path).collect();
    let hash = |files: &[InputFile], path: &str| {
        let file = files.iter().find(|file| file.path == path)?;
        file.hash.clone()
    };
    let differs = |path: &&str| {
        hash(a, path) != hash(b, path) && !(is_config(path) && is_same_config(repo, both, path))
    };
    let differing = paths.into_iter().filter(differs);
    differing.map(str::to_owned).collect()
}

/// The files that say how a kernel is judged: a record lists them behind the kernel and what it
/// includes.
fn rules(inputs: &[InputFile]) -> &[InputFile] {
    let name = |file: &InputFile| file.path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_first = |file: &InputFile| is_rule(&name(file)) || is_config(&file.path);
    let first = inputs.iter().position(is_first);
    &inputs[first.unwrap_or(inputs.len())..]
}

fn is_config(path: &str) -> bool {
    path.rsplit('/').next() == Some(config::FILE)
}

/// Whether the keys of both that change a verdict have the same values, as far as the commits hold
/// the judged lab.toml.
fn is_same_config(repo: Option<&Repo>, both: [&Record; 2], path: &str) -> bool {
    let [Some(a), Some(b)] = both.map(|record| judged_config(repo?, record, path)) else {
        return false;
    };
    a.judging_differences(&b).is_empty()
}

/// The lab.toml that a run was judged by, from its commit or, if it is the same, from the disk.
fn judged_config(repo: &Repo, record: &Record, path: &str) -> Option<Config> {
    let judged = record.inputs.iter().find(|file| file.path == path)?;
    let commit = record
        .decision
        .as_ref()
        .and_then(|decision| decision.commit.as_deref());
    let held = commit.and_then(|commit| lab_git::bytes_at(repo, commit, path).ok()?);
    let on_disk = || {
        let file = repo.project.root.join(path);
        let files = repo.project.tree_files();
        files.read_resolved(&file, SIZE_LIMIT).ok()
    };
    let is_judged = |bytes: &Vec<u8>| judged.hash.as_ref() == Some(&hash_of(bytes));
    let bytes = held.map(|(_, bytes)| bytes).filter(is_judged);
    let bytes = bytes.or_else(|| on_disk().filter(is_judged))?;
    Config::parse(&String::from_utf8_lossy(&bytes), path).ok()
}
