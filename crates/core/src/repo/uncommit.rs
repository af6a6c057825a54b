//! Takes a kept commit back: HEAD moves to its parent, and nothing else of the user's changes.

use super::commit::{file_mode, move_head_back, update_index};
use super::{Project, Repo, blob_in, head_commit, short};
use anyhow::{Context, Result, bail};
use git2::{Commit, Oid};
use std::path::Path;

/// Why this commit cannot be taken back, in words: something was built on it, or it was pushed. `None` if it can be.
pub fn built_on(repo: &Repo, commit: &str) -> Result<Option<String>> {
    let git = &repo.git;
    let id = Oid::from_str(commit)?;
    let Some(head) = head_commit(git)? else { return Ok(Some("HEAD is on no commit".to_owned())) };
    if head.id() != id {
        let at = short(&head.id().to_string()).to_owned();
        return Ok(Some(match git.graph_descendant_of(head.id(), id) {
            Ok(true) => format!("a later commit ({at}) was built on it"),
            _ => format!("HEAD is at {at}, and not at that commit: check its branch out first"),
        }));
    }
    if git.find_commit(id)?.parent_count() > 1 {
        return Ok(Some("it became a merge".to_owned()));
    }
    for (prefix, what) in [("refs/remotes/", "it was pushed to"), ("refs/heads/", "more was built on it in")]
    {
        for reference in git.references_glob(&format!("{prefix}*"))?.flatten() {
            let Ok(tip) = reference.peel_to_commit().map(|tip| tip.id()) else { continue };
            // A local branch at the commit itself has built nothing on it. A remote branch there means that it was pushed.
            let has = (tip == id && prefix == "refs/remotes/") || git.graph_descendant_of(tip, id)?;
            if has {
                let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
                return Ok(Some(format!("{what} {}", name.strip_prefix(prefix).unwrap_or(&name))));
            }
        }
    }
    Ok(None)
}

/// Whether HEAD is this commit or a descendant of it.
pub fn leads_to_head(repo: &Repo, commit: &str) -> Result<bool> {
    let git = &repo.git;
    let id = Oid::from_str(commit)?;
    let Some(head) = head_commit(git)? else { return Ok(false) };
    Ok(head.id() == id || git.graph_descendant_of(head.id(), id)?)
}

/// Moves HEAD from this commit to its parent, unless HEAD is elsewhere already. Files on disk stay as they are. If the
/// kernel's entry in the index is the commit's, it becomes the parent's, so that the kernel shows as changed. Returns a note
/// for the user, if any.
pub fn uncommit(repo: &Repo, project: &Project, commit: &str) -> Result<Option<String>> {
    let git = &repo.git;
    let commit = git.find_commit(Oid::from_str(commit)?)?;
    let parent = commit.parent(0).ok();
    if head_commit(git)?.is_some_and(|head| head.id() == commit.id()) {
        move_head_back(git, parent.as_ref(), "lab: undo of a keep")
            .context("HEAD could not be moved back")?;
        if repo.anew()?.git.refname_to_id("HEAD").ok() != parent.as_ref().map(Commit::id) {
            bail!(
                "git reported no error, but HEAD did not move. Is the disk full? Make room on it, then try again"
            );
        }
    }
    unstage(repo, project, &commit, parent.as_ref())
}

/// Puts the entries of the commit's files in the index back to the parent's: the kernel's, and those of the rules where a
/// first keep committed them.
fn unstage(
    repo: &Repo,
    project: &Project,
    commit: &Commit,
    parent: Option<&Commit>,
) -> Result<Option<String>> {
    let before = parent.map(Commit::tree).transpose()?;
    let diff = repo.git.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), None)?;
    let mut names: Vec<String> = Vec::new();
    for delta in diff.deltas() {
        names.extend(delta.new_file().path().and_then(Path::to_str).map(str::to_owned));
    }
    if !names.contains(&project.kernel_name) {
        names.push(project.kernel_name.clone());
    }
    let mut notes = Vec::new();
    for name in names {
        let Some((kept, mode)) = blob_in(commit, &name) else { continue };
        let before = parent.and_then(|parent| blob_in(parent, &name));
        let (blob, mode) = before.map_or((None, mode), |(blob, mode)| (Some(blob), mode));
        notes.extend(update_index(repo, &name, Some(kept), blob, file_mode(mode)));
    }
    Ok((!notes.is_empty()).then(|| notes.join("; ")))
}
