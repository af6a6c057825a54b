//! Prepares a commit of exactly the judged bytes of the kernel on top of HEAD, and of no other
//! change of the user's.
//!
//! Nothing is committed here: [`super::move_branch`] or the git program
//! ([`super::commit_by_program`]) does that, once the decision's intent is on disk.

use super::branch::Move;
use super::folder_programs::by_program;
use super::history::introduced;
use super::obstacle::{author, committer};
use super::tree_update::{file_mode, tree_with};
use crate::{
    Repo, blob_in, bounds, durable, file_in, filters, head_commit, head_ref, verify_write,
};
use anyhow::{Context, Result, anyhow, bail};
use git2::{Commit, FileMode, ObjectType, Oid, Repository, Signature};
use lab_system::space;
use lab_text::shell::quote;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The result of preparing a commit of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCommit {
    /// HEAD holds the bytes already. Full id of the commit that brought them.
    Already(String),
    /// The move of the branch to the new commit: the commit's objects are in git, and no branch
    /// holds it yet. `to` is `None` if the git program must make the commit, because it runs hooks or
    /// signs.
    New(Move),
}

/// A file of a commit, as git holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFile {
    /// Repository-relative.
    pub name: String,
    /// Git blob id, hex, before the commit; `None` if there was no such file.
    pub before: Option<String>,
    /// Git blob id, hex; `None` removes the file.
    pub blob: Option<String>,
    /// As git writes it, for example 0o100644.
    pub mode: i32,
}

impl CommitFile {
    pub(super) fn new(
        name: &str,
        before: Option<Oid>,
        blob: Option<Oid>,
        mode: FileMode,
    ) -> CommitFile {
        let hex = |id: Oid| id.to_string();
        CommitFile {
            name: name.to_owned(),
            before: before.map(hex),
            blob: blob.map(hex),
            mode: mode.into(),
        }
    }

    pub(super) fn id(&self) -> Option<Oid> {
        Oid::from_str(self.blob.as_deref()?).ok()
    }

    /// Whether a commit holds the file.
    pub(super) fn is_in(&self, git: &Repository, commit: &Commit) -> bool {
        blob_in(git, commit, &self.name).map(|(id, _)| id) == self.id()
    }

    pub(super) fn before_id(&self) -> Option<Oid> {
        Oid::from_str(self.before.as_deref()?).ok()
    }
}

/// A file that a commit is to change: its repository-relative path and its bytes on disk; `None`
/// removes it.
pub type ChangedFile = (String, Option<Vec<u8>>);

/// Prepares a commit of `bytes` as the kernel, and of the files of `rules` with it. `blob` is the
/// id that git gave these bytes when they were judged: if filters changed since, git would commit
/// other bytes, and this function refuses.
pub fn prepare_kernel(
    repo: &Repo,
    bytes: &[u8],
    blob: &str,
    rules: &[ChangedFile],
    message: &str,
) -> Result<ToCommit> {
    let name = &repo.project.kernel_name;
    let head = head_commit(&repo.git)?;
    let kernel = stored(repo, head.as_ref(), name, Some(bytes))?;
    if kernel.blob.as_deref() != Some(blob) {
        bail!(
            "git would hold other bytes of {name} than were judged (line endings or attributes changed since): `lab run{}`, then keep",
            repo.project.argument
        );
    }
    if let Some(head) = &head
        && let Some((held, mode)) = file_in(&repo.git, head, name)?
    {
        refuse_link(repo, mode)?;
        if Some(held) == kernel.id() && rules.is_empty() {
            verify_write::read_back(repo, "HEAD", head.id(), &[kernel])?;
            let brought = introduced(&repo.git, head.clone(), name, held);
            return Ok(ToCommit::Already(brought.to_string()));
        }
    }
    let mut files = vec![kernel];
    files.extend(all_stored(repo, head.as_ref(), rules)?);
    prepare(repo, head.as_ref(), files, message).map(ToCommit::New)
}

/// Prepares a commit of these files of the rules alone. Returns the same move as [`ToCommit::New`].
pub fn prepare_rules(repo: &Repo, files: &[ChangedFile], message: &str) -> Result<Move> {
    let head = head_commit(&repo.git)?;
    let files = all_stored(repo, head.as_ref(), files)?;
    prepare(repo, head.as_ref(), files, message)
}

/// Refuses a kernel that git holds as a link: a commit would have to change another file.
pub fn refuse_link(repo: &Repo, mode: i32) -> Result<()> {
    if mode == i32::from(FileMode::Link) {
        let name = &repo.project.kernel_name;
        bail!(
            "git holds {name} as a link: name the file that it points to (`kernel` in lab.toml, or `lab run PATH`)"
        );
    }
    Ok(())
}

