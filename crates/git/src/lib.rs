//! The git repository. Only this module calls libgit2 and the git program.
//!
//! The bytes of a file on disk may differ from the bytes that git holds: `core.autocrlf` and
//! `.gitattributes` change line endings. The bytes on disk are built and hashed; the bytes that git
//! holds are committed and compared with HEAD. The module `filters` turns one into the other.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod agent_tree;
mod apply_patch;
mod bounds;
mod branch;
mod checkout;
mod clean;
mod commit;
mod details;
mod durable;
mod environment;
mod exact;
mod exclude;
mod fetch;
mod filters;
mod folder_programs;
mod git_program;
mod graph;
mod head;
mod history;
mod hooked_commit;
mod incumbent;
mod index;
mod locks;
mod log;
mod names;
mod notes;
mod obstacle;
mod own_commits;
mod pack;
mod patterns;
mod ref_folder;
mod ref_update;
mod refs;
mod renames;
mod switch;
mod text_diff;
mod told;
mod tracked_files;
mod tree_update;
mod turn_changes;
mod uncommit;
mod verify_write;

pub use agent_tree::AgentTree;
pub use apply_patch::{Patched, apply_patch};
pub use branch::{Move, Moved, move_branch};
pub use checkout::{bytes_of, checkout_kernel, link_target, staged};
pub use clean::{
    Cleaned, ObjectFiles, clean, has_many_loose_objects, has_many_loose_refs, loose_refs,
    object_files, pack_refs,
};
pub use commit::{ChangedFile, CommitFile, ToCommit, detached_note, prepare_kernel, prepare_rules};
pub use details::{ChangeKind, CommitDetails, FileChange, commit_details};
pub use exact::remember_bytes;
pub use exclude::{exclude, ignores, tracked};
pub use fetch::{Bundle, Fetched, bundles, fetch, records_in, remotes};
pub use folder_programs::{fetch_programs, folder_programs};
pub use graph::{Graph, GraphEntry, Label, LabelKind, Lanes, Place};
pub use head::{head_fault, head_fault_at};
pub use history::{Since, since};
pub use hooked_commit::{ByProgram, commit_by_program};
pub use incumbent::{HeldFile, IncumbentBytes, incumbent_bytes, incumbent_files, write_incumbent};
pub use index::stage;
pub use locks::{lock_index, remove_leftovers, remove_own_locks, unlock_index};
pub use log::{LogEntry, Marks, change, log_page, parse_message, show, trailers_of, typed_message};
pub use names::{NamedCommit, Present, commits_named, resolve, unknown};
pub use notes::{Notes, incumbent_commit, incumbent_note, note};
pub use obstacle::{Obstacle, Operation, author_name, obstacle};
pub use own_commits::OwnCommits;
pub use refs::{
    StoredCommit, is_stored, name_commit, name_left, name_turn, prepare_discarded, save,
    stored_kernel, undone_ref, unname_commit,
};
pub use renames::{is_moved, kernel_of_commit, renamed_to};
pub use switch::{Switched, is_clean, lane_tree, switch_to_branch};
pub use text_diff::text_diff;
pub use told::told;
pub use tracked_files::{TrackedFiles, tracked_files};
pub use turn_changes::OtherChanges;
pub use uncommit::{built_on, leads_to_head, uncommit};

use anyhow::{Result, anyhow};
use filters::PathFilters;
use git2::{Oid, Repository};
use head::{head_commit, name_of_head};
use lab_project::{Project, cannot_open, trust};
use lab_run::inputs;
use lab_system::special_files;
use names::find;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

/// Where HEAD is, and what git is in the middle of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Name of the branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Full id; `None` on an unborn branch.
    pub commit: Option<String>,
    /// The merge, rebase, … that is in progress.
    pub operation: Option<Operation>,
}

impl Head {
    /// `exp/rmsnorm @ a1b2c3d`.
    pub fn label(&self) -> String {
        let place = self.branch.as_deref().unwrap_or("detached HEAD");
        match &self.commit {
            Some(id) => format!("{place} @ {}", short(id)),
            None => format!("{place} (no commit yet)"),
        }
    }
}

/// The first seven hex digits of an id.
pub fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// An open repository, and the project that it was opened for. A command opens it once, a worker
/// once for each request, and every function below takes it.
///
/// libgit2 reads the configuration when a repository is opened, and keeps it. So a worker that
/// waits between two requests opens it anew.
pub struct Repo {
    git: Repository,
    /// The user's index is split or sparse: see [`index`].
    index_by_git: bool,
    /// What was asked about paths: see [`filters`].
    filters: RefCell<HashMap<String, PathFilters>>,
    /// The project that the repository was opened for.
    pub project: Project,
}

/// Files that git reads in the root of the work tree and in each folder down to the kernel.
const OF_FOLDERS: [&str; 2] = [".gitattributes", ".gitignore"];

