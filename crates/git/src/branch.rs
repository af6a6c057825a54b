//! Moves the branch of HEAD by one commit, forwards or back. Doing it twice has the same effect as
//! doing it once.

use super::history::is_built_on;
use super::ref_update::{set, tip};
use super::{CommitFile, Obstacle, Repo, durable, head_ref, locks, obstacle, short, verify_write};
use anyhow::{Error, Result, bail};
use git2::{Oid, Repository};
use serde::{Deserialize, Serialize};

/// A move of the branch: from one commit to its child, or back to its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// `refs/heads/NAME`, or `HEAD` if it is detached.
    pub reference: String,
    /// Full id; `None` for a branch without a commit.
    pub from: Option<String>,
    /// Full id; `None` if the branch loses its only commit, or if the commit is still to be made.
    pub to: Option<String>,
    /// For the reflog.
    pub why: String,
    /// The files that `to` must hold.
    pub files: Vec<CommitFile>,
}

/// What came of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Now or before; the branch may have gone on since.
    Done,
    /// The branch is at neither of the two commits. The text says where it is.
    Elsewhere(String),
}

/// Moves the branch, unless that is done. The commit that it leaves stays in the reflog. On an
/// error the branch is where it was.
pub fn move_branch(repo: &Repo, wanted: &Move) -> Result<Moved> {
    let git = &repo.git;
    let parse = |id: &Option<String>| id.as_deref().map(Oid::from_str).transpose();
    let (from, to) = (parse(&wanted.from)?, parse(&wanted.to)?);
    // A process that was killed right after the move leaves its locks behind.
    locks::clear_branch(repo, &wanted.reference, |id| {
        Some(id) == to || Some(id) == from
    })?;
    let now = tip(git, &wanted.reference)?;
    if now == to {
        durable::reference(repo, &wanted.reference)?;
        return Ok(Moved::Done);
    }
    if now != from {
        return Ok(if has_gone_on(git, from, to, now)? {
            Moved::Done
        } else {
            let at = now.map_or_else(
                || "without a commit".to_owned(),
                |id| format!("at {}", short(&id.to_string())),
            );
            Moved::Elsewhere(format!(
                "{} is {at} by now",
                wanted.reference.trim_start_matches("refs/heads/")
            ))
        });
    }
    if head_ref(repo)? != wanted.reference {
        return Ok(Moved::Elsewhere(
            "another branch is checked out by now".to_owned(),
        ));
    }
    if let Some(operation) = obstacle::operation(git) {
        bail!("{}", Obstacle::Operation(operation));
    }
    set(repo, &wanted.reference, from, to, &wanted.why)?;
    let verify = || -> Result<()> {
        if let Some(to) = to {
            verify_write::read_back(repo, &wanted.reference, to, &wanted.files)?;
        } else if tip(&repo.anew()?.git, &wanted.reference)?.is_some() {
            bail!(
                "git reported no error, but HEAD did not move. Is the disk full? Make room on it, then try again"
            );
        }
        durable::reference(repo, &wanted.reference)
    };
    if let Err(error) = verify() {
        // The branch must not stay at a commit that cannot be read.
        if tip(git, &wanted.reference)? == to {
            set(
                repo,
                &wanted.reference,
                to,
                from,
                "lab: the commit was not written",
            )?;
        }
        return Err(error);
    }
    Ok(Moved::Done)
}

/// Whether the branch was moved and other commits were made after that.
fn has_gone_on(
    git: &Repository,
    from: Option<Oid>,
    to: Option<Oid>,
    now: Option<Oid>,
) -> Result<bool> {
    let Some(now) = now else { return Ok(false) };
    let after = |old: Option<Oid>| match old {
        Some(old) => Ok::<bool, Error>(now == old || is_built_on(git, now, old)?),
        None => Ok(true),
    };
    let forwards = match (from, to) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(from), Some(to)) => is_built_on(git, to, from)?,
    };
    // What was built on a commit that was to be taken back holds that commit still.
    Ok(if forwards {
        after(to)?
    } else {
        after(to)? && !after(from)?
    })
}
