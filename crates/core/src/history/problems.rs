//! Which problem a row is about. A record names the kernel as it was called then: a folder that was
//! renamed since keeps its history. A row without a record is about the kernel that its commit
//! changed, if git holds the commit, or about the only kernel of the repository.

use crate::project::Project;
use crate::project::kernels::KernelList;
use crate::repo::{self, Bundle, Present, Repo};
use crate::run::peers;
use crate::run::record::is_inside;
use crate::store::{KernelNames, RunIndex, RunSummary};
use std::collections::BTreeSet;
use std::path::Path;

/// Most commits without a record whose trailers are read: a ledger may have a million rows, and
/// lists show the newest first.
const WITH_PEERS: usize = 1_000;

/// Finds the present names of all kernels that the records name, and the kernels of rows without a
/// record, which have the commits `bare`.
pub(super) fn update(
    repo: &Repo,
    project: &Project,
    index: &RunIndex,
    names: &mut KernelNames,
    bare: &[&str],
) {
    let listed = || KernelList::of(&project.root, &project.problem_dir).find();
    if bare.is_empty() {
        names.only = None;
    } else {
        read_bundles(repo, project, names, bare);
        find_peers(repo, names, bare);
        let is_own = |kernel: &String| *kernel == project.kernel_name;
        let is_alone = listed().iter().all(is_own) && index.kernels().iter().all(is_own);
        let is_alone = is_alone && names.found().all(is_own);
        names.only = is_alone.then(|| project.kernel_name.clone());
        if !is_alone {
            find_by_commits(repo, names, bare);
        }
    }
    names.set_head(repo::head_commit_id(repo));
    let mut known: BTreeSet<String> = index.kernels();
    known.extend(names.found().cloned());
    let root = &project.root;
    let gone: Vec<String> = known
        .into_iter()
        .filter(|kernel| root.join(kernel).symlink_metadata().is_err())
        .collect();
    let (committed, moved): (Vec<String>, Vec<String>) = gone
        .into_iter()
        .partition(|kernel| !repo::head_holds(repo, kernel));
    names.search(&committed, |kernel| {
        repo::renamed_to(repo, kernel).filter(|to| root.join(to).symlink_metadata().is_ok())
    });
    // A rename that is not committed yet.
    if !moved.is_empty() {
        // The present kernel may be none of a problem folder.
        let mut new = listed();
        new.push(project.kernel_name.clone());
        new.retain(|kernel| !repo::head_holds(repo, kernel));
        for kernel in &moved {
            let to = new
                .iter()
                .find(|new| repo::is_moved(repo, project, kernel, new));
            names.set_moved(kernel, to.cloned());
        }
    }
}

/// Finds kernels and devices of rows in the records that bundles of this repository hold. A bundle
/// that cannot be read tells nothing: `lab fetch` reports it.
fn read_bundles(repo: &Repo, project: &Project, names: &mut KernelNames, bare: &[&str]) {
    let folders = [project.root.as_path(), &project.home, &project.problem_dir];
    let size = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
    let bundles = repo::bundles(repo, &folders).into_iter();
    let new: Vec<Bundle> = bundles
        .filter(|bundle| names.is_new_bundle(&bundle.path, size(&bundle.path)))
        .collect();
    if new.is_empty() {
        return;
    }
    let bare: BTreeSet<&str> = bare.iter().copied().collect();
    for (commit, note) in new
        .iter()
        .filter_map(|b| repo::records_in(repo, project, b).ok())
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
            names.set_commit(short, Some(summary.kernel));
            summary
                .device
                .into_iter()
                .for_each(|device| names.set_device(short, device));
        }
    }
}

fn find_by_commits(repo: &Repo, names: &mut KernelNames, bare: &[&str]) {
    let unknown = || {
        bare.iter()
            .copied()
            .filter(|commit| !names.knows_commit(commit))
    };
    let Ok(present) = Present::of(repo, unknown()) else {
        return;
    };
    let here: Vec<&str> = unknown().filter(|commit| present.holds(commit)).collect();
    for commit in here {
        let kernel = repo::kernel_of_commit(repo, commit);
        names.set_commit(commit, kernel);
    }
}

/// Reads the peers from the trailers of the newest commits without a record that git holds.
fn find_peers(repo: &Repo, names: &mut KernelNames, bare: &[&str]) {
    let newest = || bare.iter().rev().take(WITH_PEERS).copied();
    let unknown: Vec<&str> = newest()
        .filter(|commit| !names.knows_peers(commit))
        .collect();
    if unknown.is_empty() {
        return;
    }
    let Ok(present) = Present::of(repo, unknown.iter().copied()) else {
        return;
    };
    for commit in unknown.into_iter().filter(|commit| present.holds(commit)) {
        let trailers = repo::trailers_of(repo, commit).unwrap_or_default();
        names.set_peers(commit, peers::of_trailers(&trailers));
    }
}
