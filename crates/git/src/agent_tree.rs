//! The work tree in which the command of `lab auto` edits: the files of HEAD, in a git repository
//! of its own.
//!
//! The repository borrows the objects of the user's repository and shares nothing else with it. A
//! commit, a branch or a hook that the command makes there changes neither a ref nor a setting of
//! the user's. libgit2 writes the files, and it starts no filter program and no hook.

use super::commit::{self, CommitFile, mode_on_disk};
use super::history::check_commits;
use super::obstacle::any_signature;
use super::{
    Repo, StoredCommit, bounds, checkout, durable, head_commit, name_of_head, open_git, refs,
};
use anyhow::{Context, Result};
use git2::build::CheckoutBuilder;
use git2::{FileMode, ObjectType, Oid, Repository, RepositoryInitOptions};
use lab_project::Project;
use lab_run::RunId;
use lab_run::inputs::SIZE_LIMIT;
use lab_system::failure::Failure;
use lab_system::root::Root;
use lab_system::{listing, special_files};
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Most files other than the kernel that are kept of one turn.
const KEPT_FILES: usize = 10_000;

/// Most commits of the command that are kept of one turn.
const KEPT_COMMITS: usize = 100;

/// What a file looked like before the command ran.
type Stamp = (u64, u64, i64, i64, u32);

/// Everything in a folder; a folder has no stamp.
type Listed = BTreeMap<PathBuf, Option<Stamp>>;

fn stamp(found: &Metadata) -> Stamp {
    (
        found.ino(),
        found.len(),
        found.ctime(),
        found.ctime_nsec(),
        found.mode(),
    )
}

/// A fresh work tree, with the state of its files before the command runs.
pub struct AgentTree {
    root: Root,
    kernel: String,
    base: Oid,
    before: Listed,
    /// The folder below `refs/lab` for what is kept. Lanes count their turns each for itself, at
    /// the same time.
    refs: String,
}

/// What the command changed besides the kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherChanges {
    /// One line each: paths, commits, a branch.
    pub lines: Vec<String>,
    /// The commit that holds them; `None` where there is nothing to keep.
    pub kept: Option<StoredCommit>,
    /// Bytes of the files that it keeps besides the kernel.
    pub bytes: u64,
}

impl AgentTree {
    /// Makes the folder `path` a work tree of HEAD, with `kernel` as the kernel's bytes; `None` takes
    /// the incumbent's. `last` is the work tree of the last turn. It is used again where HEAD is the
    /// same and the command changed the kernel only: writing 3,000 files takes half a second.
    pub fn create(
        repo: &Repo,
        path: &Path,
        turn: u64,
        kernel: Option<&[u8]>,
        last: Option<AgentTree>,
    ) -> Result<AgentTree> {
        let head = head_commit(&repo.git)?.context("HEAD is on no commit")?;
        let bytes = match kernel {
            Some(bytes) => bytes.to_vec(),
            None => checkout::bytes_of(repo, &head.id().to_string())?,
        };
        let fresh = || AgentTree::new(&repo.project, path, head.id());
        last.filter(|last| last.path() == path && last.base == head.id() && last.is_untouched())
            .map_or_else(|| fresh().filled(repo), Ok)
            .and_then(|tree| tree.begun(turn, &bytes))
            .cannot("prepare the work tree", path)
    }

    fn new(project: &Project, path: &Path, base: Oid) -> AgentTree {
        AgentTree {
            root: Root::new(path),
            kernel: project.kernel_name.clone(),
            base,
            before: BTreeMap::new(),
            refs: refs::turns_folder(project),
        }
    }

    /// Whether the kernel is a file, and everything else is as it was before the command ran.
    fn is_untouched(&self) -> bool {
        let kernel = Path::new(&self.kernel);
        let now = listed(self.path());
        let is_file = now.get(kernel).is_some_and(Option::is_some);
        let [now, before] = [&now, &self.before].map(|all| all.iter().filter(|it| it.0 != kernel));
        is_folder(self.path()) && is_file && now.eq(before)
    }

    /// Puts the kernel into the folder and notes the turn, which begins.
    fn begun(mut self, turn: u64, kernel: &[u8]) -> Result<AgentTree> {
        let path = self.root.path();
        let parent = Root::around(path);
        write(&self.root, Path::new(&self.kernel), kernel)?;
        let noted = format!("{} {turn}", self.base);
        write(&parent, &note(path), noted.as_bytes())?;
        self.before = listed(path);
        Ok(self)
    }

