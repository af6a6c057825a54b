//! Commits exactly the judged bytes of the kernel on top of HEAD, and no other change of the user's.

use crate::disk::space;
use crate::repo::checkout::refuse_link;
use crate::repo::{Project, Repo, blob_in, exact, filters, head_commit, user_index, verify_write};
use anyhow::{Context, Result, bail};
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Repository, Signature};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The commit that holds the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Full id of the commit that holds the bytes.
    pub id: String,
    /// HEAD held the bytes already, so no commit was made.
    pub already: bool,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// A file of a commit, as git holds it.
pub(super) struct Entry {
    /// Repository-relative.
    pub name: String,
    /// `None` removes the file.
    pub blob: Option<Oid>,
    pub mode: FileMode,
}

/// A file that a commit is to change: its repository-relative path and its bytes on disk; `None` removes it.
pub type ChangedFile = (String, Option<Vec<u8>>);

/// Commits `bytes` as the kernel, and the files of `rules` with it. `blob` is the id that git gave these bytes when they
/// were judged: if filters changed since, git would commit other bytes, and this function refuses.
pub fn commit_kernel(
    repo: &Repo,
    project: &Project,
    bytes: &[u8],
    blob: &str,
    rules: &[ChangedFile],
    message: &str,
) -> Result<Committed> {
    let git = &repo.git;
    let name = &project.kernel_name;
    let id = filters::store(git, name, bytes)?;
    if id.to_string() != blob {
        bail!(
            "git would hold other bytes of {name} than were judged (line endings or attributes changed since): `lab run{}`, then keep",
            project.argument
        );
    }
    let head = head_commit(git)?;
    let before = head.as_ref().and_then(|commit| blob_in(commit, name));
    if let Some((_, mode)) = before {
        refuse_link(project, mode)?;
    }
    if let (Some(head), Some((held, _))) = (&head, before)
        && held == id
        && rules.is_empty()
    {
        verify_write::read_back(repo, "HEAD", head.id(), name, id)?;
        let holder = introduced(head.clone(), name, id);
        let notes = remembered(repo, project, holder, bytes);
        return Ok(Committed { id: holder.to_string(), already: true, notes });
    }
    let mode = before.map_or_else(|| mode_on_disk(&project.kernel), |(_, mode)| file_mode(mode));
    let mut entries = vec![Entry { name: name.clone(), blob: Some(id), mode }];
    entries.extend(stored(git, project, head.as_ref(), rules)?);
    let mut committed = commit_entries(repo, project, &entries, message)?;
    committed.notes.extend(remembered(repo, project, Oid::from_str(&committed.id)?, bytes));
    Ok(committed)
}

/// Remembers the judged bytes where git would put others on disk. Returns a note for the user if that failed.
fn remembered(repo: &Repo, project: &Project, commit: Oid, bytes: &[u8]) -> Vec<String> {
    let lost = exact::remember(repo, project, commit, bytes).err();
    let note =
        |error| format!("`lab restore` will put other line endings on disk than were judged: {error:#}");
    lost.map(note).into_iter().collect()
}

/// Commits these files of the rules alone.
pub fn commit_rules(
    repo: &Repo,
    project: &Project,
    files: &[ChangedFile],
    message: &str,
) -> Result<Committed> {
    let head = head_commit(&repo.git)?;
    let entries = stored(&repo.git, project, head.as_ref(), files)?;
    commit_entries(repo, project, &entries, message)
}

/// Stores the bytes of the files in git.
fn stored(
    git: &Repository,
    project: &Project,
    head: Option<&git2::Commit>,
    files: &[ChangedFile],
) -> Result<Vec<Entry>> {
    let entry = |(name, bytes): &ChangedFile| {
        let held = head.and_then(|commit| blob_in(commit, name)).map(|(_, mode)| file_mode(mode));
        let mode = held.unwrap_or_else(|| mode_on_disk(&project.root.join(name)));
        let blob = bytes.as_deref().map(|bytes| filters::store(git, name, bytes)).transpose()?;
        Ok(Entry { name: name.clone(), blob, mode })
    };
    files.iter().map(entry).collect()
}

