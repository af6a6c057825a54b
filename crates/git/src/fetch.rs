//! Fetches the commits and records of other people's experiments, from a bundle or from another
//! repository. They get refs of their own under `refs/lab/fetched/`, so that no run of this
//! repository loses its name.

use super::git_program::GitProgram;
use super::history::{refs_matching, walk_tree};
use super::{Notes, Repo, bounds, locks, pack};
use anyhow::{Context, Result, bail, ensure};
use git2::{Indexer, ObjectType, Odb, Oid, Repository};
use lab_system::root::{Access, Root};
use lab_system::temporary::TemporaryFolder;
use lab_system::{listing, space};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The header of a bundle is no longer than this many bytes.
const HEADER_LIMIT: u64 = 16 << 20;

/// Entries of HEAD's tree that are looked at for bundles.
const ENTRIES_LIMIT: usize = 200_000;

/// A git bundle: a file with commits, and refs that name some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    pub path: PathBuf,
    /// Full ids and names of its refs.
    pub refs: Vec<(String, String)>,
}

impl Bundle {
    /// Reads the header of a bundle; `None` if the file is not a bundle.
    pub fn read(path: &Path) -> Option<Bundle> {
        // A pipe in its place is refused, and so is a link.
        let file = Root::around(path).open(path, Access::Read).ok()?;
        let mut lines = BufReader::new(file.take(HEADER_LIMIT)).split(b'\n');
        let first = lines.next()?.ok()?;
        if !first.starts_with(b"# v2 git bundle") && !first.starts_with(b"# v3 git bundle") {
            return None;
        }
        let mut refs = Vec::new();
        for line in lines {
            let line = String::from_utf8(line.ok()?).ok()?;
            match line.split_once(' ') {
                // The pack follows.
                None if line.is_empty() => {
                    return Some(Bundle {
                        path: path.to_owned(),
                        refs,
                    });
                }
                // A commit that the fetching repository must have, or what the bundle asks of git.
                _ if line.starts_with(['-', '@']) => {}
                Some((id, name)) => refs.push((id.to_owned(), name.to_owned())),
                None => return None,
            }
        }
        None
    }

    /// Whether it holds records of experiments, or one of these commits (short ids) under a ref.
    pub fn holds_any(&self, commits: &BTreeSet<&str>) -> bool {
        let is_wanted = |id: &str| {
            let near = commits.range(..=id).next_back();
            near.is_some_and(|short| id.starts_with(*short))
        };
        self.refs
            .iter()
            .any(|(id, name)| name == "refs/notes/lab" || is_wanted(id))
    }
}

/// Files that are beside the experiments of a repository.
const BESIDE: [&str; 4] = ["kernel.cu", "kernel.py", "problem.toml", "lab.toml"];

/// The bundles that git tracks beside a kernel in HEAD and that are on disk, and those in these
/// folders. Others, such as the files of a test, hold no experiments of this repository.
pub fn bundles(repo: &Repo, folders: &[&Path]) -> Vec<Bundle> {
    let mut paths = BTreeSet::new();
    for folder in folders {
        let entries = listing::entries(folder);
        paths.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| is_bundle(path)),
        );
    }
    let tree = super::head_commit(&repo.git)
        .ok()
        .flatten()
        .and_then(|head| bounds::tree_of(&repo.git, &head).ok());
    if let (Some(tree), Some(root)) = (tree, repo.git.workdir()) {
        let (mut seen, mut tracked, mut homes) = (0, Vec::new(), BTreeSet::new());
        // A tree that is too large holds no bundle that somebody could find.
        let _ = walk_tree(&repo.git, &tree, |path, entry| {
            seen += 1;
            let (folder, name) = path.as_str().rsplit_once('/').unwrap_or(("", &path));
            if BESIDE.contains(&name) {
                homes.insert(folder.to_owned());
            }
            if entry.kind() == Some(ObjectType::Blob) && is_bundle(Path::new(name)) {
                tracked.push((folder.to_owned(), root.join(&path)));
            }
            seen <= ENTRIES_LIMIT
        });
        tracked.retain(|(folder, _)| homes.contains(folder));
        paths.extend(tracked.into_iter().map(|(_, path)| path));
    }
    paths.iter().filter_map(|path| Bundle::read(path)).collect()
}

fn is_bundle(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "bundle")
}

/// The names of the remotes that the configuration has.
pub fn remotes(repo: &Repo) -> Vec<String> {
    let names = repo.git.remotes().ok();
    names
        .iter()
        .flatten()
        .filter_map(|name| Some(name.ok()??.to_owned()))
        .collect()
}

/// What a fetch brought.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Fetched {
    /// Records of experiments in the folder.
    pub records: usize,
    /// Refs of commits and bytes in it.
    pub refs: usize,
    /// The folder of refs that it wrote.
    pub folder: String,
}

impl Fetched {
    /// Whether nothing was there to fetch.
    pub fn is_empty(&self) -> bool {
        self.refs + self.records == 0
    }
}

