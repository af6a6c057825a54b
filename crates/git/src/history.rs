//! What commits changed, and which commit brought a file's present content.

use super::{Repo, blob_in, bounds};
use anyhow::Result;
use git2::{
    Commit, Diff, DiffOptions, Oid, Reference, Repository, Tree, TreeEntry, TreeWalkMode,
    TreeWalkResult,
};

/// The oldest commit since which `name` has held this blob, along first parents from `head`. It
/// looks at 10,000 commits.
pub(super) fn introduced(head: Commit, name: &str, blob: Oid) -> Oid {
    const FAR: usize = 10_000;
    let id = head.id();
    first_parents(head)
        .take(FAR)
        .take_while(|commit| blob_in(commit, name).is_some_and(|(id, _)| id == blob))
        .last()
        .map_or(id, |commit| commit.id())
}

/// A commit, its first parent, the first parent of that, …
pub(super) fn first_parents(commit: Commit<'_>) -> impl Iterator<Item = Commit<'_>> {
    std::iter::successors(Some(commit), |commit| commit.parent(0).ok())
}

/// The tree of a commit's first parent; `None` for a commit without parents.
pub(super) fn tree_before<'r>(commit: &Commit<'r>) -> Result<Option<Tree<'r>>> {
    let parent = commit.parent(0).ok();
    Ok(parent.map(|parent| parent.tree()).transpose()?)
}

/// What changed between two trees. Refuses one that is too large.
pub(super) fn diff_trees<'r>(
    git: &'r Repository,
    old: Option<&Tree>,
    new: &Tree,
    how: Option<&mut DiffOptions>,
) -> Result<Diff<'r>> {
    for tree in old.into_iter().chain([new]) {
        bounds::check(git, tree)?;
    }
    Ok(git.diff_tree_to_tree(old, Some(new), how)?)
}

/// The paths of the files that a commit changed against its first parent. A path that is no UTF-8
/// is left out.
pub(super) fn changed_paths(repo: &Repo, commit: &Commit) -> Result<Vec<String>> {
    let before = tree_before(commit)?;
    let diff = diff_trees(&repo.git, before.as_ref(), &commit.tree()?, None)?;
    Ok(diff
        .deltas()
        .filter_map(|delta| Some(delta.new_file().path()?.to_str()?.to_owned()))
        .collect())
}

/// The refs that a pattern matches, with their full names.
pub(super) fn refs_matching<'r>(
    git: &'r Repository,
    pattern: &str,
) -> Result<impl Iterator<Item = (String, Reference<'r>)> + use<'r>> {
    let found = git.references_glob(pattern)?.flatten();
    Ok(found.map(|reference| {
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        (name, reference)
    }))
}

/// Calls `visit` with each path of a tree and its entry, until it returns `false`. Refuses a tree
/// that is too large.
pub(super) fn walk_tree(
    git: &Repository,
    tree: &Tree,
    mut visit: impl FnMut(String, &TreeEntry) -> bool,
) -> Result<()> {
    bounds::check(git, tree)?;
    // The walk ends with an error where it was ended.
    let _ = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        let path = format!("{folder}{}", String::from_utf8_lossy(entry.name_bytes()));
        match visit(path, entry) {
            true => TreeWalkResult::Ok,
            false => TreeWalkResult::Abort,
        }
    });
    Ok(())
}

/// The first path of a tree for which `is_wanted`.
pub(super) fn find_path(
    git: &Repository,
    tree: &Tree,
    is_wanted: impl Fn(&str, &TreeEntry) -> bool,
) -> Option<String> {
    let mut found = None;
    walk_tree(git, tree, |path, entry| {
        found = Some(path).filter(|path| is_wanted(path, entry));
        found.is_none()
    })
    .ok()?;
    found
}
