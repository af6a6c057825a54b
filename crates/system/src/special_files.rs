//! Pipes, sockets, devices and files without end in place of those that git reads, and links in place
//! of those that it writes. An archive may hold one, and whoever opens a pipe waits for the other end,
//! which never comes. libgit2 opens such files without a look, so this comes before it.

mod named;

use crate::listing::{self, Entry};
use crate::root::read_anywhere;
use anyhow::{Result, bail};
use named::LARGEST;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of git's own folder whose files git opens by name.
const FOLDERS: [&str; 3] = ["info", "refs", "logs"];

/// The folder of git's objects. The loose ones are in 256 folders, which are listed; no file is
/// looked at. That takes one to three milliseconds.
const OBJECTS: &str = "objects";

/// Most folders within each other: a link may lead back to a folder above it.
const DEEPEST: usize = 32;

/// Most bytes of a `.git` file, and of a `commondir` file.
const POINTER_LIMIT: u64 = 64 << 10;

/// Refuses the repository that `from` lies in, if git would wait for one of its files. Without a
/// repository there is nothing to refuse. In a folder that `is_trusted` the objects are left out:
/// each command would list their folders again, and what is trusted may stop the lab in other ways
/// too.
pub fn refuse_in_repository(from: &Path, is_trusted: impl Fn(&Path) -> bool) -> Result<()> {
    let Some(root) = from
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
    else {
        return Ok(());
    };
    let looked_at = FOLDERS
        .into_iter()
        .chain((!is_trusted(root)).then_some(OBJECTS));
    let looked_at: Vec<&str> = looked_at.collect();
    let folders = git_folders(&root.join(".git"));
    let found = folders
        .iter()
        .find_map(|folder| in_git_folder(folder, &looked_at));
    refuse(root, &found.unwrap_or_else(|| root.join(".git")))?;
    refuse_read_whole(root, &folders)
}

/// Files of git's own folder that are read whole, beside those in `info`.
const READ_WHOLE: [&str; 4] = ["config", "config.worktree", "HEAD", "shallow"];

/// Refuses files that git reads whole, and those that its configuration names, if they are pipes,
/// devices or too large.
fn refuse_read_whole(root: &Path, folders: &[PathBuf]) -> Result<()> {
    let own = folders
        .iter()
        .flat_map(|folder| READ_WHOLE.map(|name| folder.join(name)));
    let lists = folders
        .iter()
        .flat_map(|folder| listing::entries(folder.join("info")))
        .map(|entry| entry.path());
    let refuse_large = |file: &PathBuf| match fs::metadata(file).map_or(0, |about| about.len()) {
        bytes if bytes > LARGEST => bail!(
            "{} has {bytes} bytes, and git would read them all: at most {LARGEST} are read",
            file.strip_prefix(root).unwrap_or(file).display()
        ),
        _ => Ok(()),
    };
    own.chain(lists).try_for_each(|file| refuse_large(&file))?;
    let configurations = folders
        .iter()
        .flat_map(|folder| READ_WHOLE[..2].iter().map(move |name| folder.join(name)));
    for file in named::files(root, configurations)? {
        // Its end comes at once.
        if file.canonicalize().is_ok_and(|it| it == Path::new(NOTHING)) {
            continue;
        }
        refuse(root, &file)?;
        refuse_large(&file)?;
    }
    Ok(())
}

/// A file without content.
const NOTHING: &str = "/dev/null";

/// Files of git's own folder that are written through a link: libgit2 follows it.
const FILES: [&str; 3] = ["HEAD", "index", "packed-refs"];

/// Refuses a repository that would be written through a link which leads out of git's own folder.
/// An archive may hold one.
pub fn refuse_links_out(root: &Path) -> Result<()> {
    if let Some(link) = link_out(root) {
        bail!(
            "{} leads out of git's folder, and git would write there: put what it leads to in its place, or `lab trust` if \
             you made it",
            link.strip_prefix(root).unwrap_or(&link).display()
        );
    }
    Ok(())
}

