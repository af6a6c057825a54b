//! What a turn's command changed besides the kernel: found, and kept in the user's repository.

use super::agent_tree::{AgentTree, content, is_as_in, is_folder, stamp, walk};
use super::commit::{self, CommitFile, mode_on_disk};
use super::history::check_commits;
use super::obstacle::any_signature;
use super::{Repo, StoredCommit, bounds, durable, name_of_head, open_git, refs};
use anyhow::Result;
use git2::{Commit, FileMode, ObjectType, Oid, Repository};
use lab_run::RunId;
use lab_system::special_files;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::Path;

/// Most files other than the kernel that are kept of one turn.
const KEPT_FILES: usize = 10_000;

/// Most commits of the command that are kept of one turn.
const KEPT_COMMITS: usize = 100;

/// Most bytes of the lines about changed files, and of those about commits. They are in the loop's
/// state, and in the message of a commit, which must not become too large to be read.
const LISTED: usize = 64 << 10;

/// What the command changed besides the kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherChanges {
    /// One line each: paths, commits, a branch. The last line counts the lines that are left out.
    pub lines: Vec<String>,
    /// The commit that holds them; `None` where there is nothing to keep.
    pub kept: Option<StoredCommit>,
    /// Bytes of the files that it keeps besides the kernel.
    pub bytes: u64,
}

/// The files that the command changed.
struct Changed {
    lines: Vec<String>,
    files: Vec<CommitFile>,
    /// How many files could not be stored.
    lost: usize,
    /// Bytes that may still be stored.
    room: u64,
}

impl AgentTree {
    /// Keeps what the command changed besides the kernel under `refs/lab/auto/TURN`, and names it;
    /// with the kernel if that is not taken. `most` limits the bytes of the other files. Where git
    /// cannot hold the other files, it keeps the kernel alone and says why.
    pub fn keep_others(
        &self,
        repo: &Repo,
        turn: u64,
        with_kernel: bool,
        most: u64,
    ) -> Result<OtherChanges> {
        let git = &repo.git;
        if !is_folder(self.path()) {
            // A link may lead to any folder of the user's.
            let replaced = "removed or replaced its work tree; nothing of it is kept";
            return Ok(OtherChanges {
                lines: vec![replaced.to_owned()],
                ..OtherChanges::default()
            });
        }
        let base = bounds::commit(git, self.base)?;
        let Changed {
            lines,
            mut files,
            lost,
            room,
        } = self.changed(repo, &base, with_kernel, most);
        let mut found = OtherChanges {
            lines: shortened(lines, lost),
            kept: None,
            bytes: most - room,
        };
        let mut of_git = Vec::new();
        let own = self.own_commits(repo, &mut of_git);
        found.lines.extend(shortened(of_git, 0));
        if found.lines.is_empty() {
            return Ok(found);
        }
        let who = any_signature(git)?;
        let own = own.and_then(|tip| bounds::commit(git, tip).ok());
        let parents: Vec<&Commit> = [Some(&base), own.as_ref()].into_iter().flatten().collect();
        let commit = |files: &[CommitFile], lines: &[String]| {
            let lines = lines.join("\n");
            let message =
                format!("lab auto: what turn {turn} changed besides the kernel\n\n{lines}\n");
            commit::write(repo, &parents, files, [&who, &who], &message)
        };
        let id = match commit(&files, &found.lines) {
            Ok(id) => id,
            Err(why) => {
                found.lines.push(format!("the files are not kept: {why:#}"));
                files.retain(|file| file.name == self.kernel);
                commit(&files, &found.lines)?
            }
        };
        let stored = refs::store(repo, &self.refs, RunId(turn), id, "lab auto")?;
        found.kept = Some(stored);
        Ok(found)
    }

    /// Finds the changed files, and stores their bytes.
    fn changed(&self, repo: &Repo, base: &Commit, with_kernel: bool, most: u64) -> Changed {
        let git = &repo.git;
        let is_taken = |file: &Path| !with_kernel && file == Path::new(&self.kernel);
        // The times of a file say nothing about its bytes.
        let is_in_base = |file: &Path, metadata: &Metadata| {
            let held = bounds::entry(git, base.tree_id(), file).ok().flatten();
            held.is_some_and(|held| {
                is_as_in(repo, self.path(), file, metadata, held.id())
                    && held.filemode() == i32::from(self.mode(file, metadata))
            })
        };
        let mut changed = Changed {
            lines: Vec::new(),
            files: Vec::new(),
            lost: 0,
            room: most,
        };
        let mut seen = BTreeSet::new();
        walk(self.path(), Path::new(""), &mut |file, metadata| {
            if metadata.is_dir() {
                return file.file_name() != Some(OsStr::new(".git"));
            }
            seen.insert(file.to_owned());
            let is_untouched = self.before.get(file) == Some(&Some(stamp(metadata)));
            if is_taken(file) || is_untouched || is_in_base(file, metadata) {
                return false;
            }
            let count = changed.files.len();
            let mut line = format!("changed {}", file.display());
            match self.stored(git, file, metadata, &mut changed.room, count) {
                Ok(kept) => changed.files.push(kept),
                Err(why) => {
                    changed.lost += 1;
                    line = format!("{line} (not kept: {why})");
                }
            }
            changed.lines.push(line);
            false
        });
        for (gone, stamp) in &self.before {
            if stamp.is_none() || gone.starts_with(".git") || seen.contains(gone) || is_taken(gone)
            {
                continue;
            }
            changed.lines.push(format!("removed {}", gone.display()));
            let removed = gone.to_str();
            let removed = removed.map(|name| CommitFile::new(name, None, None, FileMode::Blob));
            changed.files.extend(removed);
        }
        changed
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
        bounds::check_depth(name).map_err(|error| error.to_string())?;
        let content = content(&self.root, file, metadata).map_err(|error| error.to_string())?;
        let mode = self.mode(file, metadata);
        // No byte of a kernel is left out.
        if file != Path::new(&self.kernel) {
            let bytes = content.len() as u64;
            *room = room
                .checked_sub(bytes)
                .ok_or_else(|| format!("{bytes} bytes, and there is room for {room}"))?;
        }
        let stored = || {
            let blob = git.blob(&content)?;
            // git takes no `.git` in a folder, nor what other systems take for it.
            let mut folder = git.treebuilder(None)?;
            for part in name.split('/') {
                folder.insert(part, blob, mode.into())?;
            }
            Ok::<_, git2::Error>(blob)
        };
        let blob = stored().map_err(|error| error.message().to_owned())?;
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
        ObjectType::Commit => {
            let tree = from.find_commit(id).ok()?.tree().ok()?;
            bounds::check(from, &tree).ok()?;
            copy(from, to, tree.id(), copied)?;
        }
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

/// The lines as far as [`LISTED`] bytes of them, and how many there are besides. `lost` of the files
/// are not kept.
fn shortened(mut lines: Vec<String>, lost: usize) -> Vec<String> {
    let mut bytes = 0;
    let fits = |line: &&String| {
        bytes += line.len() + 1;
        bytes <= LISTED
    };
    let shown = lines.iter().take_while(fits).count();
    let (all, more) = (lines.len(), lines.len() - shown);
    if more > 0 {
        lines.truncate(shown);
        lines.push(match lost {
            0 => format!("and {more} more"),
            lost => format!("and {more} more ({lost} of all {all} are not kept)"),
        });
    }
    lines
}
