//! Who a commit is by, and what keeps git from making one now: an operation in progress, a lock, no
//! identity.

use super::{Repo, head, locks};
use anyhow::Result;
use git2::{Repository, RepositoryState, Signature};
use std::path::{Path, PathBuf};

/// An operation of git that stopped halfway and waits for the user. `Display` gives git's subcommand.
#[derive(Clone, Copy, Debug, strum::Display, PartialEq, Eq, Hash)]
#[strum(serialize_all = "kebab-case")]
pub enum Operation {
    Merge,
    Revert,
    CherryPick,
    Bisect,
    Rebase,
    #[strum(to_string = "am")]
    ApplyMail,
}

impl Operation {
    /// How git leaves it.
    fn leave(self) -> &'static str {
        match self {
            Operation::Bisect => "reset",
            _ => "--abort",
        }
    }
}

/// The operation that is in progress in a repository, if any.
pub fn operation(repo: &Repository) -> Option<Operation> {
    match repo.state() {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some(Operation::Merge),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some(Operation::Revert),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            Some(Operation::CherryPick)
        }
        RepositoryState::Bisect => Some(Operation::Bisect),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => Some(Operation::Rebase),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
            Some(Operation::ApplyMail)
        }
    }
}

/// Why git cannot make a commit now, whatever its content. `Display` says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("a {0} is in progress: finish it, or leave it with `git {0} {leave}`", leave = .0.leave())]
    Operation(Operation),
    /// HEAD is neither a branch nor a commit; the text says what to do.
    #[error("{0}")]
    Head(String),
    /// This lock file exists: another git command is at work, or died.
    #[error(
        "{} is locked: another git command is at work; try again when it is done. If none runs, remove {}",
        locked(.0),
        .0.display()
    )]
    Locked(PathBuf),
    /// Neither `user.name` nor `user.email` is set.
    #[error(
        "git does not know your name: `git config --global user.name \"Your Name\"` and `git config --global \
         user.email you@example.com`"
    )]
    NoIdentity,
}

/// What a lock file locks.
fn locked(lock: &Path) -> String {
    match lock.file_stem().and_then(|name| name.to_str()) {
        Some("index") | None => "git's index".to_owned(),
        Some(name) => format!("git's ref {name}"),
    }
}

impl Obstacle {
    /// A few words, for a line of key hints.
    pub fn hint(&self) -> String {
        match self {
            Obstacle::Operation(operation) => format!("a {operation} is in progress"),
            Obstacle::Head(_) => "HEAD is not at a branch or a commit".to_owned(),
            Obstacle::Locked(lock) => format!("{} is locked", locked(lock)),
            Obstacle::NoIdentity => "git does not know your name".to_owned(),
        }
    }
}

/// Returns what keeps git from making a commit now.
pub fn obstacle(repo: &Repo) -> Option<Obstacle> {
    let git = &repo.git;
    if let Some(operation) = operation(git) {
        return Some(Obstacle::Operation(operation));
    }
    if let Some(fault) = head::head_fault(repo) {
        return Some(Obstacle::Head(fault));
    }
    let branch = super::head_ref(repo).unwrap_or_else(|_| "HEAD".to_owned());
    // The lab's own lock is of a decision: either that goes on, or the next decision releases the
    // lock.
    let index = Some(git.path().join("index.lock")).filter(|_| !locks::is_held_by_lab(repo));
    let refs = ["HEAD", &branch].map(|reference| repo.ref_lock(reference));
    if let Some(lock) = index.into_iter().chain(refs).find(|lock| lock.exists()) {
        return Some(Obstacle::Locked(lock));
    }
    author(git).is_none().then_some(Obstacle::NoIdentity)
}

/// The name of the user, as git has it.
pub fn author_name(repo: &Repo) -> Option<String> {
    let author = author(&repo.git)?;
    author.name().ok().map(str::to_owned)
}

/// As git has it: the environment first, then the configuration.
pub fn author(repo: &Repository) -> Option<Signature<'static>> {
    signature(repo, "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
}

pub fn committer(repo: &Repository) -> Option<Signature<'static>> {
    signature(repo, "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
}

fn signature(repo: &Repository, name: &str, email: &str) -> Option<Signature<'static>> {
    let config = repo.config().ok()?.snapshot().ok()?;
    let given = |variable: &str, key: &str| {
        let value = std::env::var(variable)
            .ok()
            .or_else(|| config.get_string(key).ok())?;
        (!value.trim().is_empty()).then_some(value)
    };
    Signature::now(&given(name, "user.name")?, &given(email, "user.email")?).ok()
}

/// For commits under `refs/lab/`, which must be possible before git knows a name.
pub fn any_signature(repo: &Repository) -> Result<Signature<'static>> {
    match author(repo) {
        Some(known) => Ok(known),
        None => Ok(Signature::now("lab", "lab@localhost")?),
    }
}
