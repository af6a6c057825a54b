//! Takes a kept commit back: HEAD moves to its parent, and nothing else of the user's changes.

use super::history::{changed_paths, first_parent, is_built_on, refs_matching};
use super::tree_update::file_mode;
use super::{CommitFile, Move, Repo, bounds, file_in, head_commit, head_ref, short};
use anyhow::Result;
use git2::{Commit, Oid};

/// Why this commit cannot be taken back, in words: something was built on it, or it was pushed.
/// `None` if it can be.
pub fn built_on(repo: &Repo, commit: &str) -> Result<Option<String>> {
    let git = &repo.git;
    let id = Oid::from_str(commit)?;
    let Some(head) = head_commit(git)? else {
        return Ok(Some("HEAD is on no commit".to_owned()));
    };
    if head.id() != id {
        let at = short(&head.id().to_string()).to_owned();
        return Ok(Some(match is_built_on(git, head.id(), id) {
            Ok(true) => format!("a later commit ({at}) was built on it"),
            _ => format!("HEAD is at {at}, and not at that commit: check its branch out first"),
        }));
    }
    if bounds::commit(git, id)?.parent_count() > 1 {
        return Ok(Some("it became a merge".to_owned()));
    }
    for (prefix, what) in [
        ("refs/remotes/", "it was pushed to"),
        ("refs/heads/", "more was built on it in"),
    ] {
        for (name, reference) in refs_matching(git, &format!("{prefix}*"))? {
            let Ok(tip) = bounds::commit_at(git, &reference).map(|tip| tip.id()) else {
                continue;
            };
            // A local branch at the commit itself has built nothing on it. A remote branch there
            // means that it was pushed.
            let has = (tip == id && prefix == "refs/remotes/") || is_built_on(git, tip, id)?;
            if has {
                return Ok(Some(format!(
                    "{what} {}",
                    name.strip_prefix(prefix).unwrap_or(&name)
                )));
            }
        }
    }
    Ok(None)
}

/// Whether HEAD is this commit or a descendant of it.
pub fn leads_to_head(repo: &Repo, commit: &str) -> Result<bool> {
    let git = &repo.git;
    let id = Oid::from_str(commit)?;
    let Some(head) = head_commit(git)? else {
        return Ok(false);
    };
    Ok(head.id() == id || is_built_on(git, head.id(), id)?)
}

/// How this commit is taken back: HEAD moves to its parent, and the entries of its files in the
/// index become the parent's, so that the files show as changed. Files on disk stay as they are.
pub fn uncommit(repo: &Repo, commit: &str) -> Result<Move> {
    let git = &repo.git;
    let commit = bounds::commit(git, Oid::from_str(commit)?)?;
    let parent = first_parent(git, &commit);
    let hex = |commit: &Commit| commit.id().to_string();
    Ok(Move {
        reference: head_ref(repo)?,
        from: Some(hex(&commit)),
        to: parent.as_ref().map(hex),
        why: "lab: undo of a keep".to_owned(),
        files: files(repo, &commit, parent.as_ref())?,
    })
}

/// The files of the commit as the parent holds them: the kernel, and those of the rules where a
/// first keep committed them.
fn files(repo: &Repo, commit: &Commit, parent: Option<&Commit>) -> Result<Vec<CommitFile>> {
    let mut names = changed_paths(repo, commit)?;
    let kernel = &repo.project.kernel_name;
    if !names.contains(kernel) {
        names.push(kernel.clone());
    }
    let mut files = Vec::new();
    for name in names {
        let Some((kept, mode)) = file_in(&repo.git, commit, &name)? else {
            continue;
        };
        let before = parent.map(|parent| file_in(&repo.git, parent, &name));
        let before = before.transpose()?.flatten();
        let (blob, mode) = before.map_or((None, mode), |(blob, mode)| (Some(blob), mode));
        files.push(CommitFile::new(&name, Some(kept), blob, file_mode(mode)));
    }
    Ok(files)
}
