//! The names that a kernel had before its folder was renamed, as git's history tells.

use super::history::{changed_paths, diff_trees, find_path, first_parent, first_parents};
use super::{
    Repo, blob_in, blob_in_head, bounds, file_in, find, head_commit, head_holds, in_head, index,
};
use git2::{Commit, Delta, DiffFindOptions, DiffOptions, Repository};
use lab_project::kernel_file::NAMES;
use lab_protocol::Language;
use lab_run::inputs::SIZE_LIMIT;
use std::path::Path;

/// First parents of HEAD that are searched for a rename.
const COMMITS: usize = 20_000;

/// Renames of one kernel that are followed.
const RENAMES: usize = 8;

/// The name that a file has in HEAD, where HEAD's history renamed it; several renames in a row are
/// followed. `None` if no commit renamed the file, or if it was deleted.
pub fn renamed_to(repo: &Repo, path: &str) -> Option<String> {
    let git = &repo.git;
    let mut name = path.to_owned();
    for _ in 0..RENAMES {
        let gone = |commit: &Commit, parent: &Commit| {
            !holds(git, commit, &name) && holds(git, parent, &name)
        };
        name = renamed(git, gone, |old, _| old == name)?.1;
        if head_holds(repo, &name) {
            return Some(name);
        }
    }
    None
}

/// The name that the project's kernel has in a commit: its own, or the one that it had before a rename in
/// HEAD's history.
pub fn name_in(repo: &Repo, commit: &Commit) -> String {
    let (git, name) = (&repo.git, &repo.project.kernel_name);
    // What git cannot read is told by whoever reads the file.
    if !matches!(file_in(git, commit, name), Ok(None)) {
        return name.to_owned();
    }
    let mut former = match head_holds(repo, name) {
        true => name.to_owned(),
        // A rename that is not committed yet.
        false => match moved_from(repo, name) {
            Some(former) => former,
            None => return name.to_owned(),
        },
    };
    for _ in 0..RENAMES {
        if holds(git, commit, &former) {
            return former;
        }
        let is_new = |commit: &Commit, parent: &Commit| {
            holds(git, commit, &former) && !holds(git, parent, &former)
        };
        match renamed(git, is_new, |_, new| new == former) {
            Some((old, _)) => former = old,
            None => break,
        }
    }
    name.to_owned()
}

/// Whether the kernel `old` of HEAD is `new` on disk now: the folder has the same problem.toml, or
/// the kernel the same bytes, on disk or in git's index. A kernel in another language is another
/// kernel.
pub fn is_moved(repo: &Repo, old: &str, new: &str) -> bool {
    if Language::of(old) != Language::of(new) {
        return false;
    }
    let files = repo.project.tree_files();
    let beside = |kernel: &str| match kernel.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/problem.toml"),
        None => "problem.toml".to_owned(),
    };
    let same = |old: &str, new: &str| {
        files
            .read(Path::new(new), SIZE_LIMIT)
            .is_ok_and(|bytes| in_head(repo, old, Some(&bytes)).unwrap_or(false))
    };
    // The kernel may have been changed after `git mv`.
    let is_staged = || {
        let held = blob_in_head(repo, old).ok().flatten().map(|(id, _)| id);
        held.is_some() && index::staged(repo, new).ok().flatten() == held
    };
    same(&beside(old), &beside(new)) || same(old, new) || is_staged()
}

/// The name that HEAD has for a kernel which was renamed on disk only: that of a kernel which is
/// not on disk any more.
fn moved_from(repo: &Repo, name: &str) -> Option<String> {
    let ending = format!(".{}", Path::new(name).extension()?.to_str()?);
    let git = &repo.git;
    let tree = bounds::tree_of(git, &head_commit(git).ok()??).ok()?;
    find_path(git, &tree, |path, _| {
        path.ends_with(&ending)
            && repo.project.root.join(path).symlink_metadata().is_err()
            && is_moved(repo, path, name)
    })
}

/// The kernel that a commit is about: the only .cu file or kernel.py that it changed against its
/// first parent, or in a change of the rules the kernel beside a changed problem.toml. `None` if
/// there are several, or none.
pub fn kernel_of_commit(repo: &Repo, commit: &str) -> Option<String> {
    let commit = find(&repo.git, commit).ok()?;
    let changed = changed_paths(repo, &commit).ok()?;
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let only = |mut found: Vec<String>| (found.len() == 1).then(|| found.remove(0));
    // A .py file of another name may be anything.
    let is_kernel = |path: &&String| {
        let name = file(path);
        (name.ends_with(".cu") && name != "reference.cu") || NAMES.contains(&name.as_str())
    };
    only(changed.iter().filter(is_kernel).cloned().collect()).or_else(|| {
        let is_rule = |path: &&String| {
            ["problem.toml", "reference.cu", "reference.py"].contains(&file(path).as_str())
        };
        let beside = changed.iter().filter(is_rule).flat_map(|path| {
            let folder = path
                .rsplit_once('/')
                .map_or(String::new(), |(folder, _)| format!("{folder}/"));
            NAMES.map(|name| format!("{folder}{name}"))
        });
        let mut beside: Vec<String> = beside
            .filter(|kernel| holds(&repo.git, &commit, kernel))
            .collect();
        beside.sort();
        beside.dedup();
        only(beside)
    })
}

fn holds(git: &Repository, commit: &Commit, path: &str) -> bool {
    blob_in(git, commit, path).is_some()
}

/// Finds the newest commit that `is_it` against its first parent, and there the rename that is
/// `wanted`: old and new name.
fn renamed(
    git: &Repository,
    is_it: impl Fn(&Commit, &Commit) -> bool,
    wanted: impl Fn(&str, &str) -> bool,
) -> Option<(String, String)> {
    for commit in first_parents(git, head_commit(git).ok()??).take(COMMITS) {
        let parent = first_parent(git, &commit)?;
        if is_it(&commit, &parent) {
            return rename_in(git, &parent, &commit, wanted);
        }
    }
    None
}

fn rename_in(
    git: &Repository,
    parent: &Commit,
    commit: &Commit,
    wanted: impl Fn(&str, &str) -> bool,
) -> Option<(String, String)> {
    let mut options = DiffOptions::new();
    options.pathspec("*.cu").pathspec("*.py");
    let tree = |commit| bounds::tree_of(git, commit).ok();
    let (old, new) = (tree(parent)?, tree(commit)?);
    let mut diff = diff_trees(git, Some(&old), &new, Some(&mut options)).ok()?;
    bounds::check_changed(git, &diff).ok()?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true)))
        .ok()?;
    diff.deltas()
        .filter(|delta| delta.status() == Delta::Renamed)
        .find_map(|delta| {
            let old = delta.old_file().path()?.to_str()?.to_owned();
            let new = delta.new_file().path()?.to_str()?.to_owned();
            wanted(&old, &new).then_some((old, new))
        })
}
