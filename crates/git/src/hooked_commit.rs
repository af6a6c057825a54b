//! Commits with the git program, where hooks run or commits are signed: libgit2 does neither.
//!
//! git and its hooks may outlive a lab that is killed. They hold the lock of `.lab/commit.lock`
//! until they end, so the next lab waits for them before it looks what became of the commit. No
//! other child of the lab holds it: a judge that a screen starts in that moment lives for hours.

use super::branch::Move;
use super::folder_programs::by_program;
use super::git_program::GitProgram;
use super::history::first_parents;
use super::ref_update::set;
use super::{CommitFile, Repo, bounds, durable, head_commit, locks, log, short, verify_write};
use anyhow::{Context, Result, bail, ensure};
use git2::{Commit, Oid};
use lab_project::Project;
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::root::{Access, Root};
use lab_system::temporary::TemporaryFolder;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the git program of an earlier lab may go on before its commit is given up for now.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many commits above the old HEAD are searched for the one that was made.
const FAR: usize = 1_000;

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByProgram {
    /// Full id of the commit.
    Made(String),
    /// The branch has gone another way since. The text says where it is.
    Elsewhere(String),
}

/// Commits the files of this move on top of HEAD with the git program, unless that was done before.
/// On an error HEAD is where it was, unless the disk refused to move it back.
pub fn commit_by_program(repo: &Repo, wanted: &Move, message: &str) -> Result<ByProgram> {
    let mut lock = lock(&repo.project)?;
    let head = wanted.from.as_deref().map(Oid::from_str).transpose()?;
    let files = &wanted.files;
    let clear = || {
        locks::clear_branch(repo, &wanted.reference, |id| {
            locks::is_made_of(repo, id, head, files)
        })
    };
    clear()?;
    match find(repo, head, files, message)? {
        Found::Nothing => {}
        Found::Made(commit) => return verified(repo, wanted, commit, head),
        Found::Changed(commit) => return Err(take_back(repo, wanted, commit, head)),
        Found::Elsewhere(at) => return Ok(ByProgram::Elsewhere(at)),
    }
    if super::head_ref(repo)? != wanted.reference {
        return Ok(ByProgram::Elsewhere(
            "another branch is checked out by now".to_owned(),
        ));
    }
    let since = locks::now();
    let result = run(repo, wanted, message, &mut lock);
    drop(lock);
    // git may have been killed, or the disk may have refused to remove its locks.
    if let Err(error) = clear()
        && result.is_err()
    {
        return Err(error);
    }
    locks::remove_leftovers(repo, Some(since));
    match find(repo, head, files, message)? {
        // git may have been killed once the commit was made.
        Found::Made(commit) => verified(repo, wanted, commit, head),
        Found::Changed(commit) => Err(take_back(repo, wanted, commit, head)),
        Found::Elsewhere(at) => bail!("the commit was not made: {at}"),
        Found::Nothing => {
            result?;
            bail!("`git commit` reported no error and made no commit")
        }
    }
}

