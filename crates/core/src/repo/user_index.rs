//! The user's index: which blob is staged for a file.
//!
//! libgit2 reads neither a split index nor a sparse one. Where the user's index is such a one, the
//! git program reads and writes it, and libgit2 gets an empty index in memory: it looks there for
//! `.gitattributes` that are not on disk.

use super::Repo;
use anyhow::{Context, Result, anyhow, bail};
use git2::{ErrorClass, Index, Oid, Repository};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Gives the repository an empty index in memory if libgit2 cannot read the user's. Returns whether
/// it did.
pub(super) fn replace_unreadable(git: &Repository) -> Result<bool> {
    // Reading a large index takes milliseconds, so only those are read that may be of the two
    // kinds.
    if !may_be_split_or_sparse(git) {
        return Ok(false);
    }
    match git.index() {
        Err(error) if error.class() == ErrorClass::Index => {
            git.set_index(&mut Index::new()?)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// A split index has a file `sharedindex.HASH` beside it, a sparse one has a file with the
/// patterns.
fn may_be_split_or_sparse(git: &Repository) -> bool {
    let is_shared = |name: &OsStr| name.as_encoded_bytes().starts_with(b"sharedindex.");
    let mut names = std::fs::read_dir(git.path())
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.file_name());
    git.path().join("info/sparse-checkout").exists() || names.any(|name| is_shared(&name))
}

/// The blob that is staged for a file; `None` if the index has no entry for it.
pub(super) fn staged(repo: &Repo, name: &str) -> Result<Option<Oid>> {
    if repo.index_by_git {
        return staged_in(repo, None, name);
    }
    let mut index = repo.git.index()?;
    index.read(false)?;
    Ok(index.get_path(Path::new(name), 0).map(|entry| entry.id))
}

/// Whether a merge left a conflict in a file, of which nothing is staged. False in an index that
/// libgit2 cannot read.
pub(super) fn has_conflict(repo: &Repo, name: &str) -> bool {
    let sides = [1, 2, 3];
    let index = repo.git.index().ok().filter(|_| !repo.index_by_git);
    let index = index.and_then(|mut index| index.read(false).ok().map(|()| index));
    index.is_some_and(|index| {
        sides
            .iter()
            .any(|side| index.get_path(Path::new(name), *side).is_some())
    })
}

/// [`staged`] as the git program reads it, in the user's index or in a copy of it.
pub(super) fn staged_in(repo: &Repo, copy: Option<&Path>, name: &str) -> Result<Option<Oid>> {
    let pathspec = format!(":(literal){name}");
    let listed = git_on_index(
        repo,
        copy,
        &["ls-files", "--stage", "-z", "--full-name", "--", &pathspec],
    )?;
    // `MODE BLOB STAGE\tPATH`; stage 0 is an entry without a conflict.
    let entries = listed.split('\0').filter_map(|line| line.split_once('\t'));
    let mut blobs = entries
        .filter(|(_, path)| *path == name)
        .filter_map(|(about, _)| {
            let mut words = about.split(' ').skip(1);
            words.next().filter(|_| words.next() == Some("0"))
        });
    Ok(blobs.next().map(Oid::from_str).transpose()?)
}

/// Stages a blob with its mode for a file in a copy of an index that libgit2 cannot read; `None`
/// takes the file's entry out. Every other entry stays. It is read back. The files with the shared
/// entries of a split index stay where git looks for them, in git's folder, so the copy may take
/// the place of the index.
pub(super) fn stage(repo: &Repo, copy: &Path, name: &str, entry: Option<(Oid, i32)>) -> Result<()> {
    match entry {
        Some((blob, mode)) => {
            let entry = format!("{mode:o},{blob},{name}");
            git_on_index(
                repo,
                Some(copy),
                &["update-index", "--add", "--cacheinfo", &entry],
            )?;
        }
        None => drop(git_on_index(
            repo,
            Some(copy),
            &["update-index", "--force-remove", "--", name],
        )?),
    }
    if staged_in(repo, Some(copy), name)? != entry.map(|(blob, _)| blob) {
        bail!("git reported no error, but it is not written: is the disk full?");
    }
    Ok(())
}

/// Runs the git program on the user's index, or on a copy of it.
fn git_on_index(repo: &Repo, copy: Option<&Path>, args: &[&str]) -> Result<String> {
    const WHY: &str = "the index is split or sparse, which only git itself reads and writes";
    run_git(repo, copy, args, WHY).map_err(|error| match error.is::<NoGit>() {
        true => anyhow!(
            "{error}, or make the index a plain one (`git update-index --no-split-index`, `git sparse-checkout reapply \
             --no-sparse-index`)"
        ),
        false => error,
    })
}

/// The git program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{0}, and `git` could not be started ({1}): install git")]
struct NoGit(&'static str, std::io::Error);

/// git 2.36 and newer then waits until packed refs and loose objects are on disk. By default it
/// removes the loose refs before the file of packed ones is there.
const WAITS_FOR_DISK: &str = "core.fsync=committed,reference";

/// Runs the git program. No hook and no monitor that the configuration names is started for it.
/// `why` says what it is needed for.
pub(super) fn git(repo: &Repo, args: &[&str], why: &'static str) -> Result<String> {
    run_git(repo, None, args, why)
}

fn run_git(repo: &Repo, index: Option<&Path>, args: &[&str], why: &'static str) -> Result<String> {
    let root = repo.git.workdir().context("the repository is bare")?;
    let mut command = Command::new("git");
    command
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            WAITS_FOR_DISK,
        ])
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let output = command.output().map_err(|error| NoGit(why, error))?;
    if !output.status.success() {
        let said = crate::text::sanitise::words(&String::from_utf8_lossy(&output.stderr));
        let command = args
            .iter()
            .find(|arg| !arg.starts_with('-') && !arg.contains('='))
            .unwrap_or(&"");
        bail!("`git {command}` refused ({why}): {said}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
