//! The work tree in which the command of `lab auto` edits: the files of HEAD, in a git repository
//! of its own.
//!
//! The repository borrows the objects of the user's repository and shares nothing else with it. A
//! commit, a branch or a hook that the command makes there changes neither a ref nor a setting of
//! the user's. libgit2 writes the files, and it starts no filter program and no hook.

use super::{Repo, bounds, checkout, head_commit, open_git, refs};
use anyhow::{Context, Result, anyhow, bail};
use git2::build::CheckoutBuilder;
use git2::{ObjectType, Oid, Repository, RepositoryInitOptions};
use lab_project::Project;
use lab_run::inputs::SIZE_LIMIT;
use lab_system::failure::Failure;
use lab_system::listing;
use lab_system::root::{Root, refusal};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What a file looked like before the command ran.
pub type Stamp = (u64, u64, i64, i64, u32);

/// Everything in a folder; a folder has no stamp.
pub type Listed = BTreeMap<PathBuf, Option<Stamp>>;

pub fn stamp(found: &Metadata) -> Stamp {
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
    pub(super) root: Root,
    pub(super) kernel: String,
    pub(super) base: Oid,
    pub(super) before: Listed,
    /// The folder below `refs/lab` for what is kept. Lanes count their turns each for itself, at
    /// the same time.
    pub(super) refs: String,
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
    pub fn read_kernel(&self) -> Result<Vec<u8>> {
        if !is_folder(self.path()) {
            bail!("the command replaced its work tree");
        }
        let kernel = Path::new(&self.kernel);
        let read = self.root.read(kernel, SIZE_LIMIT);
        read.map_err(|error| match error.kind() {
            ErrorKind::NotFound => anyhow!("the command removed {}", self.kernel),
            _ if refusal(&error).is_some() => error.into(),
            _ => anyhow!("cannot read {}: {error}", self.kernel),
        })
    }
}

/// Whether this is a folder, and no link to one.
pub fn is_folder(path: &Path) -> bool {
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
pub fn is_as_in(repo: &Repo, path: &Path, file: &Path, found: &Metadata, blob: Oid) -> bool {
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
pub fn content(root: &Root, file: &Path, found: &Metadata) -> io::Result<Vec<u8>> {
    match found.is_symlink() {
        true => Ok(std::fs::read_link(root.path().join(file))?
            .into_os_string()
            .into_vec()),
        false => root.read(file, SIZE_LIMIT),
    }
}

/// Calls `found` for everything below a folder, with its relative path, in the order of the names.
/// Follows no link, and enters the folders for which `found` says so.
pub fn walk(root: &Path, folder: &Path, found: &mut dyn FnMut(&Path, &Metadata) -> bool) {
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