impl Repo {
    /// Opens the repository of a project. The error names its folder. Refuses a repository in which
    /// a pipe, a socket or a device stands in place of a file that git reads: opening a pipe waits
    /// for a writer that never comes. In a folder that is not trusted, also one that would be written
    /// through a link.
    pub fn open(project: &Project) -> Result<Repo> {
        special_files::refuse_in_repository(&project.root, |_| true)?;
        if !trust::is_granted(project) {
            special_files::refuse_links_out(&project.root)?;
        }
        let folders = Path::new(&project.kernel_name).ancestors().skip(1);
        for file in folders.flat_map(|folder| OF_FOLDERS.map(|name| folder.join(name))) {
            special_files::refuse(&project.root, &project.root.join(file))?;
        }
        Repo::at(&project.root, project)
    }

    /// The same repository opened anew: it remembers no object and no ref, so what it reads is on
    /// disk.
    fn anew(&self) -> Result<Repo> {
        Repo::at(self.git.path(), &self.project)
    }

    /// Opens a repository at its work tree or its `.git` folder.
    fn at(path: &Path, project: &Project) -> Result<Repo> {
        let git = open_git(path)?;
        Ok(Repo {
            index_by_git: index::replace_unreadable(&git)?,
            git,
            filters: RefCell::default(),
            project: project.clone(),
        })
    }

    /// The same repository, for another kernel of it.
    #[must_use]
    pub fn for_kernel(self, kernel: &str) -> Repo {
        Repo {
            project: self.project.with_kernel(kernel),
            ..self
        }
    }
}

/// Opens a repository at its work tree or its `.git` folder, with the settings of the environment.
fn open_git(path: &Path) -> Result<Repository> {
    let git = Repository::open(path).map_err(|error| anyhow!("{}", cannot_open(path, &error)))?;
    environment::apply(&git)?;
    Ok(git)
}

/// The main work tree, if the repository's own is a linked one (`git worktree add`).
pub fn main_tree(repo: &Repo) -> Option<&Path> {
    let common = repo.git.commondir();
    let is_linked = repo.git.is_worktree() && common.ends_with(".git");
    common.parent().filter(|_| is_linked)
}

/// Where HEAD is, and the operation that is in progress.
pub fn head(repo: &Repo) -> Result<Head> {
    let branch = head_ref(repo).ok().filter(|name| name != "HEAD");
    Ok(Head {
        branch: branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()),
        commit: head_commit(&repo.git)?.map(|commit| commit.id().to_string()),
        operation: obstacle::operation(&repo.git),
    })
}

/// The ref that a commit moves: that of the branch, or `HEAD` if it is detached.
pub fn head_ref(repo: &Repo) -> Result<String> {
    name_of_head(&repo.git)
}

/// Blob id and mode of a path in a commit; `None` if it holds no file there. The error is of an
/// object that git cannot read.
fn file_in(git: &Repository, commit: &git2::Commit, path: &str) -> Result<Option<(Oid, i32)>> {
    let entry = bounds::entry(git, commit.tree_id(), Path::new(path))?;
    let file = entry.filter(|entry| entry.kind() == Some(git2::ObjectType::Blob));
    Ok(file.map(|entry| (entry.id(), entry.filemode())))
}

/// [`file_in`] for a walk through the history, which looks at many commits and passes over what git
/// cannot read.
fn blob_in(git: &Repository, commit: &git2::Commit, path: &str) -> Option<(Oid, i32)> {
    file_in(git, commit, path).ok().flatten()
}

/// Blob id and mode of a file in HEAD; `None` if HEAD holds no file there.
fn blob_in_head(repo: &Repo, path: &str) -> Result<Option<(Oid, i32)>> {
    let Some(commit) = head_commit(&repo.git)? else {
        return Ok(None);
    };
    file_in(&repo.git, &commit, path)
}

/// Git blob id of the kernel in HEAD: the incumbent.
pub fn incumbent(repo: &Repo) -> Result<Option<String>> {
    let held = blob_in_head(repo, &repo.project.kernel_name)?;
    Ok(held.map(|(id, _)| id.to_string()))
}

/// The id under which git would hold these bytes of a repository-relative path.
pub fn blob_id(repo: &Repo, name: &str, bytes: &[u8]) -> Result<String> {
    Ok(filters::id(repo, name, bytes)?.to_string())
}

/// Whether HEAD holds these bytes at this path.
pub fn in_head(repo: &Repo, name: &str, bytes: Option<&[u8]>) -> Result<bool> {
    let present = bytes.map(|b| filters::id(repo, name, b)).transpose()?;
    Ok(blob_in_head(repo, name)?.map(|(id, _)| id) == present)
}

/// Full id of HEAD's commit, that of its first parent, and its subject; `None` on an unborn branch.
pub fn head_with_parent(repo: &Repo) -> Result<Option<(String, Option<String>, String)>> {
    Ok(head_commit(&repo.git)?.map(|head| {
        let parent = head.parent_id(0).ok().map(|id| id.to_string());
        (head.id().to_string(), parent, log::subject(&head))
    }))
}

/// Full id of HEAD's commit; `None` on an unborn branch.
pub fn head_commit_id(repo: &Repo) -> Option<String> {
    repo.git.head().ok()?.target().map(|id| id.to_string())
}

