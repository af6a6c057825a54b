//! The records that a bundle holds, read without fetching them into the repository.

use super::history::walk_tree;
use super::{Bundle, Repo, bounds};
use anyhow::{Context, Result, ensure};
use git2::{Indexer, Odb, Oid, Repository};
use lab_system::root::{Access, Root};
use lab_system::temporary::TemporaryFolder;
use std::io::{self, BufRead, BufReader, Read};

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
    let project = &repo.project;
    project.files().create_dir_all(&project.lab_dir)?;
    let folder = TemporaryFolder::inside(&project.lab_dir)?;
    let packs = folder.path().join("pack");
    Root::new(folder.path()).create_dir_all(&packs)?;
    let own = repo.git.odb()?;
    // A pack may be based on objects that the repository has.
    let mut indexer = Indexer::new(Some(&own), &packs, 0o600, true)?;
    io::copy(&mut pack_of(bundle)?, &mut indexer).context("cannot read the pack")?;
    indexer.commit()?;
    let objects = Odb::new()?;
    let own = repo.git.commondir().join("objects");
    for place in [folder.path(), &own] {
        objects.add_disk_alternate(place.to_str().context("the path is no UTF-8")?)?;
    }
    notes(&Repository::from_odb(objects)?, Oid::from_str(tip)?)
}

/// The bytes behind the header of a bundle.
fn pack_of(bundle: &Bundle) -> Result<impl Read> {
    let (folder, name) = (bundle.path.parent(), bundle.path.file_name());
    let (folder, name) = folder.zip(name).context("it has no name")?;
    let file = Root::new(folder).open(name.as_ref(), Access::Read)?;
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
