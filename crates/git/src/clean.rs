//! Packs git's loose objects, and the lab's loose refs. A keep or a discard leaves some ten files
//! in `.git/objects`; together they take many times the space of a pack. No object is removed: the
//! pack holds every one of them, also those that no ref reaches. Each discard and each fetch leaves
//! refs too, files that git lists and the lab looks at; together they are one file.

use super::git_program::GitProgram;
use super::{Repo, locks};
use anyhow::Result;
use lab_system::failure::Failure;
use lab_system::listing;
use lab_system::root::{Access, Root};
use schemars::JsonSchema;
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What git's objects take on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ObjectFiles {
    /// Files of one object each.
    pub loose: usize,
    /// Bytes on disk of loose objects and packs together.
    pub bytes: u64,
}

/// The result of a clean-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleaned {
    pub before: ObjectFiles,
    pub after: ObjectFiles,
}

/// Above this number of loose objects a decision packs them.
const MANY: usize = 4_000;

/// Above this number of loose refs of the lab a discard or a fetch packs them.
const MANY_REFS: usize = 512;

/// Most folders within each other that refs are looked for in.
const DEEPEST: usize = 16;

/// Whether there are so many loose refs that packing them is worth its time.
pub fn has_many_loose_refs(repo: &Repo) -> bool {
    loose_refs(repo, MANY_REFS + 1) > MANY_REFS
}

/// The number of refs below `refs/lab` that are files of their own. Counts no more than `limit`.
pub fn loose_refs(repo: &Repo, limit: usize) -> usize {
    let mut count = 0;
    count_files(
        &repo.git.commondir().join("refs/lab"),
        DEEPEST,
        limit,
        &mut count,
    );
    count
}

fn count_files(folder: &Path, depth: usize, limit: usize, count: &mut usize) {
    for entry in listing::entries(folder) {
        match entry.file_type() {
            _ if *count >= limit => return,
            Ok(kind) if kind.is_dir() && depth > 0 => {
                count_files(&entry.path(), depth - 1, limit, count);
            }
            Ok(kind) if kind.is_file() => *count += 1,
            _ => {}
        }
    }
}

/// Packs the refs below `refs/lab`, with the git program. A ref that is written meanwhile stays
/// loose. It is a step of a decision.
pub fn pack_refs(repo: &Repo) -> Result<()> {
    let mut git = GitProgram::of(repo, "packing refs needs the git program")?;
    let ours = git.run(&["pack-refs", "--include", "refs/lab/*"]);
    match ours {
        // Before 2.43 git packs all refs or none. It prints how it is used, in the user's language.
        Err(error) if error.to_string().contains("pack-refs [") => {
            git.run(&["pack-refs", "--all"]).map(drop)
        }
        ours => ours.map(drop),
    }
}

/// Whether there are so many loose objects that packing them is worth its time. Looks at one folder
/// of 256, as git does.
pub fn has_many_loose_objects(repo: &Repo) -> bool {
    let folder = repo.git.commondir().join("objects/17");
    listing::read_dir(folder).map_or(0, Iterator::count) * 256 > MANY
}

/// Packs all loose objects, with the git program. Waits for a lab that packs them now: two gits at
/// once remove each other's packs.
pub fn clean(repo: &Repo) -> Result<Cleaned> {
    let folder = repo.git.commondir();
    let _packing = Root::new(folder)
        .wait_for_lock(Path::new("config"), Access::Read)
        .cannot("lock", &folder.join("config"))?;
    let before = object_files(repo);
    // Geometric: the loose objects become one pack, and small packs are merged. Objects that no ref
    // reaches stay. -n: a git that is killed leaves no half-written list for servers without git. git
    // writes no bitmaps where some objects stay as they are, and refuses then.
    let mut git = GitProgram::of(repo, "packing objects needs the git program")?;
    let usual = ["repack", "-d", "-l", "-n", "-q", "--no-write-bitmap-index"];
    let mut pack = |more: &[&str]| {
        let since = locks::now();
        let packed = git.run(&[&usual, more].concat());
        packed.inspect_err(|_| locks::remove_half_packs(repo, since))
    };
    // git cannot do so in a partial clone; and a `git gc` beside it may have removed a pack that git
    // had listed. The second one packs the objects that refs reach, and leaves the others loose.
    pack(&["--geometric=2"])
        .or_else(|_| pack(&[]))
        .and_so("nothing was packed")?;
    Ok(Cleaned {
        before,
        after: object_files(repo),
    })
}

/// What git's objects take on disk now.
pub fn object_files(repo: &Repo) -> ObjectFiles {
    let mut found = ObjectFiles::default();
    for folder in listing::entries(repo.git.commondir().join("objects")) {
        let is_loose = folder.file_name().len() == 2;
        for file in listing::entries(folder.path()) {
            let Ok(about) = file.metadata() else { continue };
            if about.is_file() {
                found.loose += usize::from(is_loose);
                found.bytes += about.blocks() * 512;
            }
        }
    }
    found
}

impl Cleaned {
    /// How many loose objects are in a pack now.
    pub fn packed(&self) -> usize {
        self.before.loose.saturating_sub(self.after.loose)
    }
}

impl std::fmt::Display for Cleaned {
    /// `5,120 loose objects are in packs now: 21.3 MB on disk before, 1.2 MB after. Every object is still there`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let packed = self.packed();
        let (before, after) = (megabytes(self.before.bytes), megabytes(self.after.bytes));
        write!(
            f,
            "{packed} loose objects of git are in a pack now: {before:.1} MB on disk before, {after:.1} MB after, {:.1} MB \
             freed. No object was removed",
            (before - after).max(0.0)
        )
    }
}