/// Full ids of HEAD's commit, its first parent, the first parent of that, …, at most `most`.
pub fn first_parents_of_head(repo: &Repo, most: usize) -> Result<Vec<String>> {
    let head = head_commit(&repo.git)?.into_iter();
    let commits = head.flat_map(|head| history::first_parents(&repo.git, head));
    Ok(commits.take(most).map(|it| it.id().to_string()).collect())
}

/// Whether HEAD holds a file at this path.
pub fn head_holds(repo: &Repo, path: &str) -> bool {
    blob_in_head(repo, path).is_ok_and(|held| held.is_some())
}

/// The path of the file that a path of HEAD means: that behind a link, or the path itself. Both are
/// repository-relative. A link that leads out of the repository, or in a circle, stays itself.
pub fn behind_links(repo: &Repo, name: &str) -> Result<String> {
    const LINKS: usize = 16;
    let mut path = name.to_owned();
    for _ in 0..LINKS {
        let Some((id, mode)) = blob_in_head(repo, &path)? else {
            break;
        };
        if mode != i32::from(git2::FileMode::Link) {
            return Ok(path);
        }
        let target = String::from_utf8_lossy(bounds::blob(&repo.git, id)?.content()).into_owned();
        let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
        // Below a folder that no path leaves: what would leave it is not below any more.
        let next = inputs::plain(&Path::new("/").join(folder).join(target));
        match next.strip_prefix("/").ok().and_then(Path::to_str) {
            Some(next) => path = next.to_owned(),
            None => break,
        }
    }
    Ok(match blob_in_head(repo, &path)? {
        Some(_) => path,
        None => name.to_owned(),
    })
}

/// The bytes that HEAD holds at this path, as git holds them; `None` if it holds no file there.
pub fn bytes_in_head(repo: &Repo, name: &str) -> Result<Option<Vec<u8>>> {
    let held = blob_in_head(repo, name)?;
    let blob = held
        .map(|(id, _)| bounds::blob(&repo.git, id))
        .transpose()?;
    Ok(blob.map(|blob| blob.content().to_vec()))
}

/// Why a shallow clone cannot read a commit that it lacks; `None` for a commit that is here, and in
/// any other clone.
pub fn cut_off(repo: &Repo, commit: &str) -> Option<String> {
    let git = Some(&repo.git).filter(|git| git.is_shallow())?;
    find(git, commit).err().map(|error| error.to_string())
}

/// Blob id and bytes of a path in a commit, as git holds them; `None` if it holds no file there. The
/// error says that the commit is not here.
pub fn bytes_at(repo: &Repo, commit: &str, path: &str) -> Result<Option<(String, Vec<u8>)>> {
    let held = file_in(&repo.git, &find(&repo.git, commit)?, path)?;
    let bytes = |(id, _): (Oid, i32)| {
        let blob = bounds::blob(&repo.git, id)?;
        Ok((id.to_string(), blob.content().to_vec()))
    };
    held.map(bytes).transpose()
}

/// The names of the files in a folder of HEAD; the folder is repository-relative, empty for the
/// root.
pub fn names_in_head(repo: &Repo, folder: &Path) -> Result<Vec<String>> {
    let Some(commit) = head_commit(&repo.git)? else {
        return Ok(Vec::new());
    };
    let tree = match folder.as_os_str().is_empty() {
        true => commit.tree_id(),
        false => match bounds::entry(&repo.git, commit.tree_id(), folder)? {
            Some(entry) if entry.kind() == Some(git2::ObjectType::Tree) => entry.id(),
            _ => return Ok(Vec::new()),
        },
    };
    let tree = bounds::tree(&repo.git, tree)?;
    Ok(tree
        .iter()
        .filter(|entry| entry.kind() == Some(git2::ObjectType::Blob))
        .map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned())
        .collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn a_repository_that_is_opened_anew_knows_what_changed() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        fs::write(temp.path().join("kernel.cu"), "// kept\n").unwrap();
        fs::write(temp.path().join("problem.toml"), "# none\n").unwrap();
        let project = Project::open(temp.path(), None).unwrap();
        let of_git = |bytes: &[u8]| {
            Oid::hash_object(git2::ObjectType::Blob, bytes)
                .unwrap()
                .to_string()
        };
        let id = || blob_id(&Repo::open(&project).unwrap(), "kernel.cu", b"a\r\n").unwrap();

        assert_eq!(id(), of_git(b"a\r\n"));
        fs::write(temp.path().join(".gitattributes"), "*.cu text\n").unwrap();
        assert_eq!(id(), of_git(b"a\n"));
        fs::remove_file(temp.path().join(".gitattributes")).unwrap();
        assert_eq!(id(), of_git(b"a\r\n"));
        git.config()
            .unwrap()
            .set_str("core.autocrlf", "input")
            .unwrap();
        assert_eq!(id(), of_git(b"a\n"));

        fs::remove_dir_all(temp.path().join(".git")).unwrap();
        assert!(Repo::open(&project).is_err(), "the repository is gone");
    }
}
