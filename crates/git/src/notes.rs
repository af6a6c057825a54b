//! The record of an experiment as a git note of its commit, in `refs/notes/lab`.

use super::history::{introduced, refs_matching, walk_tree};
use super::names::first_with;
use super::obstacle::any_signature;
use super::ref_update::write_ref;
use super::{CommitFile, Repo, blob_in, bounds, commit, find, head_commit, locks};
use anyhow::{Result, ensure};
use git2::{Commit, FileMode, ObjectType, Oid, Repository, Tree};
use std::cell::OnceCell;
use std::path::Path;

const NOTES: &str = "refs/notes/lab";

/// The message of a commit of notes.
const NOTED: &str = "Notes added by lab";

/// The notes that were fetched from a bundle or another repository.
const FETCHED: &str = "refs/lab/fetched/*/notes/lab";

/// Hexadecimal digits of an id.
const DIGITS: usize = 40;

/// Above this number of notes the tree has a folder for the first two digits of an id. Without the
/// folders, each note is written with a tree that names every other note.
const FLAT: usize = 128;

/// Attaches a text to a commit, in place of an older one. Does nothing if the commit has this text
/// already.
pub fn note(repo: &Repo, commit: &str, text: &str) -> Result<()> {
    let git = &repo.git;
    let id = find(git, commit)?.id();
    if read(git, NOTES, id).as_deref() == Some(text) {
        return Ok(());
    }
    let who = any_signature(git)?;
    // A ref that a power cut left empty would hide that the repository has notes.
    locks::clear_own_ref(repo, NOTES)?;
    let before = git
        .find_reference(NOTES)
        .ok()
        .map(|tip| bounds::commit_at(git, &tip))
        .transpose()?;
    let tree = before.as_ref().map(|tip| bounds::tree_of(git, tip));
    let tree = tree.transpose()?;
    let mut files = Vec::new();
    let at = tree.map_or_else(
        || id.to_string(),
        |tree| place(&tree, &id.to_string(), &mut files),
    );
    files.push(file(&at, Some(git.blob(text.as_bytes())?)));
    let parents: Vec<&Commit> = before.iter().collect();
    let commit = commit::write(repo, &parents, &files, [&who, &who], NOTED)?;
    let before = before.map(|commit| commit.id());
    write_ref(repo, NOTES, before, commit, &format!("commit: {NOTED}"))
}

fn file(path: &str, blob: Option<Oid>) -> CommitFile {
    CommitFile::new(path, None, blob, FileMode::Blob)
}

/// The path of a note in the tree. Where many notes stand side by side, `moved` moves them into
/// folders: libgit2 finds no note beside a folder with the first digits of its id.
fn place(tree: &Tree, id: &str, moved: &mut Vec<CommitFile>) -> String {
    let in_folder = |id: &str| format!("{}/{}", &id[..2], &id[2..]);
    let in_folders = |id: &str| format!("{}/{}/{}", &id[..2], &id[2..4], &id[4..]);
    let is_there = |path: &String| tree.get_path(Path::new(path)).is_ok();
    let flat: Vec<(String, Oid)> = tree
        .iter()
        .filter(|entry| entry.kind() == Some(ObjectType::Blob))
        .filter_map(|entry| Some((entry.name().ok()?.to_owned(), entry.id())))
        .filter(|(name, _)| name.len() == id.len())
        .collect();
    let has_folders = tree
        .iter()
        .any(|entry| entry.kind() == Some(ObjectType::Tree));
    if !has_folders && flat.len() < FLAT {
        return id.to_owned();
    }
    for (name, blob) in flat {
        moved.push(file(&name, None));
        if name != id {
            moved.push(file(&in_folder(&name), Some(blob)));
        }
    }
    // git makes further folders in a tree of very many notes.
    Some(in_folders(id))
        .filter(is_there)
        .unwrap_or_else(|| in_folder(id))
}

/// The notes of a repository, which may have none: its own, and those that were fetched from
/// others.
pub struct Notes<'r> {
    repo: &'r Repo,
    /// The refs of the notes, the repository's own first. Empty if there are no notes at all.
    refs: Vec<String>,
    /// The commits that have a note, sorted; listed when somebody asks.
    noted: OnceCell<Vec<Oid>>,
}

