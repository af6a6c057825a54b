//! Turns bytes on disk into the bytes that git holds, and back: line endings and `.gitattributes`.
//!
//! libgit2 looks at a dozen files to tell one attribute of one path, so an open [`Repo`] remembers
//! what was told.

use super::patterns::{self, ATTRIBUTES};
use super::{Repo, bounds};
use anyhow::{Context, Result, bail};
use git2::{AttrCheckFlags, AttrValue, Blob, Oid, Repository, build::CheckoutBuilder};
use lab_run::inputs::SIZE_LIMIT;
use lab_system::failure::Failure;
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use std::cell::OnceCell;
use std::io::{self, Write};
use std::path::Path;

/// What git's configuration and the attributes of a path make git do with the file's bytes.
#[derive(Debug)]
pub struct PathFilters {
    /// The attribute that names a filter program or another encoding: libgit2 applies neither.
    driver: Option<&'static str>,
    /// Whether git fills in `$Id$`, and takes it out again.
    ident: Given,
    /// Whether git may change line endings or `$Id$`, on the way in or out. Looked up when somebody
    /// asks.
    may_change: OnceCell<bool>,
    /// Why libgit2 is not asked about this path.
    refused: Option<String>,
}

impl PathFilters {
    fn look_up(git: &Repository, name: &str) -> PathFilters {
        if let Err(why) = bounds::refuse_costly(git, name, &ATTRIBUTES) {
            return PathFilters {
                driver: None,
                ident: Given::No,
                may_change: OnceCell::from(false),
                refused: Some(why.to_string()),
            };
        }
        PathFilters {
            driver: ["filter", "working-tree-encoding"]
                .into_iter()
                .find(|driver| given(git, name, driver) == Given::Yes),
            ident: given(git, name, "ident"),
            may_change: OnceCell::new(),
            refused: None,
        }
    }

    fn may_change(&self, git: &Repository, name: &str) -> bool {
        let look_up = || {
            let config = git.config().and_then(|mut config| config.snapshot());
            let is_set = |key: &str| {
                let value = config
                    .as_ref()
                    .ok()
                    .and_then(|config| config.get_string(key).ok());
                value.is_some_and(|value| {
                    !["false", "lf", "native"].contains(&value.to_lowercase().as_str())
                })
            };
            let is_given = |attribute: &str| given(git, name, attribute) != Given::No;
            self.ident != Given::No
                || is_set("core.autocrlf")
                || is_set("core.eol")
                || ["text", "crlf", "eol"].into_iter().any(is_given)
        };
        *self.may_change.get_or_init(look_up)
    }
}

/// How an attribute is given for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    No,
    /// `-attribute`
    Off,
    Yes,
}

fn given(git: &Repository, name: &str, attribute: &str) -> Given {
    let value = git.get_attr(Path::new(name), attribute, AttrCheckFlags::FILE_THEN_INDEX);
    match AttrValue::from_string(value.ok().flatten()) {
        AttrValue::Unspecified => Given::No,
        AttrValue::False => Given::Off,
        AttrValue::True | AttrValue::String(_) | AttrValue::Bytes(_) => Given::Yes,
    }
}

/// Asks the filters of a path, as they were when this repository was first asked for them.
fn ask<T>(repo: &Repo, name: &str, question: impl FnOnce(&PathFilters) -> T) -> T {
    let mut known = repo.filters.borrow_mut();
    question(
        known
            .entry(name.to_owned())
            .or_insert_with(|| PathFilters::look_up(&repo.git, name)),
    )
}

/// Stores bytes as `git add` would. Returns their id.
pub fn store(repo: &Repo, name: &str, bytes: &[u8]) -> Result<Oid> {
    refuse_drivers(repo, name)?;
    if !is_changed_on_the_way_in(repo, name, bytes) {
        return repo.git.blob(bytes).context("cannot write a git object");
    }
    let mut writer = repo.git.blob_writer(Some(Path::new(name)))?;
    writer
        .write_all(bytes)
        .context("cannot write a git object")?;
    Ok(writer.commit()?)
}

/// The id that [`store`] would return. It stores the bytes only if a filter might change them.
pub fn id(repo: &Repo, name: &str, bytes: &[u8]) -> Result<Oid> {
    if is_changed_on_the_way_in(repo, name, bytes) {
        store(repo, name, bytes)
    } else {
        refuse_drivers(repo, name)?;
        Ok(Oid::hash_object(git2::ObjectType::Blob, bytes)?)
    }
}

