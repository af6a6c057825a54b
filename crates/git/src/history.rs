//! What commits changed, and which commit brought a file's present content.

use super::{Repo, blob_in, bounds, find, head_commit};
use anyhow::{Context, Result, bail};
use git2::{
    Commit, Diff, DiffOptions, Oid, Reference, Repository, Tree, TreeEntry, TreeWalkMode,
    TreeWalkResult,
};
use std::collections::HashSet;

/// The oldest commit since which `name` has held this blob, along first parents from `head`. It
/// looks at 10,000 commits.
pub fn introduced(git: &Repository, head: Commit, name: &str, blob: Oid) -> Oid {
    const FAR: usize = 10_000;
    let id = head.id();
    first_parents(git, head.clone())
        .take(FAR)
        .take_while(|commit| blob_in(git, commit, name).is_some_and(|(id, _)| id == blob))
        .last()
        .map_or(id, |commit| commit.id())
}

/// A commit, its first parent, the first parent of that, …, until one that git cannot read.
pub fn first_parents<'r>(
    git: &'r Repository,
    commit: Commit<'r>,
) -> impl Iterator<Item = Commit<'r>> {
    std::iter::successors(Some(commit), |commit| first_parent(git, commit))
}

/// The first parent of a commit. `None` for a commit without parents, and where git cannot read it,
/// as in a shallow clone.
pub fn first_parent<'r>(git: &'r Repository, commit: &Commit) -> Option<Commit<'r>> {
    bounds::commit(git, commit.parent_id(0).ok()?).ok()
}

/// The tree of a commit's first parent; `None` for a commit without parents.
pub fn tree_before<'r>(git: &'r Repository, commit: &Commit) -> Result<Option<Tree<'r>>> {
    let parent = first_parent(git, commit);
    parent
        .map(|parent| bounds::tree_of(git, &parent))
        .transpose()
}

/// Whether `commit` was built on `base`; a commit is not built on itself.
pub fn is_built_on(git: &Repository, commit: Oid, base: Oid) -> Result<bool> {
    check_commits(git, commit, base)?;
    Ok(git.graph_descendant_of(commit, base)?)
}

/// Refuses a history in which the file of a commit is cut off, for a walk that libgit2 does. It
/// looks from `tip` down to `base`, and no further than to a commit in a pack.
pub fn check_commits(git: &Repository, tip: Oid, base: Oid) -> Result<()> {
    let mut seen = HashSet::from([base]);
    let mut waiting = vec![tip];
    while let Some(id) = waiting.pop() {
        if seen.insert(id) && bounds::check_message(git, id)? {
            waiting.extend(git.find_commit(id)?.parent_ids());
        }
    }
    Ok(())
}

/// What changed between two trees. Refuses one that is too large.
pub fn diff_trees<'r>(
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
pub fn changed_paths(repo: &Repo, commit: &Commit) -> Result<Vec<String>> {
    let git = &repo.git;
    let before = tree_before(git, commit)?;
    let diff = diff_trees(git, before.as_ref(), &bounds::tree_of(git, commit)?, None)?;
    Ok(diff
        .deltas()
        .filter_map(|delta| Some(delta.new_file().path()?.to_str()?.to_owned()))
        .collect())
}

/// The refs that a pattern matches, with their full names.
pub fn refs_matching<'r>(
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
pub fn walk_tree(
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
pub fn find_path(
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

/// The names that a base usually has, the likeliest first.
const USUAL: [&str; 5] = [
    "origin/HEAD",
    "origin/main",
    "origin/master",
    "main",
    "master",
];

/// The commits and changes of HEAD since it left a base.
#[derive(Clone, Debug, PartialEq)]
pub struct Since {
    /// The base as it was named.
    pub base: String,
    /// Full id of the newest commit that both have.
    pub from: String,
    /// Full ids of the commits that only HEAD has, oldest first.
    pub commits: Vec<String>,
    /// Paths of the files that differ, relative to the work tree.
    pub paths: Vec<String>,
}

/// What HEAD has since it left `base`. Without it, since it left the first usual base that there
/// is. The error names the option `--base`, which the user may give.
pub fn since(repo: &Repo, base: Option<&str>) -> Result<Since> {
    let git = &repo.git;
    let head = head_commit(git)?.context("there is no commit yet, so nothing can be compared")?;
    let (base, commit) = match base {
        Some(base) => (base, find(git, base)?),
        None => {
            let mut found = USUAL
                .iter()
                .filter_map(|name| Some((*name, find(git, name).ok()?)));
            let Some(found) = found.next() else {
                bail!(
                    "none of {} is here to compare with: --base REF names the base",
                    USUAL.join(", ")
                );
            };
            found
        }
    };
    for tip in [head.id(), commit.id()] {
        check_commits(git, tip, Oid::ZERO_SHA1)?;
    }
    let from = git.merge_base(head.id(), commit.id());
    let from = from.with_context(|| format!("HEAD and {base} have no commit in common"))?;
    let mut walk = git.revwalk()?;
    walk.push(head.id())?;
    walk.hide(from)?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    let commits = walk.map(|id| Ok(id?.to_string())).collect::<Result<_>>()?;
    let old = bounds::tree_of(git, &bounds::commit(git, from)?)?;
    let diff = diff_trees(git, Some(&old), &bounds::tree_of(git, &head)?, None)?;
    let path = |delta: git2::DiffDelta| Some(delta.new_file().path()?.to_str()?.to_owned());
    Ok(Since {
        base: base.to_owned(),
        from: from.to_string(),
        commits,
        paths: diff.deltas().filter_map(path).collect(),
    })
}