/// Fetches branches, notes and `refs/lab/` from a bundle, a remote or another repository into
/// `refs/lab/fetched/NAME/`, with the git program. No ref outside of that folder changes.
pub fn fetch(repo: &Repo, from: &str, name: &str) -> Result<Fetched> {
    if from.starts_with('-') {
        bail!("'{from}' is neither a bundle nor a remote nor a repository");
    }
    if let Some(bundle) = Bundle::read(Path::new(from)) {
        check_pack(&bundle)?;
    }
    let folder = format!("refs/lab/fetched/{name}");
    let to = |what: &str, place: &str| format!("+refs/{what}*:{folder}/{place}*");
    let refspecs = [
        to("heads/", "heads/"),
        to("notes/lab", "notes/lab"),
        to("lab/", ""),
    ];
    let mut args = vec![
        "-c",
        "fetch.fsckObjects=true",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-prune",
    ];
    args.extend([
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--refmap=",
        "--",
        from,
    ]);
    args.extend(refspecs.iter().map(String::as_str));
    let mut git = GitProgram::of(repo, "fetching needs the git program")?;
    git.is_remote = true;
    let since = locks::now();
    let fetched = git
        .run(&args)
        .or_else(|error| match locks::clear_own_folder(repo, &folder) {
            true => git.run(&args),
            false => Err(error),
        });
    let fetched = fetched.with_context(|| format!("cannot fetch from {from}"));
    fetched.map_err(|error| {
        locks::remove_half_packs(repo, since);
        // git names no reason for some of its files, and a remote may refuse in the words of the
        // system.
        let is_writable = |folder| {
            rustix::fs::access(
                repo.git.commondir().join(folder),
                rustix::fs::Access::WRITE_OK,
            )
            .is_ok()
        };
        match is_writable("refs") && is_writable("objects") {
            true => error,
            false => space::not_allowed(&format!("{error:#}"), "nothing was fetched"),
        }
    })?;
    let fresh = repo.anew()?;
    let refs = refs_matching(&fresh.git, &format!("{folder}/*"))?
        .filter(|(name, _)| !name.ends_with("/notes/lab"))
        .count();
    let records = Notes::in_folder(&fresh, &folder, NOTES).with_context(|| {
        format!("the records that were fetched are not read, and `git update-ref -d {folder}/notes/lab` removes them")
    })?;
    Ok(Fetched {
        records: records.len(),
        refs,
        folder,
    })
}

/// Most bytes of a bundle that is read.
const SIZE_LIMIT: u64 = 256 << 20;

/// Most notes that are read, and most bytes of one.
const NOTES: usize = 100_000;
const NOTE: usize = 1 << 20;

/// The records in a bundle: the full id of a commit, and the text of its note. Empty if the bundle
/// has no notes of lab. Nothing of the bundle stays in the repository.
pub fn records_in(repo: &Repo, bundle: &Bundle) -> Result<Vec<(String, String)>> {
    let Some((tip, _)) = bundle
        .refs
        .iter()
        .find(|(_, name)| name == "refs/notes/lab")
    else {
        return Ok(Vec::new());
    };
    check_pack(bundle)?;
    let project = &repo.project;
    project.files().create_dir_all(&project.lab_dir)?;
    let folder = TemporaryFolder::inside(&project.lab_dir)?;
    let packs = folder.path().join("pack");
    Root::new(folder.path()).create_dir_all(&packs)?;
    let own = repo.git.odb()?;
    // A pack may be based on objects that the repository has. Whether all objects that it names are
    // here is not asked: libgit2 would read the folder of packs anew for each that is not. What the notes need
    // is missed where they are read.
    let mut indexer = Indexer::new(Some(&own), &packs, 0o600, false)?;
    io::copy(&mut pack_of(bundle)?, &mut indexer).context("cannot read the pack")?;
    indexer.commit()?;
    let objects = Odb::new()?;
    let own = repo.git.commondir().join("objects");
    for place in [folder.path(), &own] {
        objects.add_disk_alternate(place.to_str().context("the path is no UTF-8")?)?;
    }
    notes(&Repository::from_odb(objects)?, Oid::from_str(tip)?)
}

/// Refuses a bundle whose objects become too large.
fn check_pack(bundle: &Bundle) -> Result<()> {
    pack::check(pack_of(bundle)?).with_context(|| format!("cannot read {}", bundle.path.display()))
}

/// The bytes behind the header of a bundle.
fn pack_of(bundle: &Bundle) -> Result<impl BufRead + use<>> {
    let file = Root::around(&bundle.path).open(&bundle.path, Access::Read)?;
    ensure!(file.metadata()?.len() <= SIZE_LIMIT, "it is too large");
    let mut rest = BufReader::new(file.take(SIZE_LIMIT));
    let mut line = Vec::new();
    while rest.read_until(b'\n', &mut line)? > 1 {
        line.clear();
    }
    Ok(rest)
}

fn notes(git: &Repository, tip: Oid) -> Result<Vec<(String, String)>> {
    let tree = bounds::tree_of(git, &bounds::commit(git, tip)?)?;
    let mut found = Vec::new();
    walk_tree(git, &tree, |path, entry| {
        let commit = path.replace('/', "");
        if commit.len() == 40
            && let Ok(blob) = bounds::blob(git, entry.id())
            && blob.size() <= NOTE
        {
            found.push((commit, String::from_utf8_lossy(blob.content()).into_owned()));
        }
        found.len() < NOTES
    })?;
    Ok(found)
}
