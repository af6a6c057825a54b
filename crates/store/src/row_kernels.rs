//! Which problem a row is about. A record names the kernel as it was called then: a folder that was
//! renamed since keeps its history. A row without a record is about the kernel that its commit
//! changed, if git holds the commit, or about the only kernel of the repository.

use crate::{RunIndex, RunSummary};
use lab_git::{Bundle, Present, Repo};
use lab_project::kernels::KernelList;
use lab_run::peers::{self, PeerFigure};
use lab_run::record::is_inside;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Most commits without a record whose trailers are read: a ledger may have a million rows, and
/// lists show the newest first.
const WITH_PEERS: usize = 1_000;

/// Finds the present names of all kernels that the records name, and the kernels of rows without a
/// record, which have the commits `bare`.
pub fn find_kernels_of_rows(repo: &Repo, index: &mut RunIndex, bare: &[&str]) {
    let project = &repo.project;
    let recorded = index.kernels();
    let names = &mut index.kernel_names;
    let listed = || KernelList::of(&project.root, &project.problem_dir).find();
    if bare.is_empty() {
        names.only = None;
    } else {
        read_bundles(repo, names, bare);
        find_peers(repo, names, bare);
        let is_own = |kernel: &String| *kernel == project.kernel_name;
        let is_alone = listed().iter().all(is_own) && recorded.iter().all(is_own);
        let is_alone = is_alone && names.found().all(is_own);
        names.only = is_alone.then(|| project.kernel_name.clone());
        if !is_alone {
            find_by_commits(repo, names, bare);
        }
    }
    let mut known: BTreeSet<String> = recorded;
    known.extend(names.found().cloned());
    find_renamed(repo, names, known, listed);
}

/// Finds the present names of those of the `known` kernels that are not on disk.
fn find_renamed(
    repo: &Repo,
    names: &mut KernelNames,
    known: BTreeSet<String>,
    listed: impl Fn() -> Vec<String>,
) {
    let (project, head) = (&repo.project, lab_git::head_commit_id(repo));
    if names.head != head {
        names.renamed.clear();
        names.head = head;
    }
    let is_there = |kernel: &String| project.root.join(kernel).symlink_metadata().is_ok();
    let gone = known.into_iter().filter(|kernel| !is_there(kernel));
    let (moved, committed): (BTreeSet<String>, BTreeSet<String>) =
        gone.partition(|kernel| lab_git::head_holds(repo, kernel));
    names.renamed.retain(|kernel, _| committed.contains(kernel));
    for kernel in committed {
        let Entry::Vacant(entry) = names.renamed.entry(kernel) else {
            continue;
        };
        let to = lab_git::renamed_to(repo, entry.key()).filter(is_there);
        entry.insert(to);
    }
    // A rename that is not committed yet.
    if !moved.is_empty() {
        // The present kernel may be in no problem folder.
        let mut new = listed();
        new.push(project.kernel_name.clone());
        new.retain(|kernel| !lab_git::head_holds(repo, kernel));
        for kernel in moved {
            let is_to = |new: &&String| lab_git::is_moved(repo, &kernel, new);
            let to = new.iter().find(is_to).cloned();
            names.renamed.insert(kernel, to);
        }
    }
}

