//! One commit in detail: its message, its author, and what it changed.

use super::history::{diff_trees, tree_before};
use super::{Repo, bounds, find, log, text_diff};
use anyhow::Result;
use git2::{Delta, Diff, DiffFindOptions, Oid, Patch, Repository, Signature};
use jiff::Timestamp;
use lab_run::message::Trailer;
use lab_text::line_ends::has_bare_returns;
use lab_text::sanitise;

/// Bytes of one file's diff that are read at most.
const DIFF_LIMIT: usize = 256 << 10;

/// Bytes of all diffs of a commit.
const DIFFS_LIMIT: usize = 2 << 20;

/// Files of a commit that are named at most.
const FILES_LIMIT: usize = 1_000;

/// Bytes of a file above which it is not compared line by line, as a binary file.
const FILE_SIZE_LIMIT: i64 = 4 << 20;

/// Everything the screen shows of a commit. Text is clean, but for the diffs.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitDetails {
    /// Full id.
    pub id: String,
    /// Full ids, the first parent first; `files` is the change against that one.
    pub parents: Vec<String>,
    pub subject: String,
    /// The message under its subject, line by line, trailers included.
    pub body: Vec<String>,
    pub trailers: Vec<Trailer>,
    /// `Name <mail>`.
    pub author: String,
    pub authored: Timestamp,
    pub committer: String,
    pub committed: Timestamp,
    /// Unchanged lines that were asked for around each change.
    pub around: u32,
    /// In the order of their paths.
    pub files: Vec<FileChange>,
    /// Further files that changed and are not named.
    pub files_left_out: usize,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Deleted,
    Modified,
    Renamed,
}

impl ChangeKind {
    /// git's letter for it.
    pub fn sign(self) -> &'static str {
        match self {
            ChangeKind::Added => "A",
            ChangeKind::Deleted => "D",
            ChangeKind::Modified => "M",
            ChangeKind::Renamed => "R",
        }
    }

    /// The word for the user.
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Modified => "modified",
            ChangeKind::Renamed => "renamed",
        }
    }
}

/// What a commit changed in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileChange {
    pub kind: ChangeKind,
    /// The new path, or the path that was deleted.
    pub path: String,
    /// The old path of a renamed file.
    pub from: Option<String>,
    /// Lines that were added, and lines that were removed.
    pub added: usize,
    pub removed: usize,
    /// The file is no text, or too large to compare: there is no diff.
    pub is_binary: bool,
    /// The hunks as a unified diff, not cleaned for a screen. Empty for a binary file.
    pub diff: String,
    /// The diff was cut off; `added` and `removed` still count every line.
    pub is_cut: bool,
}

/// Reads a commit by any name that git knows, its diffs with `around` unchanged lines around each
/// change. Each diff and all of them together have a limit.
pub fn commit_details(repo: &Repo, name: &str, around: u32) -> Result<CommitDetails> {
    let git = &repo.git;
    let commit = find(git, name)?;
    let before = tree_before(git, &commit)?;
    let mut how = text_diff::options(around);
    how.max_size(FILE_SIZE_LIMIT).include_typechange(false);
    let mut diff = diff_trees(
        git,
        before.as_ref(),
        &bounds::tree_of(git, &commit)?,
        Some(&mut how),
    )?;
    let count = diff.deltas().len();
    bounds::check_changed(git, &diff)?;
    if count <= FILES_LIMIT {
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
    }
    let mut left = DIFFS_LIMIT;
    let mut files = Vec::new();
    for at in 0..diff.deltas().len().min(FILES_LIMIT) {
        files.extend(change(git, (&diff, at), around, &mut left)?);
    }
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let after_subject = message
        .trim_start()
        .split_once("\n\n")
        .map_or("", |(_, body)| body.trim());
    Ok(CommitDetails {
        id: commit.id().to_string(),
        parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        subject: log::subject(&commit),
        body: after_subject
            .lines()
            .map(|line| sanitise::line(line.as_bytes()))
            .collect(),
        trailers: log::trailers(&message),
        author: person(&commit.author()),
        authored: time(&commit.author()),
        committer: person(&commit.committer()),
        committed: time(&commit.committer()),
        around,
        files_left_out: diff.deltas().len() - files.len(),
        files,
    })
}

/// The content of a blob; none of a file that is not there.
fn content(git: &Repository, id: Oid) -> Result<Vec<u8>> {
    match id.is_zero() {
        true => Ok(Vec::new()),
        false => Ok(bounds::blob(git, id)?.content().to_vec()),
    }
}

/// Reads the change of one file. `left` are the bytes that all diffs may still take.
fn change(
    git: &Repository,
    (diff, at): (&Diff, usize),
    around: u32,
    left: &mut usize,
) -> Result<Option<FileChange>> {
    let Some(delta) = diff.get_delta(at) else {
        return Ok(None);
    };
    let path = |file: git2::DiffFile| log::clean(file.path_bytes().unwrap_or_default());
    let (old, new) = (path(delta.old_file()), path(delta.new_file()));
    let kind = match delta.status() {
        Delta::Added | Delta::Copied => ChangeKind::Added,
        Delta::Deleted => ChangeKind::Deleted,
        Delta::Renamed => ChangeKind::Renamed,
        _ => ChangeKind::Modified,
    };
    let mut file = FileChange {
        kind,
        path: if kind == ChangeKind::Deleted {
            old.clone()
        } else {
            new
        },
        from: (kind == ChangeKind::Renamed).then_some(old),
        added: 0,
        removed: 0,
        is_binary: true,
        diff: String::new(),
        is_cut: false,
    };
    // There is no patch of a binary file, and of a file whose mode alone changed.
    let Some(mut patch) = Patch::from_diff(diff, at)? else {
        return Ok(Some(file));
    };
    file.is_binary = patch.delta().flags().is_binary();
    if file.is_binary {
        return Ok(Some(file));
    }
    let limit = DIFF_LIMIT.min(*left);
    let mut hunks = text_diff::hunks(&mut patch, limit)?;
    if has_bare_returns(hunks.text.as_bytes()) {
        let [old, new] = [delta.old_file(), delta.new_file()].map(|file| content(git, file.id()));
        hunks = text_diff::between([&old?, &new?], None, &mut text_diff::options(around), limit)?;
    }
    (file.added, file.removed) = (hunks.added, hunks.removed);
    (file.diff, file.is_cut) = (hunks.text, hunks.is_cut);
    *left -= file.diff.len().min(*left);
    Ok(Some(file))
}

fn person(who: &Signature) -> String {
    let (name, email) = (log::clean(who.name_bytes()), log::clean(who.email_bytes()));
    format!("{name} <{email}>")
}

fn time(who: &Signature) -> Timestamp {
    Timestamp::from_second(who.when().seconds()).unwrap_or_default()
}
