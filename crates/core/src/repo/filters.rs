//! Turns bytes on disk into the bytes that git holds, and back: line endings and `.gitattributes`.

use super::Project;
use anyhow::{Context, Result, bail};
use git2::{AttrCheckFlags, Blob, Oid, Repository, build::CheckoutBuilder};
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use std::io::{self, Write};
use std::path::Path;

/// Stores bytes as `git add` would. Returns their id.
pub fn store(repo: &Repository, name: &str, bytes: &[u8]) -> Result<Oid> {
    refuse_drivers(repo, name)?;
    let mut writer = repo.blob_writer(Some(Path::new(name)))?;
    writer.write_all(bytes).context("cannot write a git object")?;
    Ok(writer.commit()?)
}

/// The id that [`store`] would return. It stores the bytes only if a filter might change them.
pub fn id(repo: &Repository, name: &str, bytes: &[u8]) -> Result<Oid> {
    if bytes.contains(&b'\r') || attribute(repo, name, "ident") {
        store(repo, name, bytes)
    } else {
        refuse_drivers(repo, name)?;
        Ok(Oid::hash_object(git2::ObjectType::Blob, bytes)?)
    }
}

/// The bytes that `git checkout` would put on disk for a file of a commit.
pub fn on_disk(repo: &Repository, project: &Project, commit: &git2::Commit, name: &str) -> Result<Vec<u8>> {
    refuse_drivers(repo, name)?;
    project
        .files()
        .create_dir_all(&project.lab_dir)
        .with_context(|| format!("cannot make {}", project.lab_dir.display()))?;
    let folder = TemporaryFolder::inside(&project.lab_dir)
        .with_context(|| format!("cannot write into {}", project.lab_dir.display()))?;
    let mut how = CheckoutBuilder::new();
    how.target_dir(folder.path()).path(name).disable_pathspec_match(true);
    // Neither reads the user's index anew nor writes it.
    how.refresh(false).update_index(false).force();
    repo.checkout_tree(commit.as_object(), Some(&mut how))?;
    // What a link of the commit leads to belongs to nobody here.
    let read = Root::new(folder.path()).read(Path::new(name), u64::from(u32::MAX));
    match (read, plain_file(repo, commit, name)) {
        (Ok(bytes), _) => Ok(bytes),
        (Err(error), Some(blob)) if error.kind() == io::ErrorKind::NotFound => left_out(repo, name, &blob),
        (Err(error), _) => Err(error).with_context(|| {
            format!("commit {} does not hold {name} as a file", super::short(&commit.id().to_string()))
        }),
    }
}

/// The blob of a plain file of a commit; a link is none.
fn plain_file<'r>(repo: &'r Repository, commit: &git2::Commit, name: &str) -> Option<Blob<'r>> {
    let (id, mode) = super::blob_in(commit, name)?;
    repo.find_blob(id).ok().filter(|_| mode & 0o170_000 == 0o100_000)
}

/// The bytes on disk of a file that libgit2 leaves out of a checkout, because its path could harm on Windows: one with a
/// backslash. They are those that git holds, unless git would change them.
fn left_out(repo: &Repository, name: &str, blob: &Blob) -> Result<Vec<u8>> {
    if may_change(repo, name) {
        bail!(
            "{name} has a path that libgit2 puts nowhere (a backslash?), and git's rules for line endings apply to it: rename \
             it (`git mv`), or take core.autocrlf and its attributes in .gitattributes away"
        );
    }
    Ok(blob.content().to_vec())
}

/// Whether git may hold other bytes of a file than are on disk, or put other bytes on disk than it holds.
pub fn may_change(repo: &Repository, name: &str) -> bool {
    let config = repo.config().and_then(|mut config| config.snapshot());
    let is_set = |key: &str| {
        let value = config.as_ref().ok().and_then(|config| config.get_string(key).ok());
        value.is_some_and(|value| !["false", "lf", "native"].contains(&value.to_lowercase().as_str()))
    };
    is_set("core.autocrlf")
        || is_set("core.eol")
        || ["text", "crlf", "eol", "ident"].iter().any(|attribute| has(repo, name, attribute))
}

/// Whether an attribute is given for a path, in whatever way.
fn has(repo: &Repository, path: &str, name: &str) -> bool {
    let value = repo.get_attr(Path::new(path), name, AttrCheckFlags::FILE_THEN_INDEX).ok().flatten();
    !matches!(git2::AttrValue::from_string(value), git2::AttrValue::Unspecified)
}

/// Refuses a path whose attributes name a filter program (git-lfs) or another encoding: libgit2 applies neither.
fn refuse_drivers(repo: &Repository, name: &str) -> Result<()> {
    for attribute_name in ["filter", "working-tree-encoding"] {
        if attribute(repo, name, attribute_name) {
            bail!(
                "{name} has the git attribute '{attribute_name}': a kernel must be plain text to git. Take the \
                 attribute off in .gitattributes"
            );
        }
    }
    Ok(())
}

fn attribute(repo: &Repository, path: &str, name: &str) -> bool {
    let value = repo.get_attr(Path::new(path), name, AttrCheckFlags::FILE_THEN_INDEX).ok().flatten();
    !matches!(git2::AttrValue::from_string(value), git2::AttrValue::Unspecified | git2::AttrValue::False)
}