/// Finds kernels and devices of rows in the records that bundles of this repository hold. A bundle
/// that cannot be read tells nothing: `lab fetch` reports it.
fn read_bundles(repo: &Repo, names: &mut KernelNames, bare: &[&str]) {
    let project = &repo.project;
    let folders = [project.root.as_path(), &project.home, &project.problem_dir];
    let size = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
    let bundles = lab_git::bundles(repo, &folders).into_iter();
    let new: Vec<Bundle> = bundles
        .filter(|bundle| {
            let size = size(&bundle.path);
            names.bundles.insert((bundle.path.clone(), size))
        })
        .collect();
    if new.is_empty() {
        return;
    }
    let bare: BTreeSet<&str> = bare.iter().copied().collect();
    for (commit, note) in new
        .iter()
        .filter_map(|b| lab_git::records_in(repo, b).ok())
        .flatten()
    {
        let short = bare
            .range(..=commit.as_str())
            .next_back()
            .filter(|short| commit.starts_with(**short));
        let Some(short) = short.filter(|short| short.len() >= 4) else {
            continue;
        };
        let Ok(summary) = serde_json::from_str::<RunSummary>(&note) else {
            continue;
        };
        if is_inside(&summary.kernel) {
            names
                .of_commit
                .insert((*short).to_owned(), Some(summary.kernel));
            let device = summary.device.into_iter();
            names
                .device
                .extend(device.map(|device| ((*short).to_owned(), device)));
        }
    }
}

/// The commits that git holds among those of which nothing is `known`.
fn unknown_here<'c>(
    repo: &Repo,
    commits: impl Iterator<Item = &'c str>,
    is_known: impl Fn(&str) -> bool,
) -> Vec<&'c str> {
    let mut unknown: Vec<&str> = commits.filter(|commit| !is_known(commit)).collect();
    match Present::of(repo, unknown.iter().copied()) {
        Ok(present) if !unknown.is_empty() => unknown.retain(|commit| present.holds(commit)),
        _ => unknown.clear(),
    }
    unknown
}

fn find_by_commits(repo: &Repo, names: &mut KernelNames, bare: &[&str]) {
    let all = bare.iter().copied();
    for commit in unknown_here(repo, all, |commit| names.of_commit.contains_key(commit)) {
        let kernel = lab_git::kernel_of_commit(repo, commit);
        names.of_commit.insert(commit.to_owned(), kernel);
    }
}

/// Reads the peers from the trailers of the newest commits without a record that git holds.
fn find_peers(repo: &Repo, names: &mut KernelNames, bare: &[&str]) {
    let newest = bare.iter().rev().take(WITH_PEERS).copied();
    for commit in unknown_here(repo, newest, |commit| names.peers.contains_key(commit)) {
        let trailers = lab_git::trailers_of(repo, commit).unwrap_or_default();
        let peers = peers::of_trailers(&trailers);
        names.peers.insert(commit.to_owned(), peers);
    }
}

/// A cache, which `find_kernels_of_rows` fills.
#[derive(Debug, Default)]
pub struct KernelNames {
    /// The commit of HEAD that `renamed` was searched from.
    pub(crate) head: Option<String>,
    /// The present name of a kernel that is not on disk; `None` if no rename is known.
    pub(crate) renamed: HashMap<String, Option<String>>,
    /// The kernel of a commit whose row has no record; `None` if the commit does not tell.
    pub(crate) of_commit: HashMap<String, Option<String>>,
    /// The device of a commit whose record is in a bundle.
    pub device: HashMap<String, String>,
    /// The peers that the trailers of a commit name whose row has no record.
    pub peers: HashMap<String, Vec<PeerFigure>>,
    /// The bundles that were read, with their sizes.
    pub(crate) bundles: HashSet<(PathBuf, u64)>,
    /// The only kernel of the repository, which rows without a record are about.
    pub(crate) only: Option<String>,
}

impl KernelNames {
    /// The name that a kernel has today.
    pub fn present<'n>(&'n self, kernel: &'n str) -> &'n str {
        let renamed = self.renamed.get(kernel).and_then(Option::as_deref);
        renamed.unwrap_or(kernel)
    }

    /// The kernel of a row without a record, by its commit.
    pub fn of_commit(&self, commit: &str) -> Option<&str> {
        let found = self.of_commit.get(commit).and_then(Option::as_deref);
        let found = found.map(|kernel| self.present(kernel));
        found.or(self.only.as_deref())
    }

    /// The kernels that were found by commits.
    pub fn found(&self) -> impl Iterator<Item = &String> {
        self.of_commit.values().flatten()
    }
}