/// Commits the entries on top of HEAD, and updates the user's index.
fn commit_entries(repo: &Repo, project: &Project, entries: &[Entry], message: &str) -> Result<Committed> {
    let git = &repo.git;
    let head = head_commit(git)?;
    let commit = match by_git(git)? {
        Some(why) => commit_by_git(git, project, entries, message, why)?,
        None => commit_by_library(git, head.as_ref(), entries, message)?,
    };
    let read_back = |entry: &Entry| verify_write::read_back(repo, "HEAD", commit, &entry.name, entry.blob);
    if let Err(error) = entries.iter().try_for_each(read_back) {
        // The branch must not stay at a commit that cannot be read.
        if git.refname_to_id("HEAD").ok() == Some(commit) {
            move_head_back(git, head.as_ref(), "lab: the commit was not written")?;
        }
        return Err(error);
    }
    let mut notes = Vec::new();
    if git.head_detached().unwrap_or(false) {
        notes.push(format!(
            "HEAD is detached: the commit is on no branch. `git branch NAME {}` keeps it",
            super::short(&commit.to_string())
        ));
    }
    for entry in entries {
        let before = head.as_ref().and_then(|head| blob_in(head, &entry.name)).map(|(id, _)| id);
        notes.extend(update_index(repo, &entry.name, before, entry.blob, entry.mode));
    }
    Ok(Committed { id: commit.to_string(), already: false, notes })
}

/// The oldest commit since which `name` has held this blob, along first parents from `head`. It looks at 10,000 commits.
pub(super) fn introduced(head: git2::Commit, name: &str, blob: Oid) -> Oid {
    const FAR: usize = 10_000;
    let mut holder = head;
    for _ in 0..FAR {
        match holder.parent(0) {
            Ok(parent) if blob_in(&parent, name).is_some_and(|(id, _)| id == blob) => holder = parent,
            _ => break,
        }
    }
    holder.id()
}

/// The tree of `base`, or an empty tree on an unborn branch, with these entries replaced.
pub(super) fn tree_with<'r>(
    repo: &'r Repository,
    base: Option<&git2::Commit>,
    entries: &[Entry],
) -> Result<git2::Tree<'r>> {
    let base = match base {
        Some(commit) => commit.tree()?,
        None => repo.find_tree(repo.treebuilder(None)?.write()?)?,
    };
    let mut update = TreeUpdateBuilder::new();
    for Entry { name, blob, mode } in entries {
        match blob {
            Some(blob) => update.upsert(name.as_str(), *blob, *mode),
            None => update.remove(name.as_str()),
        };
    }
    let tree = update.create_updated(repo, &base)?;
    Ok(repo.find_tree(tree)?)
}

fn commit_by_library(
    repo: &Repository,
    head: Option<&git2::Commit>,
    entries: &[Entry],
    message: &str,
) -> Result<Oid> {
    let tree = tree_with(repo, head, entries)?;
    let author = author(repo).context("git does not know your name")?;
    let parents: Vec<&git2::Commit> = head.into_iter().collect();
    repo.commit(
        Some("HEAD"),
        &author,
        &committer(repo).unwrap_or_else(|| author.clone()),
        message,
        &tree,
        &parents,
    )
    .map_err(|e| anyhow::anyhow!("git could not commit: {}", e.message()))
}