    /// Makes the folder with the repository and the files.
    fn filled(self, repo: &Repo) -> Result<AgentTree> {
        let path = self.root.path();
        let parent = Root::around(path);
        AgentTree::forget(path)?;
        clear(&parent, path)?;
        parent.create_dir_all(path)?;
        let mut options = RepositoryInitOptions::new();
        options.no_reinit(true).external_template(false);
        Repository::init_opts(path, &options)?;
        let objects = repo.git.commondir().join("objects").canonicalize()?;
        let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
        write(&self.root, Path::new(".git/objects/info/alternates"), &line)?;
        // Without this file git takes the missing parents of a shallow clone for damage.
        if let Ok(shallow) = Root::new(repo.git.commondir()).read(Path::new("shallow"), SIZE_LIMIT)
        {
            write(&self.root, Path::new(".git/shallow"), &shallow)?;
        }
        let own = open_git(path)?;
        let base = bounds::commit(&own, self.base)?;
        bounds::check_files(&own, &bounds::tree_of(&own, &base)?)?;
        own.set_head_detached(self.base)?;
        own.checkout_head(Some(CheckoutBuilder::new().force()))?;
        Ok(self)
    }

    /// The work tree of a turn that did not end in the folder `path`, with the turn; `None` if
    /// there is none. Its files count as changed where their bytes differ from the commit that they
    /// were taken from.
    pub fn find(repo: &Repo, path: &Path) -> Result<Option<(AgentTree, u64)>> {
        let git = &repo.git;
        let parent = Root::around(path);
        let Ok(noted) = parent.read_text(&note(path), 64) else {
            return Ok(None);
        };
        let Some((base, turn)) = noted.split_once(' ') else {
            return Ok(None);
        };
        let base = Oid::from_str(base).ok();
        let base = base.map(|base| bounds::commit(git, base)).transpose()?;
        let (Some(commit), Ok(turn)) = (base, turn.parse()) else {
            return Ok(None);
        };
        if !is_folder(path) {
            return Ok(None);
        }
        let mut before = BTreeMap::new();
        let held = bounds::tree_of(git, &commit)?;
        bounds::check(git, &held)?;
        held.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            let file = Path::new(OsStr::from_bytes(folder.as_bytes()))
                .join(OsStr::from_bytes(entry.name_bytes()));
            if entry.kind() == Some(ObjectType::Blob) {
                let found = path.join(&file).symlink_metadata().ok();
                let same = found.filter(|found| is_as_in(repo, path, &file, found, entry.id()));
                before.insert(file, Some(same.as_ref().map_or((0, 0, 0, 0, 0), stamp)));
            }
            git2::TreeWalkResult::Ok
        })?;
        let tree = AgentTree::new(&repo.project, path, commit.id());
        Ok(Some((AgentTree { before, ..tree }, turn)))
    }

    /// Notes that the turn of the work tree in the folder `path` has ended: [`AgentTree::find`]
    /// does not find it any more.
    pub fn forget(path: &Path) -> io::Result<()> {
        Root::around(path).remove_file(&note(path))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The kernel's path in the tree.
    pub fn kernel(&self) -> PathBuf {
        self.root.path().join(&self.kernel)
    }

    /// The kernel's bytes as the command left them. The error says why they are not taken.
    pub fn read_kernel(&self) -> io::Result<Vec<u8>> {
        if !is_folder(self.path()) {
            return Err(io::Error::other("the command replaced its work tree"));
        }
        self.root.read(Path::new(&self.kernel), SIZE_LIMIT)
    }

    /// Keeps what the command changed besides the kernel under `refs/lab/auto/TURN`, and names it;
    /// with the kernel if that is not taken. `most` limits the bytes of the other files.
    pub fn keep_others(
        &self,
        repo: &Repo,
        turn: u64,
        with_kernel: bool,
        most: u64,
    ) -> Result<OtherChanges> {
        let git = &repo.git;
        let is_taken = |file: &Path| !with_kernel && file == Path::new(&self.kernel);
        let mut found = OtherChanges::default();
        if !is_folder(self.path()) {
            // A link may lead to any folder of the user's.
            found
                .lines
                .push("removed or replaced its work tree; nothing of it is kept".to_owned());
            return Ok(found);
        }
        let base = bounds::commit(git, self.base)?;
        // The times of a file say nothing about its bytes.
        let is_in_base = |file: &Path, metadata: &Metadata| {
            let held = bounds::entry(git, base.tree_id(), file).ok().flatten();
            held.is_some_and(|held| {
                is_as_in(repo, self.path(), file, metadata, held.id())
                    && held.filemode() == i32::from(self.mode(file, metadata))
            })
        };
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        let mut room = most;
        walk(self.path(), Path::new(""), &mut |file, metadata| {
            if metadata.is_dir() {
                return file.file_name() != Some(OsStr::new(".git"));
            }
            seen.insert(file.to_owned());
            let is_untouched = self.before.get(file) == Some(&Some(stamp(metadata)));
            if is_taken(file) || is_untouched || is_in_base(file, metadata) {
                return false;
            }
            match self.stored(git, file, metadata, &mut room, files.len()) {
                Ok(kept) => {
                    found.lines.push(format!("changed {}", file.display()));
                    files.push(kept);
                }
                Err(why) => found
                    .lines
                    .push(format!("changed {} (not kept: {why})", file.display())),
            }
            false
        });
        for (gone, stamp) in &self.before {
            if stamp.is_none() || gone.starts_with(".git") || seen.contains(gone) || is_taken(gone)
            {
                continue;
            }
            found.lines.push(format!("removed {}", gone.display()));
            files.extend(
                gone.to_str()
                    .map(|name| CommitFile::new(name, None, None, FileMode::Blob)),
            );
        }
        found.bytes = most - room;
        let own = self.own_commits(repo, &mut found.lines);
        if found.lines.is_empty() {
            return Ok(found);
        }
        let who = any_signature(git)?;
        let own = own.and_then(|tip| bounds::commit(git, tip).ok());
        let parents: Vec<&git2::Commit> =
            [Some(&base), own.as_ref()].into_iter().flatten().collect();
        let message = format!(
            "lab auto: what turn {turn} changed besides the kernel\n\n{}\n",
            found.lines.join("\n")
        );
        let id = commit::write(repo, &parents, &files, [&who, &who], &message)?;
        let stored = refs::store(repo, &self.refs, RunId(turn), id, "lab auto")?;
        found.kept = Some(stored);
        Ok(found)
    }

    /// The mode of a file of the work tree.
    fn mode(&self, file: &Path, metadata: &Metadata) -> FileMode {
        match metadata.is_symlink() {
            true => FileMode::Link,
            false => mode_on_disk(&self.path().join(file)),
        }
    }

    /// Stores a changed file in git. The error says why not.
    fn stored(
        &self,
        git: &Repository,
        file: &Path,
        metadata: &Metadata,
        room: &mut u64,
        count: usize,
    ) -> Result<CommitFile, String> {
        let name = file.to_str().ok_or("its name is no UTF-8")?;
        if count >= KEPT_FILES {
            return Err(format!("more than {KEPT_FILES} files"));
        }
        let content = content(&self.root, file, metadata).map_err(|error| error.to_string())?;
        let mode = self.mode(file, metadata);
        // No byte of a kernel is left out.
        if file != Path::new(&self.kernel) {
            let bytes = content.len() as u64;
            *room = room
                .checked_sub(bytes)
                .ok_or_else(|| format!("{bytes} bytes, and there is room for {room}"))?;
        }
        let blob = git
            .blob(&content)
            .map_err(|error| error.message().to_owned())?;
        Ok(CommitFile::new(name, None, Some(blob), mode))
    }

    /// Copies the commits that the command made into the user's object store, and returns the last
    /// one.
    fn own_commits(&self, repo: &Repo, lines: &mut Vec<String>) -> Option<Oid> {
        let folder = self.path().join(".git");
        if !is_folder(&folder) {
            lines.push("the git repository of its work tree is gone".to_owned());
            return None;
        }
        if let Err(why) = special_files::refuse_in_repository(self.path(), |_| false) {
            lines.push(format!(
                "the git repository of its work tree is not read: {why}"
            ));
            return None;
        }
        let own = open_git(&folder).ok()?;
        let branch = name_of_head(&own).ok().filter(|name| name != "HEAD");
        lines.extend(branch.map(|branch| format!("checked out the branch {branch}")));
        let tip = bounds::commit_at(&own, &own.head().ok()?).ok()?.id();
        if tip == self.base {
            return None;
        }
        check_commits(&own, tip, self.base).ok()?;
        let mut commits = own.revwalk().ok()?;
        commits.push(tip).ok()?;
        commits.hide(self.base).ok()?;
        let made: Vec<Oid> = commits.flatten().take(KEPT_COMMITS + 1).collect();
        let count = made.len().min(KEPT_COMMITS);
        lines.push(format!("made commits ({count}), the last is {tip}"));
        let mut copied = Vec::new();
        let mut keep = |commit: &Oid| copy(&own, &repo.git, *commit, &mut copied).is_some();
        if made.len() > KEPT_COMMITS
            || !made.iter().rev().all(&mut keep)
            || durable::objects(repo, &copied).is_err()
        {
            lines.push("its commits are not kept: too many, or not whole".to_owned());
            return None;
        }
        Some(tip)
    }
}