/// Waits until no git program of an earlier lab makes a commit.
fn lock(project: &Project) -> Result<LockedFile> {
    let path = project.lab_dir.join("commit.lock");
    let until = Instant::now() + PATIENCE;
    loop {
        match project.files().take_lock(&path, Access::ReadAppend) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) => ensure!(
                Instant::now() < until,
                "git and its hooks still make the commit that an earlier lab began: try again when they have ended"
            ),
            Err(error) => {
                return Err(error).cannot("lock", &path);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

enum Found {
    /// HEAD is where it was.
    Nothing,
    Made(Oid),
    /// A hook changed the files of the commit.
    Changed(Oid),
    Elsewhere(String),
}

/// Looks for the commit on top of `head` that holds these files.
fn find(repo: &Repo, head: Option<Oid>, files: &[CommitFile], message: &str) -> Result<Found> {
    let Some(tip) = head_commit(&repo.git)? else {
        return Ok(Found::Nothing);
    };
    if Some(tip.id()) == head {
        return Ok(Found::Nothing);
    }
    let next = first_parents(&repo.git, tip.clone())
        .take(FAR)
        .find(|commit| commit.parent_id(0).ok() == head);
    Ok(match next.as_ref().map(Commit::id) {
        Some(next) if locks::is_made_of(repo, next, head, files) => Found::Made(next),
        Some(next)
            if next == tip.id() && message.lines().next() == Some(log::subject(&tip).as_str()) =>
        {
            Found::Changed(next)
        }
        _ => Found::Elsewhere(format!(
            "HEAD is at {} by now",
            short(&tip.id().to_string())
        )),
    })
}

/// Reads the commit back, and waits until it is on disk. The branch must not stay at a commit that
/// cannot be read, or may be lost.
fn verified(repo: &Repo, wanted: &Move, commit: Oid, head: Option<Oid>) -> Result<ByProgram> {
    let name = &wanted.reference;
    let tip = repo.git.refname_to_id(name).ok();
    let is_written = || -> Result<()> {
        if tip == Some(commit) {
            verify_write::read_back(repo, name, commit, &wanted.files)?;
        }
        durable::commit(repo, &bounds::commit(&repo.git, commit)?, &wanted.files)?;
        durable::reference(repo, name)
    };
    if let Err(error) = is_written() {
        if tip == Some(commit) {
            // Where that fails too, the next lab finds the commit.
            let _ = set(repo, name, tip, head, "lab: the commit was not written");
        }
        return Err(error);
    }
    Ok(ByProgram::Made(commit.to_string()))
}

/// Moves the branch back from a commit that a hook changed. Returns the error that says so.
fn take_back(repo: &Repo, wanted: &Move, commit: Oid, head: Option<Oid>) -> anyhow::Error {
    let back = set(
        repo,
        &wanted.reference,
        Some(commit),
        head,
        "lab: a hook changed the judged bytes",
    );
    if let Err(error) = back {
        return error
            .context("a commit hook changed the judged bytes, and HEAD could not be moved back");
    }
    let changed = bounds::commit(&repo.git, commit).ok().and_then(|made| {
        let mut files = wanted.files.iter();
        Some(
            files
                .find(|file| !file.is_in(&repo.git, &made))?
                .name
                .clone(),
        )
    });
    anyhow::anyhow!(
        "a commit hook changed {}: commit {} does not hold the judged bytes and was taken back. Let the hook leave it \
         alone, or run the hook's change yourself and judge that",
        changed.unwrap_or_else(|| "the commit".to_owned()),
        short(&commit.to_string())
    )
}

/// Commits from an index of its own that differs from HEAD by these files alone.
fn run(repo: &Repo, wanted: &Move, message: &str, lock: &mut LockedFile) -> Result<()> {
    if let Some(operation) = super::obstacle::operation(&repo.git) {
        bail!("{}", super::Obstacle::Operation(operation));
    }
    let project = &repo.project;
    let folder = TemporaryFolder::inside(&project.lab_dir)?;
    let why = by_program(repo)?.unwrap_or_else(|| "hooks ran when the commit was begun".to_owned());
    let mut program = GitProgram {
        project,
        why: &why,
        index: Some(folder.path().join("index")),
        lock: Some(lock),
        is_remote: false,
    };
    if wanted.from.is_some() {
        program.run(&["read-tree", "HEAD"])?;
    }
    for file in &wanted.files {
        program.set_entry(file)?;
    }
    let text = folder.path().join("message");
    let written = Root::new(folder.path()).create(Path::new("message"));
    written
        .and_then(|mut file| file.write_all(message.as_bytes()))
        .context("cannot write the commit message")?;
    let text = text.to_string_lossy();
    let args = ["commit", "--quiet", "--cleanup=whitespace", "--file", &text];
    program.run(&args).map(drop)
}
