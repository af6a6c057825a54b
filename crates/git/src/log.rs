//! The log of HEAD, and kernels and their changes as text.

use super::history::{first_parent, first_parents};
use crate::{
    Project, Repo, bounds, file_in, filters, find, head_commit, renames, text_diff, trailers,
};
use anyhow::Result;
use git2::Patch;
use jiff::Timestamp;
use lab_run::experiment::Experiment;
use lab_run::message::Trailer;
use lab_text::sanitise;
use std::collections::HashMap;
use std::path::Path;

/// One commit of HEAD's history.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    pub id: String,
    /// Clean text, as the author.
    pub subject: String,
    pub author: String,
    pub time: Timestamp,
    /// The experiment that this commit holds; the newest if there are several.
    pub experiment: Option<Box<Experiment>>,
}

/// The experiments by the commits that hold them.
pub struct Marks<'e>(HashMap<&'e str, Vec<&'e Experiment>>);

/// A row names its commit by at least this many digits.
const DIGITS: usize = 4;

impl<'e> Marks<'e> {
    /// Finds experiments by their commits. `experiments` stand oldest first.
    pub fn of(experiments: &'e [Experiment]) -> Self {
        let mut marks: HashMap<&str, Vec<&Experiment>> = HashMap::new();
        for experiment in experiments.iter().rev() {
            if let Some(digits) = experiment.row.commit.get(..DIGITS) {
                marks.entry(digits).or_default().push(experiment);
            }
        }
        Marks(marks)
    }

    /// The newest experiment that this commit holds; `id` is a full one.
    pub fn get(&self, id: &str) -> Option<&'e Experiment> {
        let near = self.0.get(id.get(..DIGITS)?)?;
        near.iter().find(|e| id.starts_with(&e.row.commit)).copied()
    }
}

/// A page of HEAD's history along first parents, newest first, at most `limit` commits. `after` is
/// the full id of the last commit of the page before. The time grows with the page, not with the
/// history.
pub fn log_page(
    repo: &Repo,
    marks: &Marks,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<LogEntry>> {
    let git = &repo.git;
    let first = match after {
        Some(id) => first_parent(git, &find(git, id)?),
        None => head_commit(git)?,
    };
    let commits = first.into_iter();
    let commits = commits
        .flat_map(|first| first_parents(git, first))
        .take(limit);
    Ok(commits.map(|commit| entry(&commit, marks)).collect())
}

pub(super) fn entry(commit: &git2::Commit, marks: &Marks) -> LogEntry {
    let id = commit.id().to_string();
    LogEntry {
        subject: subject(commit),
        author: clean(commit.author().name_bytes()),
        time: Timestamp::from_second(commit.time().seconds()).unwrap_or_default(),
        experiment: marks.get(&id).cloned().map(Box::new),
        id,
    }
}

pub(super) fn subject(commit: &git2::Commit) -> String {
    clean(commit.summary_bytes().unwrap_or_default())
}

/// Text of git's, clean for a screen.
pub(super) fn clean(text: &[u8]) -> String {
    sanitise::text(&String::from_utf8_lossy(text))
}

/// The trailers under the message of a commit.
pub fn trailers_of(repo: &Repo, commit: &str) -> Result<Vec<Trailer>> {
    let commit = find(&repo.git, commit)?;
    Ok(trailers::trailers(&String::from_utf8_lossy(
        commit.message_bytes(),
    )))
}

/// The kernel of a commit as text; bytes that are no UTF-8 are replaced.
pub fn show(repo: &Repo, commit: &str) -> Result<String> {
    let commit = find(&repo.git, commit)?;
    let name = renames::name_in(repo, &commit);
    let bytes = filters::on_disk(repo, &commit, &name)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The change of the kernel by a commit, against its first parent, as a unified diff with `around`
/// unchanged lines around each change.
pub fn change(repo: &Repo, commit: &str, around: u32) -> Result<String> {
    let new = find(&repo.git, commit)?;
    let old = first_parent(&repo.git, &new);
    let before = old.map(|old| kernel_in(repo, &old)).transpose()?.flatten();
    let after = kernel_in(repo, &new)?;
    unified(&repo.project, before.as_ref(), after.as_ref(), around)
}

/// The kernel that a commit holds, under the name that it had there.
fn kernel_in<'r>(repo: &'r Repo, commit: &git2::Commit) -> Result<Option<git2::Blob<'r>>> {
    let name = renames::name_in(repo, commit);
    let held = file_in(&repo.git, commit, &name)?;
    held.map(|(id, _)| bounds::blob(&repo.git, id)).transpose()
}

/// The hunks from one blob to another; a missing blob counts as empty.
fn unified(
    project: &Project,
    old: Option<&git2::Blob>,
    new: Option<&git2::Blob>,
    around: u32,
) -> Result<String> {
    let path = Some(Path::new(&project.kernel_name));
    let mut options = text_diff::options(around);
    let (old, new) = (
        old.map_or(&[][..], git2::Blob::content),
        new.map_or(&[][..], git2::Blob::content),
    );
    let mut patch = Patch::from_buffers(old, path, new, path, Some(&mut options))?;
    Ok(text_diff::hunks(&mut patch, usize::MAX)?.text)
}