/// Whether git may hold other bytes than these: it takes out carriage returns, and what it filled
/// in for `$Id$`.
fn is_changed_on_the_way_in(repo: &Repo, name: &str, bytes: &[u8]) -> bool {
    bytes.contains(&b'\r') || ask(repo, name, |filters| filters.ident == Given::Yes)
}

/// The bytes that `git checkout` would put on disk for a file of a commit.
pub fn on_disk(repo: &Repo, commit: &git2::Commit, name: &str) -> Result<Vec<u8>> {
    refuse_drivers(repo, name)?;
    match plain_file(&repo.git, commit, name)? {
        Some(blob) if !may_change(repo, name) => Ok(blob.content().to_vec()),
        _ => checked_out(repo, commit, name),
    }
}

/// The bytes that libgit2 puts into a temporary folder for a file of a commit.
fn checked_out(repo: &Repo, commit: &git2::Commit, name: &str) -> Result<Vec<u8>> {
    let (git, project) = (&repo.git, &repo.project);
    project
        .files()
        .create_dir_all(&project.lab_dir)
        .cannot("make", &project.lab_dir)?;
    let folder =
        TemporaryFolder::inside(&project.lab_dir).cannot("write into", &project.lab_dir)?;
    let mut how = CheckoutBuilder::new();
    how.target_dir(folder.path())
        .path(name)
        .disable_pathspec_match(true);
    // Neither reads the user's index anew nor writes it.
    how.refresh(false).update_index(false).force();
    bounds::check(git, &bounds::tree_of(git, commit)?)?;
    if let Some(held) = bounds::entry(git, commit.tree_id(), Path::new(name))? {
        bounds::check_whole(git, held.id())?;
    }
    git.checkout_tree(commit.as_object(), Some(&mut how))?;
    // What a link of the commit leads to belongs to nobody here.
    match Root::new(folder.path()).read(Path::new(name), u64::from(u32::MAX)) {
        Ok(bytes) => Ok(bytes),
        // libgit2 leaves out a path that could harm on Windows.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && plain_file(git, commit, name)?.is_some() =>
        {
            bail!(
                "{name} has a path that libgit2 puts nowhere (a backslash?), and git's rules for line endings apply to \
                 it: rename it (`git mv`), or take core.autocrlf and its attributes in .gitattributes away"
            )
        }
        Err(error) => Err(error).with_context(|| {
            format!(
                "commit {} does not hold {name} as a file",
                super::short(&commit.id().to_string())
            )
        }),
    }
}

/// The blob of a plain file in a commit. Links do not count.
fn plain_file<'r>(
    git: &'r Repository,
    commit: &git2::Commit,
    name: &str,
) -> Result<Option<Blob<'r>>> {
    let Some((id, mode)) = super::file_in(git, commit, name)? else {
        return Ok(None);
    };
    let blob = super::bounds::blob(git, id)?;
    Ok((mode & 0o170_000 == 0o100_000).then_some(blob))
}

/// Whether git may hold other bytes of a file than are on disk, or put other bytes on disk than it
/// holds.
pub fn may_change(repo: &Repo, name: &str) -> bool {
    ask(repo, name, |filters| filters.may_change(&repo.git, name))
}

/// Refuses a path whose attributes name a filter program (git-lfs) or another encoding: libgit2
/// applies neither. Also one that libgit2 would compare with patterns for ever.
fn refuse_drivers(repo: &Repo, name: &str) -> Result<()> {
    if let Some(why) = ask(repo, name, |filters| filters.refused.clone()) {
        bail!(why);
    }
    let Some(driver) = ask(repo, name, |filters| filters.driver) else {
        return Ok(());
    };
    let files: Vec<String> = patterns::files(&repo.git, name, &ATTRIBUTES)
        .into_iter()
        .filter(|file| names(file, driver))
        .map(|file| file.display().to_string())
        .collect();
    let place = if files.is_empty() {
        ".gitattributes".to_owned()
    } else {
        files.join(" or ")
    };
    bail!(
        "{name} has the git attribute '{driver}': a kernel must be plain text to git. Take the attribute off in {place}"
    )
}

fn names(file: &Path, attribute: &str) -> bool {
    let text = Root::around(file).read_text(file, SIZE_LIMIT);
    text.is_ok_and(|text| text.contains(attribute))
}
