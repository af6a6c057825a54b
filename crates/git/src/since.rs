//! What HEAD has that another branch has not.

use super::history::{check_commits, diff_trees};
use super::{Repo, bounds, find, head_commit};
use anyhow::{Context, Result, bail};

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
        check_commits(git, tip, tip)?;
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