fn all_stored(
    repo: &Repo,
    head: Option<&Commit>,
    files: &[ChangedFile],
) -> Result<Vec<CommitFile>> {
    let store = |(name, bytes): &ChangedFile| stored(repo, head, name, bytes.as_deref());
    files.iter().map(store).collect()
}

/// Stores the bytes of a file in git. The file keeps the mode that HEAD holds.
fn stored(
    repo: &Repo,
    head: Option<&Commit>,
    name: &str,
    bytes: Option<&[u8]>,
) -> Result<CommitFile> {
    let held = match head {
        Some(commit) => file_in(&repo.git, commit, name)?,
        None => None,
    };
    if let (Some(head), Some(_)) = (head, bytes) {
        refuse_other_kind(repo, head, name)?;
    }
    let blob = bytes
        .map(|bytes| filters::store(repo, name, bytes))
        .transpose()?;
    let mode = match held {
        Some((_, mode)) => file_mode(mode),
        None => mode_on_disk(&repo.project.root.join(name)),
    };
    Ok(CommitFile::new(name, held.map(|(id, _)| id), blob, mode))
}

/// Refuses a file where HEAD holds a folder or a submodule, or a file in the place of its folder: a
/// commit would take out what HEAD holds there.
fn refuse_other_kind(repo: &Repo, head: &Commit, name: &str) -> Result<()> {
    let file = Path::new(name);
    for path in file.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        let Some(entry) = bounds::entry(&repo.git, head.tree_id(), path)? else {
            continue;
        };
        let shown = path.display();
        let what = match (entry.kind(), path == file) {
            (Some(ObjectType::Blob), true) | (Some(ObjectType::Tree), false) => continue,
            (Some(ObjectType::Commit), _) => bail!(
                "HEAD holds the submodule {shown}, and {name} lies in it: run lab in that folder, where the submodule's own \
                 repository holds the file"
            ),
            (Some(ObjectType::Tree), true) => "a folder",
            _ => "a file",
        };
        let quoted = quote(&path.to_string_lossy());
        bail!(
            "HEAD holds {what} at {shown}, so it cannot hold {name}: take it out of git with `git rm -r --cached {quoted}` and \
             `git commit`, then keep"
        );
    }
    Ok(())
}

/// Makes the commit on top of HEAD, if libgit2 can. The branch stays where it is.
fn prepare(
    repo: &Repo,
    head: Option<&Commit>,
    files: Vec<CommitFile>,
    message: &str,
) -> Result<Move> {
    // What lab could not read again it could not undo either.
    if let Some(head) = head {
        bounds::check(&repo.git, &bounds::tree_of(&repo.git, head)?)?;
    }
    files
        .iter()
        .try_for_each(|file| bounds::check_depth(&file.name))?;
    let commit = match by_program(repo)? {
        Some(_) => None,
        None => {
            let author = author(&repo.git).context("git does not know your name")?;
            let committer = committer(&repo.git).unwrap_or_else(|| author.clone());
            let parents: Vec<&Commit> = head.into_iter().collect();
            Some(write(
                repo,
                &parents,
                &files,
                [&author, &committer],
                message,
            )?)
        }
    };
    let kind = match head {
        Some(_) => "commit",
        None => "commit (initial)",
    };
    let subject = message.lines().next().unwrap_or_default();
    Ok(Move {
        reference: head_ref(repo)?,
        from: head.map(|head| head.id().to_string()),
        to: commit.map(|id| id.to_string()),
        why: format!("{kind}: {subject}"),
        files,
    })
}

/// What the user should know of a commit that HEAD is at: on a detached HEAD, no branch holds it.
pub fn detached_note(repo: &Repo, commit: &str) -> Option<String> {
    repo.git.head_detached().unwrap_or(false).then(|| {
        format!(
            "HEAD is detached: the commit is on no branch. `git branch NAME {}` keeps it",
            super::short(commit)
        )
    })
}

/// Makes a commit that no branch holds, and waits until it is on disk: the tree of the first
/// parent, or an empty tree, with these files replaced. `who` is author and committer.
pub fn write(
    repo: &Repo,
    parents: &[&Commit],
    files: &[CommitFile],
    who: [&Signature; 2],
    message: &str,
) -> Result<Oid> {
    let git = &repo.git;
    let tree = tree_with(repo, parents.first().copied(), files)?;
    let id = git
        .commit(None, who[0], who[1], message, &tree, parents)
        .map_err(|error| anyhow!("git could not commit: {}", error.message()))?;
    // On a full disk libgit2 says of an object that it wrote it, and there is none.
    let written = bounds::commit(git, id).map_err(|_| anyhow!(space::SILENT));
    durable::commit(repo, &written.context("git could not commit")?, files)?;
    Ok(id)
}

pub fn mode_on_disk(path: &Path) -> FileMode {
    let executable = std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o100 != 0);
    if executable {
        FileMode::BlobExecutable
    } else {
        FileMode::Blob
    }
}