impl<'r> Notes<'r> {
    /// The notes as they are now.
    pub fn of(repo: &'r Repo) -> Self {
        let has_own = repo.git.find_reference(NOTES).is_ok();
        let mut refs = Vec::from_iter(has_own.then(|| NOTES.to_owned()));
        if repo.has_refs_in(&["refs/lab/fetched/"]) {
            let fetched = refs_matching(&repo.git, FETCHED).into_iter().flatten();
            refs.extend(fetched.map(|(name, _)| name));
        }
        Notes::in_refs(repo, refs)
    }

    fn in_refs(repo: &'r Repo, refs: Vec<String>) -> Self {
        Notes {
            repo,
            refs,
            noted: OnceCell::new(),
        }
    }

    /// The commits that have a note in what was fetched into this folder of refs. Refuses more than
    /// `most`.
    pub(super) fn in_folder(repo: &Repo, folder: &str, most: usize) -> Result<Vec<Oid>> {
        let name = format!("{folder}/notes/lab");
        let noted = match repo.git.find_reference(&name) {
            Ok(_) => listed(&repo.git, &name)?,
            Err(_) => Vec::new(),
        };
        ensure!(
            noted.len() <= most,
            "there are {} records, and lab reads up to {most} of another repository",
            noted.len()
        );
        Ok(noted)
    }

    /// Ids of the commits that hold the notes: as long as they are the same, so are the notes.
    pub fn tip(&self) -> Option<String> {
        let git = &self.repo.git;
        let tips = self
            .refs
            .iter()
            .filter_map(|name| Some(git.refname_to_id(name).ok()?.to_string()));
        let tips: Vec<String> = tips.collect();
        (!tips.is_empty()).then(|| tips.join(" "))
    }

    /// The note of a commit, if it has one.
    pub fn note(&self, commit: &str) -> Option<String> {
        self.read(find(&self.repo.git, commit).ok()?.id())
    }

    /// The note of the commit with this short id, for callers that ask for many. The first call
    /// lists all notes.
    pub fn note_of_row(&self, short: &str) -> Option<String> {
        let noted = self.noted.get_or_init(|| self.list());
        self.read(noted[first_with(noted, short)?])
    }

    fn read(&self, commit: Oid) -> Option<String> {
        let mut refs = self.refs.iter();
        refs.find_map(|name| read(&self.repo.git, name, commit))
    }

    fn list(&self) -> Vec<Oid> {
        let lists = self
            .refs
            .iter()
            .flat_map(|name| listed(&self.repo.git, name));
        let mut noted: Vec<Oid> = lists.flatten().collect();
        noted.sort_unstable();
        noted.dedup();
        noted
    }
}

/// The commits that have a note in this ref. Refuses notes that are too many.
fn listed(git: &Repository, name: &str) -> Result<Vec<Oid>> {
    let tree = bounds::tree_at(git, &git.find_reference(name)?)?;
    let mut noted = Vec::new();
    walk_tree(git, &tree, |path, entry| {
        let digits = path.replace('/', "");
        let is_note = entry.kind() == Some(ObjectType::Blob) && digits.len() == DIGITS;
        noted.extend(is_note.then(|| Oid::from_str(&digits).ok()).flatten());
        true
    })?;
    Ok(noted)
}

/// The note of a commit in this ref, at its id with as many folders of two digits as there are.
fn read(git: &Repository, name: &str, commit: Oid) -> Option<String> {
    let mut tree = bounds::tree_at(git, &git.find_reference(name).ok()?).ok()?;
    let id = commit.to_string();
    let mut rest = id.as_str();
    loop {
        if let Some(note) = tree.get_name(rest) {
            let blob = bounds::blob(git, note.id()).ok()?;
            return String::from_utf8(blob.content().to_vec()).ok();
        }
        let folder = tree.get_name(rest.get(..2)?)?.id();
        (tree, rest) = (bounds::tree(git, folder).ok()?, &rest[2..]);
    }
}

/// The note of the commit that brought the incumbent.
pub fn incumbent_note(repo: &Repo) -> Option<String> {
    Notes::in_refs(repo, vec![NOTES.to_owned()]).read(incumbent_commit(repo)?)
}

/// The commit that brought the incumbent. `None` if HEAD does not hold the kernel.
pub fn incumbent_commit(repo: &Repo) -> Option<Oid> {
    let head = head_commit(&repo.git).ok()??;
    let name = &repo.project.kernel_name;
    let (blob, _) = blob_in(&repo.git, &head, name)?;
    Some(introduced(&repo.git, head, name, blob))
}
