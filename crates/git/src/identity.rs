//! Who a commit is by.

use super::Repo;
use anyhow::Result;
use git2::{Repository, Signature};

/// The name of the user, as git has it.
pub fn author_name(repo: &Repo) -> Option<String> {
    let author = author(&repo.git)?;
    author.name().ok().map(str::to_owned)
}

/// As git has it: the environment first, then the configuration.
pub(super) fn author(repo: &Repository) -> Option<Signature<'static>> {
    signature(repo, "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
}

pub(super) fn committer(repo: &Repository) -> Option<Signature<'static>> {
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
pub(super) fn any_signature(repo: &Repository) -> Result<Signature<'static>> {
    match author(repo) {
        Some(known) => Ok(known),
        None => Ok(Signature::now("lab", "lab@localhost")?),
    }
}