/// Why the `git` program must make the commit; `None` if libgit2 can. libgit2 runs no hooks and signs nothing.
fn by_git(repo: &Repository) -> Result<Option<String>> {
    let config = repo.config()?.snapshot()?;
    if config.get_bool("commit.gpgsign").unwrap_or(false) {
        return Ok(Some("commit.gpgsign is set".into()));
    }
    let folder = match config.get_path("core.hooksPath") {
        Ok(path) => repo.workdir().unwrap_or(Path::new(".")).join(path),
        Err(_) => repo.commondir().join("hooks"),
    };
    let runs = |hook: &&str| {
        std::fs::metadata(folder.join(hook)).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let hooks = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction"];
    Ok(hooks.iter().find(|hook| runs(hook)).map(|hook| format!("there is a {hook} hook")))
}

/// Commits with the git program, from an index of its own that differs from HEAD by the entries alone.
fn commit_by_git(
    git: &Repository,
    project: &Project,
    entries: &[Entry],
    message: &str,
    why: String,
) -> Result<Oid> {
    let head = head_commit(git)?;
    let folder = tempfile::Builder::new().prefix("commit-").tempdir_in(&project.lab_dir)?;
    let program = Git { root: &project.root, index: folder.path().join("index"), why };
    if head.is_some() {
        program.run(&["read-tree", "HEAD"])?;
    }
    for Entry { name, blob, mode } in entries {
        match blob {
            Some(blob) => {
                let entry = format!("{:o},{blob},{name}", i32::from(*mode));
                program.run(&["update-index", "--add", "--cacheinfo", &entry])?;
            }
            None => program.run(&["update-index", "--force-remove", "--", name])?,
        }
    }
    let text = folder.path().join("message");
    let written = project.files().create(&text).and_then(|mut file| file.write_all(message.as_bytes()));
    written.context("cannot write the commit message")?;
    program.run(&["commit", "--quiet", "--cleanup=whitespace", "--file", &text.to_string_lossy()])?;
    let made = git.head()?.peel_to_commit()?;
    let parent = made.parent_id(0).ok();
    let other = |entry: &&Entry| blob_in(&made, &entry.name).map(|(id, _)| id) != entry.blob;
    let changed = entries.iter().find(other);
    if changed.is_some() || parent != head.as_ref().map(git2::Commit::id) {
        move_head_back(git, head.as_ref(), "lab: a hook changed the judged bytes")?;
        bail!(
            "a commit hook changed {}: commit {} does not hold the judged bytes and was taken back. Let the hook \
             leave it alone, or run the hook's change yourself and judge that",
            changed.map_or(&project.kernel_name, |entry| &entry.name),
            super::short(&made.id().to_string())
        );
    }
    Ok(made.id())
}

/// Moves HEAD back to `head`, or to an unborn branch. The commit that it leaves stays in the reflog.
pub(super) fn move_head_back(git: &Repository, head: Option<&git2::Commit>, why: &str) -> Result<()> {
    let link = git.find_reference("HEAD")?;
    match (link.symbolic_target()?, head) {
        (Some(branch), Some(old)) => {
            git.reference(branch, old.id(), true, why)?;
        }
        (Some(branch), None) => git.find_reference(branch)?.delete()?,
        (None, Some(old)) => git.set_head_detached(old.id())?,
        (None, None) => {}
    }
    Ok(())
}

struct Git<'a> {
    root: &'a Path,
    index: PathBuf,
    why: String,
}

impl Git<'_> {
    fn run(&self, args: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root).stdin(Stdio::null()).env("GIT_INDEX_FILE", &self.index);
        // An editor would wait for input that never comes.
        command.env("GIT_EDITOR", "true").env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        let output = command.output().with_context(|| {
            format!("{}, so `git` must make the commit, and it could not be started: install git", self.why)
        })?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            let lines: Vec<String> =
                output.lines().map(|l| crate::text::sanitise::line(l.as_bytes())).collect();
            bail!("`git {}` refused ({}): {}", args[0], self.why, lines.join(" · ").trim());
        }
        Ok(())
    }
}

/// Sets a file's entry in the user's index to `blob` (`None` removes it), unless the user staged something else there. Every other entry
/// stays. Returns a note for the user if the entry was not set.
pub(super) fn update_index(
    repo: &Repo,
    name: &str,
    before: Option<Oid>,
    blob: Option<Oid>,
    mode: FileMode,
) -> Option<String> {
    let update = || -> Result<bool> {
        let staged = user_index::staged(repo, name)?;
        if staged != before && staged != blob {
            return Ok(false);
        }
        if staged.is_some() || blob.is_some() {
            user_index::stage(repo, name, blob.map(|blob| (blob, mode)))?;
        }
        Ok(true)
    };
    match update() {
        Ok(true) => None,
        Ok(false) => Some(format!("you staged another version of {name}: it is still staged")),
        Err(error) => {
            let error = space::explain(error, "git's index was not written");
            Some(format!("git's index still holds another {name} than HEAD: {error:#}: `git reset {name}`"))
        }
    }
}

pub(super) fn file_mode(mode: i32) -> FileMode {
    if mode == i32::from(FileMode::BlobExecutable) { FileMode::BlobExecutable } else { FileMode::Blob }
}

pub(super) fn mode_on_disk(path: &Path) -> FileMode {
    let executable = std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o100 != 0);
    if executable { FileMode::BlobExecutable } else { FileMode::Blob }
}

/// As git has it: the environment first, then the configuration.
pub(super) fn author(repo: &Repository) -> Option<Signature<'static>> {
    signature(repo, "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
}

fn committer(repo: &Repository) -> Option<Signature<'static>> {
    signature(repo, "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
}

fn signature(repo: &Repository, name: &str, email: &str) -> Option<Signature<'static>> {
    let config = repo.config().ok()?.snapshot().ok()?;
    let given = |variable: &str, key: &str| {
        let value = std::env::var(variable).ok().or_else(|| config.get_string(key).ok())?;
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
