//! Finds the git work tree that a folder lies in, and says why a repository cannot be opened.
//! Everything else that calls git is in [`lab_git`], which needs a project first.

use super::{LAB_DIR, trust_mark};
use anyhow::{Context, Result, bail};
use git2::{ErrorClass, ErrorCode, Repository};
use lab_system::failure::Failure;
use lab_system::root::Root;
use lab_system::special_files;
use lab_text::sanitise;
use lab_text::shell::quote;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most bytes of a `.git` file.
const POINTER_LIMIT: u64 = 64 << 10;

/// Returns the canonical path of the work tree that `from` lies in. The error says what to do:
/// there is no repository, another user owns it, it is bare, or its `.lab` is not the lab's own.
pub fn work_tree(from: &Path) -> Result<PathBuf> {
    special_files::refuse_in_repository(from, trust_mark::is_granted_before_opening)?;
    let repo = match Repository::discover(from) {
        Ok(repo) => repo,
        Err(_) if let Some(why) = wrong_pointer(from) => bail!("{why}"),
        Err(error) if error.code() == ErrorCode::NotFound && is_repository(from) => bail!(
            "the work tree that core.worktree in {} names is not there: name the right one, or take the line out with \
             `git config --unset core.worktree`",
            owned_root(from).join(".git/config").display()
        ),
        Err(error) if error.code() == ErrorCode::NotFound => bail!(
            "no git repository at {} or above: experiments are kept as commits. Make one with `git init`",
            from.display()
        ),
        Err(error) if error.code() == ErrorCode::Owner => {
            let root = owned_root(from);
            bail!(
                "the git repository at {} belongs to another user. If you trust it: `git config --global --add \
                 safe.directory {}`",
                root.display(),
                quote(&root.to_string_lossy())
            )
        }
        Err(error) => bail!("{}", cannot_open(from, &error)),
    };
    let root = repo.workdir().with_context(|| {
        format!(
            "{} is a bare repository: experiments need a work tree (`git clone` it)",
            repo.path().display()
        )
    })?;
    let root = match root.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound && repo.is_worktree() => bail!(
            "the work tree {} is not there: if it was moved to {}, `git worktree repair` in that folder tells git so",
            root.display(),
            owned_root(from).display()
        ),
        found => found.cannot("find", root)?,
    };
    let is_outside = from
        .canonicalize()
        .is_ok_and(|from| !from.starts_with(&root));
    let is_named = || repo.config()?.get_entry("core.worktree").map(drop);
    if is_outside && is_named().is_ok() {
        bail!(
            "{} lies outside of {}, the work tree that core.worktree in {} names: name the right one, or take the line out \
             with `git config --unset core.worktree`",
            from.display(),
            root.display(),
            repo.path().join("config").display()
        );
    }
    refuse_foreign_folder(&repo, &root)?;
    Ok(root)
}

/// The folder that git's `safe.directory` must name for `from`: the root of the work tree, found
/// without opening the repository.
fn owned_root(from: &Path) -> PathBuf {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    let root = from
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok());
    root.unwrap_or(&from).to_owned()
}

/// Whether git's folder is where it is looked for.
fn is_repository(from: &Path) -> bool {
    owned_root(from)
        .join(".git/HEAD")
        .symlink_metadata()
        .is_ok()
}

/// What is wrong with the `.git` file of a further work tree or of a submodule, which names git's
/// folder elsewhere; `None` if nothing is, or if `.git` is no file.
fn wrong_pointer(from: &Path) -> Option<String> {
    let root = owned_root(from);
    let file = root.join(".git");
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = Root::new(&root).read_text(".git".as_ref(), POINTER_LIMIT);
    let shown = file.display();
    let Some(named) = text.ok().and_then(|text| {
        let named = text.strip_prefix("gitdir:")?.trim();
        Some(root.join(named)).filter(|_| !named.is_empty())
    }) else {
        return Some(format!(
            "{shown} is a file that names no folder of git: clone the repository anew, or move the file away"
        ));
    };
    if named.join("HEAD").symlink_metadata().is_ok() {
        return None;
    }
    Some(format!(
        "{shown} names {}, which is no folder of git: if the main work tree was moved, `git worktree repair {}` there, \
         or `git submodule update --init` for a submodule",
        sanitise::text(&named.to_string_lossy()),
        quote(&root.to_string_lossy())
    ))
}