/// Whether this is a folder, and no link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Removes a folder. Commands leave folders without write permission, as Go's module cache has:
/// those get it first.
fn clear(parent: &Root, path: &Path) -> io::Result<()> {
    match parent.remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_folder(path) => {
            make_writable(path);
            parent.remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Lets the owner change what is in a folder and in the folders below it. What fails here fails
/// again where it is removed.
fn make_writable(folder: &Path) {
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    for entry in listing::entries(folder) {
        if entry.file_type().is_ok_and(FileType::is_dir) {
            make_writable(&entry.path());
        }
    }
}

/// Writes a file without waiting for the disk, as git writes the tree's other files: after a power
/// failure the turn begins anew.
fn write(root: &Root, file: &Path, bytes: &[u8]) -> io::Result<()> {
    root.replace_with(file, |out| out.write_all(bytes))
}

/// Where commit and turn of a work tree are noted, beside it.
fn note(path: &Path) -> PathBuf {
    path.with_extension("base")
}

/// Whether a file of the tree `path` has the bytes of a blob, as they are in git or as git puts
/// them on disk.
fn is_as_in(repo: &Repo, path: &Path, file: &Path, found: &Metadata, blob: Oid) -> bool {
    let Ok(bytes) = content(&Root::new(path), file, found) else {
        return false;
    };
    let as_stored = || {
        file.to_str()
            .and_then(|name| super::filters::id(repo, name, &bytes).ok())
    };
    Oid::hash_object(ObjectType::Blob, &bytes).is_ok_and(|id| id == blob)
        || as_stored() == Some(blob)
}

/// The bytes of a file, or the target of a link.
fn content(root: &Root, file: &Path, found: &Metadata) -> io::Result<Vec<u8>> {
    match found.is_symlink() {
        true => Ok(std::fs::read_link(root.path().join(file))?
            .into_os_string()
            .into_vec()),
        false => root.read(file, SIZE_LIMIT),
    }
}

/// Copies a commit or a tree with all that it names. Adds what was not there to `copied`.
fn copy(from: &Repository, to: &Repository, id: Oid, copied: &mut Vec<Oid>) -> Option<()> {
    let target = to.odb().ok()?;
    if target.exists(id) {
        return Some(());
    }
    bounds::check_whole(from, id).ok()?;
    let odb = from.odb().ok()?;
    let object = odb.read(id).ok()?;
    match object.kind() {
        ObjectType::Commit => copy(from, to, from.find_commit(id).ok()?.tree_id(), copied)?,
        ObjectType::Tree => {
            let tree = from.find_tree(id).ok()?;
            let inside = |entry: &git2::TreeEntry| entry.kind() != Some(ObjectType::Commit);
            tree.iter()
                .filter(inside)
                .try_for_each(|entry| copy(from, to, entry.id(), copied))?;
        }
        _ => {}
    }
    copied.push(target.write(object.kind(), object.data()).ok()?);
    Some(())
}

/// Calls `found` for everything below a folder, with its relative path, in the order of the names.
/// Follows no link, and enters the folders for which `found` says so.
fn walk(root: &Path, folder: &Path, found: &mut dyn FnMut(&Path, &Metadata) -> bool) {
    let mut entries: Vec<_> = listing::entries(root.join(folder)).collect();
    entries.sort_by_key(listing::Entry::file_name);
    for entry in entries {
        let name = folder.join(entry.file_name());
        if let Ok(metadata) = entry.metadata()
            && found(&name, &metadata)
            && metadata.is_dir()
        {
            walk(root, &name, found);
        }
    }
}

/// Everything in a folder, .git included.
fn listed(path: &Path) -> Listed {
    let mut all = Listed::new();
    walk(path, Path::new(""), &mut |file, found| {
        all.insert(file.to_owned(), (!found.is_dir()).then(|| stamp(found)));
        true
    });
    all
}