/// A link that leads out of git's own folder, and that git would write through.
pub fn link_out(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let in_folder = |folder: &PathBuf| {
        let named = FOLDERS.into_iter().chain(FILES).chain([OBJECTS]);
        let named = named.map(|name| folder.join(name));
        let of_objects = listing::entries(folder.join(OBJECTS)).map(|entry| entry.path());
        let mut written = named.chain(of_objects);
        let is_link = |entry: &Entry| leads_out(&entry.path(), folder);
        let deeper = |name| below(&folder.join(name), DEEPEST, &is_link);
        written
            .find(|path| leads_out(path, folder))
            .or_else(|| FOLDERS.into_iter().find_map(deeper))
    };
    let itself = leads_out(&dot_git, root).then(|| dot_git.clone());
    let folders = git_folders(&dot_git);
    let shares = || shares_elsewhere(&folders);
    itself
        .or_else(shares)
        .or_else(|| folders.iter().find_map(in_folder))
}

/// The file `commondir` of a git folder that is none of the further work trees of the repository which
/// the file names: git would write there.
fn shares_elsewhere(folders: &[PathBuf]) -> Option<PathBuf> {
    let [own, shared] = folders else {
        return None;
    };
    let work_trees = shared.canonicalize().ok().map(|it| it.join("worktrees"));
    let is_of_it = own.canonicalize().ok()?.parent() == work_trees.as_deref();
    (!is_of_it).then(|| own.join("commondir"))
}

/// Whether a path is a link to a place that is not below the folder, or to none.
fn leads_out(path: &Path, folder: &Path) -> bool {
    let is_inside = |to: PathBuf| folder.canonicalize().is_ok_and(|home| to.starts_with(home));
    path.is_symlink() && !path.canonicalize().is_ok_and(is_inside)
}

/// Refuses a path below `root` at which there is neither a file nor a folder.
pub fn refuse(root: &Path, path: &Path) -> Result<()> {
    if is_special(path) {
        bail!(
            "{} is a pipe or a device, and git would wait for what it says: remove it",
            path.strip_prefix(root).unwrap_or(path).display()
        );
    }
    Ok(())
}

/// Whether there is something that is neither a file nor a folder. A link counts as what it leads
/// to.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Git's own folder and, of a further work tree, the folder that it shares with the others.
fn git_folders(dot_git: &Path) -> Vec<PathBuf> {
    let pointed = |file: &Path, prefix: &str| {
        let is_file = fs::metadata(file).is_ok_and(|about| about.is_file());
        let text = is_file
            .then(|| read_anywhere(file, POINTER_LIMIT).ok())
            .flatten()?;
        let text = String::from_utf8(text).ok()?;
        Some(file.parent()?.join(text.strip_prefix(prefix)?.trim_end()))
    };
    let own = if dot_git.is_dir() {
        Some(dot_git.to_owned())
    } else {
        pointed(dot_git, "gitdir: ")
    };
    let shared = own
        .as_ref()
        .and_then(|own| pointed(&own.join("commondir"), ""));
    own.into_iter().chain(shared).collect()
}

fn in_git_folder(folder: &Path, below_it: &[&str]) -> Option<PathBuf> {
    let own = listing::entries(folder)
        .find(special)
        .map(|entry| entry.path());
    own.or_else(|| {
        below_it
            .iter()
            .find_map(|name| below(&folder.join(name), DEEPEST, &special))
    })
}

/// The first path below a folder that is neither a file nor a folder and that is `wanted`.
fn below(folder: &Path, depth: usize, wanted: &dyn Fn(&Entry) -> bool) -> Option<PathBuf> {
    listing::entries(folder).find_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_file() => None,
        Ok(kind) if kind.is_dir() && depth > 0 => below(&entry.path(), depth - 1, wanted),
        _ => wanted(&entry).then(|| entry.path()),
    })
}

fn special(entry: &Entry) -> bool {
    let is_usual = entry
        .file_type()
        .is_ok_and(|kind| kind.is_file() || kind.is_dir());
    !is_usual && is_special(&entry.path())
}