/// Whether two folders are the roots of work trees of one repository.
pub(super) fn share_repository(one: &Path, other: &Path) -> bool {
    let common = |root: &Path| {
        let repo = Repository::open(root).ok()?;
        let is_root = repo.workdir()?.canonicalize().ok()? == root.canonicalize().ok()?;
        is_root
            .then(|| repo.commondir().canonicalize().ok())
            .flatten()
    };
    common(one).is_some_and(|one| common(other) == Some(one))
}

/// Whether HEAD's commit holds something at this path, relative to the work tree. False where git
/// cannot say: every command that needs git reports that itself.
pub(super) fn head_holds(root: &Path, path: &Path) -> bool {
    let tree = Repository::open(root).and_then(|repo| {
        repo.head()?
            .peel_to_tree()
            .map(|tree| tree.get_path(path).is_ok())
    });
    tree.unwrap_or(false)
}

/// Refuses a `.lab` that is a link, or whose files came with the repository: the lab would read and
/// write them as its own.
fn refuse_foreign_folder(repo: &Repository, root: &Path) -> Result<()> {
    let folder = root.join(LAB_DIR);
    match folder.symlink_metadata() {
        Ok(about) if about.is_symlink() => bail!(
            "{} is a link, and lab keeps its runs in no folder that a link names: remove it (`rm {}`)",
            folder.display(),
            quote(&folder.to_string_lossy())
        ),
        Ok(about) if !about.is_dir() => {
            bail!(
                "{} is no folder, and lab keeps its runs in a folder of that name: move it away",
                folder.display()
            )
        }
        _ => {}
    }
    // An index that cannot be read is reported by the commands that need it.
    let Ok(index) = repo.index() else {
        return Ok(());
    };
    let tracked = |path: &[u8]| {
        path.strip_prefix(LAB_DIR.as_bytes())
            .is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
    };
    let first = index
        .find_prefix(LAB_DIR)
        .ok()
        .into_iter()
        .flat_map(|at| (at..index.len()).map_while(|at| index.get(at)));
    let mut first = first
        .take_while(|entry| entry.path.starts_with(LAB_DIR.as_bytes()))
        .filter(|entry| tracked(&entry.path));
    if let Some(entry) = first.next() {
        bail!(
            "git tracks files in {LAB_DIR} ({}), where lab keeps its own runs: what came with a repository is not believed. \
             Take them out of git (`git rm -r --cached {LAB_DIR}`), and remove the folder too if it is not yours",
            sanitise::text(&String::from_utf8_lossy(&entry.path))
        );
    }
    Ok(())
}

/// Why libgit2 cannot open the repository at `path`, and what to do. It knows neither sha256 nor
/// reftable, and refuses a repository whose configuration names an extension that it does not know.
pub fn cannot_open(path: &Path, error: &git2::Error) -> String {
    let at = format!("the git repository at {}", path.display());
    let message = error.message();
    if message.starts_with("unknown object format") {
        return format!(
            "{at} names its objects by another hash than sha1 (extensions.objectFormat), which lab cannot read. Copy \
             its history into a new one: `git init --object-format=sha1 NEW && git fast-export --all | git -C NEW \
             fast-import && git -C NEW checkout BRANCH`"
        );
    }
    match message.strip_prefix("unsupported extension name extensions.") {
        Some("refstorage") => format!(
            "{at} keeps its refs in another format than files (extensions.refStorage, reftable), which lab cannot \
             read: `git refs migrate --ref-format=files` (git 2.48 or newer), or clone it anew: `git clone \
             --ref-format=files OLD NEW`"
        ),
        Some("partialclone") => format!(
            "{at} is a partial clone (extensions.partialClone), which lab cannot read: clone it anew without `--filter`"
        ),
        Some(extension) => format!(
            "{at} uses the extension extensions.{extension} of git, which lab cannot read: clone it anew without that \
             extension"
        ),
        None if error.class() == ErrorClass::Config => format!(
            "cannot open {at}: git's configuration is damaged ({message}): `git config --list --show-origin` names the \
             file and the line"
        ),
        None => format!("cannot open {at}: {message}"),
    }
}
