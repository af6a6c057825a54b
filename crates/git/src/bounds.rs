//! How much is read of what a stranger may have put into git. A few kilobytes of objects can name
//! more files than a disk holds: a tree may name the same tree many times, and a blob packs well.

use super::patterns::{self, ATTRIBUTES, IGNORED, Kind};
use anyhow::{Context, Result, bail, ensure};
use flate2::read::ZlibDecoder;
use git2::{
    Blob, Commit, Diff, ObjectType, Oid, Reference, Repository, Tree, TreeEntry, TreeWalkMode,
    TreeWalkResult,
};
use lab_system::root::{Access, Refused, Root, read_anywhere, refusal};
use std::collections::HashMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Most entries below a tree, each counted as often as the tree names it.
const ENTRIES: u64 = 1_000_000;

/// Most folders within each other.
const DEPTH: usize = 64;

/// Most bytes of the different trees below a tree.
const TREES: usize = 256 << 20;

/// Most bytes of the file that names further folders of objects.
const ALTERNATES: u64 = 64 << 10;

/// Most bytes of a file: the inputs of a run have no more together.
const FILE: usize = 64 << 20;

/// Most bytes of a commit or a tag: its message is searched and shown.
const MESSAGE: usize = 1 << 20;

/// Refuses a tree that is too large to be walked, compared or checked out.
pub fn check(git: &Repository, tree: &Tree) -> Result<()> {
    let mut measured = Measured {
        git,
        trees: HashMap::new(),
        bytes: 0,
    };
    let size = measured.size(tree.id(), 0)?;
    ensure!(
        size.is_some_and(|(_, depth)| depth <= DEPTH),
        "the tree {id} of git has more than {ENTRIES} entries, more than {DEPTH} folders within each other or more than \
         {TREES} bytes, and lab reads no such tree: `git ls-tree {id}` shows where it is so large",
        id = tree.id()
    );
    Ok(())
}

/// Refuses the path of a file that would make the tree of a commit too deep for [`check`].
pub fn check_depth(path: &str) -> Result<()> {
    ensure!(
        path.split('/').count() <= DEPTH,
        "{path} lies in {DEPTH} folders within each other or more, and lab reads no tree of git that is so deep"
    );
    Ok(())
}

/// Refuses a tree that is too large to be checked out, or that has a file of which libgit2 would read
/// for ever, or patterns that it would compare with a path for ever.
pub fn check_files(git: &Repository, tree: &Tree) -> Result<()> {
    check(git, tree)?;
    let mut whole = Ok(true);
    let (mut longest, mut patterns) = (0, Vec::new());
    // The walk ends with an error where it was ended.
    let _ = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        let name = entry.name_bytes();
        longest = longest.max(folder.len() + name.len());
        if entry.kind() == Some(ObjectType::Blob) {
            whole = check_whole(git, entry.id());
            if [ATTRIBUTES, IGNORED]
                .map(|it| it.in_folders.as_bytes())
                .contains(&name)
            {
                patterns.push((
                    entry.id(),
                    format!("{folder}{}", String::from_utf8_lossy(name)),
                ));
            }
        }
        match whole {
            Ok(_) => TreeWalkResult::Ok,
            Err(_) => TreeWalkResult::Abort,
        }
    });
    whole?;
    let mut patterns = patterns.iter();
    patterns.try_for_each(|(id, file)| check_blob(git, *id, longest, file))
}

/// Refuses patterns on disk and in the index with which libgit2 would compare this path for too long.
pub fn refuse_costly(git: &Repository, path: &str, kind: &Kind) -> Result<()> {
    for file in patterns::files(git, path, kind) {
        let shown = file.display().to_string();
        match read_anywhere(&file, patterns::FILE) {
            Ok(text) => patterns::check(&text, path.len(), &shown)?,
            Err(error) if matches!(refusal(&error), Some(Refused::TooLarge { .. })) => {
                bail!("{error}")
            }
            // git passes over what it cannot read.
            Err(_) => {}
        }
    }
    // libgit2 looks for a file that is not on disk in the index.
    let Ok(index) = git.index() else {
        return Ok(());
    };
    for file in patterns::folders(path).map(|folder| folder.join(kind.in_folders)) {
        if let Some(entry) = index.get_path(&file, 0) {
            check_blob(git, entry.id, path.len(), &file.display().to_string())?;
        }
    }
    Ok(())
}

/// [`patterns::check`] of a file in git. One that git cannot read is passed over.
fn check_blob(git: &Repository, id: git2::Oid, length: usize, shown: &str) -> Result<()> {
    let Ok(blob) = blob(git, id) else {
        return Ok(());
    };
    let bytes = blob.size();
    ensure!(
        bytes as u64 <= patterns::FILE,
        "{shown} has {bytes} bytes in git: at most {} are read",
        patterns::FILE
    );
    patterns::check(blob.content(), length, shown)
}

/// Refuses a change of files of which libgit2 would read one for ever. It compares them to find renames.
pub fn check_changed(git: &Repository, diff: &Diff) -> Result<()> {
    let mut ids = diff
        .deltas()
        .flat_map(|delta| [delta.old_file().id(), delta.new_file().id()]);
    ids.try_for_each(|id| check_whole(git, id).map(drop))
}

struct Measured<'r> {
    git: &'r Repository,
    trees: HashMap<Oid, (u64, usize)>,
    bytes: usize,
}

impl Measured<'_> {
    /// Entries and depth of a tree; `None` once it is too large. Each tree is read once. The error
    /// names an object whose file is cut off.
    fn size(&mut self, id: Oid, above: usize) -> Result<Option<(u64, usize)>> {
        if let Some(known) = self.trees.get(&id) {
            return Ok(Some(*known));
        }
        let header = self.git.odb().and_then(|odb| odb.read_header(id));
        self.bytes += header.map_or(0, |(bytes, _)| bytes);
        if above > DEPTH || self.bytes > TREES {
            return Ok(None);
        }
        check_whole(self.git, id)?;
        let (mut entries, mut depth) = (0_u64, 0);
        // What is missing ends the walk that comes to it.
        for entry in self.git.find_tree(id).iter().flatten() {
            let size = match entry.kind() {
                Some(ObjectType::Tree) => self.size(entry.id(), above + 1)?,
                _ => Some((0, 0)),
            };
            let Some((below, deep)) = size else {
                return Ok(None);
            };
            (entries, depth) = (entries + 1 + below, depth.max(1 + deep));
            if entries > ENTRIES {
                return Ok(None);
            }
        }
        self.trees.insert(id, (entries, depth));
        Ok(Some((entries, depth)))
    }
}

/// Returns what a tree holds at a path; `None` if it holds nothing there. The error is of a folder
/// on the way that git cannot read.
pub fn entry(git: &Repository, root: Oid, path: &Path) -> Result<Option<TreeEntry<'static>>> {
    let mut folder = root;
    let mut names = path.iter();
    loop {
        check_whole(git, folder)?;
        let name = names.next().unwrap_or_default();
        let held = git
            .find_tree(folder)?
            .get_name_bytes(name.as_bytes())
            .map(|entry| entry.to_owned());
        match held {
            Some(below) if names.clone().next().is_some() => {
                if below.kind() != Some(ObjectType::Tree) {
                    return Ok(None);
                }
                folder = below.id();
            }
            held => return Ok(held),
        }
    }
}

/// [`check_whole`] of a commit or a tag. Refuses one that is too large too.
pub fn check_message(git: &Repository, id: Oid) -> Result<bool> {
    let has_own_file = check_whole(git, id)?;
    if let Ok((bytes, ObjectType::Commit | ObjectType::Tag)) = git.odb()?.read_header(id) {
        ensure!(
            bytes <= MESSAGE,
            "the commit or tag {id} of git has {bytes} bytes, and lab reads up to {MESSAGE}"
        );
    }
    Ok(has_own_file)
}

/// Refuses an object whose file is cut off: libgit2 would read it for ever. Returns whether the
/// object has a file of its own; one in a pack has none.
pub fn check_whole(git: &Repository, id: Oid) -> Result<bool> {
    // Objects without a repository are those of a bundle, in a pack that was just written.
    if git.workdir().is_none() {
        return Ok(false);
    }
    let hex = id.to_string();
    let name = Path::new(&hex[..2]).join(&hex[2..]);
    let own = git.commondir().join("objects");
    let alternates = Root::new(&own)
        .read_text(Path::new("info/alternates"), ALTERNATES)
        .unwrap_or_default();
    let others = alternates.lines().map(|line| own.join(line));
    let mut folders = std::iter::once(own.clone()).chain(others);
    let Some(file) = folders.find_map(|it| Root::new(&it).open(&name, Access::Read).ok()) else {
        return Ok(false);
    };
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(file)
        .take(FILE as u64)
        .read_to_end(&mut bytes);
    ensure!(read.is_ok() && is_whole(&bytes), "{CUT_OFF} {hex}");
    Ok(true)
}

/// A commit by its id.
pub fn commit(git: &Repository, id: Oid) -> Result<Commit<'_>> {
    check_message(git, id)?;
    Ok(git.find_commit(id)?)
}

/// The commit that a ref names, also through tags with a message.
pub fn commit_at<'r>(git: &'r Repository, reference: &Reference) -> Result<Commit<'r>> {
    let mut id = reference
        .resolve()?
        .target()
        .context("the ref names no object")?;
    loop {
        check_message(git, id)?;
        match git.find_tag(id) {
            Ok(tag) => id = tag.target_id(),
            Err(_) => return Ok(git.find_commit(id)?),
        }
    }
}

/// The tree of the commit that a ref names.
pub fn tree_at<'r>(git: &'r Repository, reference: &Reference) -> Result<Tree<'r>> {
    tree_of(git, &commit_at(git, reference)?)
}

/// The tree of a commit.
pub fn tree_of<'r>(git: &'r Repository, commit: &Commit) -> Result<Tree<'r>> {
    tree(git, commit.tree_id())
}

/// A tree by its id.
pub fn tree(git: &Repository, id: Oid) -> Result<Tree<'_>> {
    check_whole(git, id)?;
    Ok(git.find_tree(id)?)
}

/// Whether an object has as many bytes as it begins with, as `blob 12` and a zero byte.
fn is_whole(object: &[u8]) -> bool {
    let length = || {
        let head = object.split(|byte| *byte == 0).next()?;
        let size: usize = str::from_utf8(head).ok()?.split(' ').nth(1)?.parse().ok()?;
        size.checked_add(head.len() + 1)
    };
    length().is_some_and(|length| object.len() >= length.min(FILE))
}

/// How the error of an object begins whose file is cut off.
pub const CUT_OFF: &str = "a file that is damaged or cut off holds the object";

/// A blob that is not too large to be read.
pub fn blob(git: &Repository, id: Oid) -> Result<Blob<'_>> {
    check_whole(git, id)?;
    let (bytes, _) = git.odb()?.read_header(id)?;
    ensure!(
        bytes <= FILE,
        "the object {id} of git has {bytes} bytes, and lab reads up to {FILE}"
    );
    Ok(git.find_blob(id)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A tree whose entries all name the tree below it, `levels` times.
    fn nested(git: &Repository, levels: usize, names: &[&str]) -> Oid {
        let mut id = git.blob(b"x").unwrap();
        let mut mode = 0o100_644;
        for _ in 0..levels {
            let mut tree = git.treebuilder(None).unwrap();
            for name in names {
                tree.insert(name, id, mode).unwrap();
            }
            (id, mode) = (tree.write().unwrap(), 0o040_000);
        }
        id
    }

    #[test]
    fn a_tree_is_measured_without_walking_it() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let fits = |levels, names: &[&str]| {
            let tree = git.find_tree(nested(&git, levels, names)).unwrap();
            check(&git, &tree).map_err(|error| error.to_string())
        };
        let many = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b"];
        assert_eq!(fits(5, &many), Ok(()));
        assert_eq!(fits(64, &["a"]), Ok(()));
        for (levels, names) in [(6, &many[..]), (20, &many), (65, &["a"]), (2_000, &["a"])] {
            let why = fits(levels, names).unwrap_err();
            assert!(
                why.contains("has more than 1000000 entries") && why.contains("`git ls-tree "),
                "{why}"
            );
        }
    }

    #[test]
    fn folders_that_are_measured_once_count_wherever_they_are() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let deep = nested(&git, 40, &["a"]);
        let mut tree = git.treebuilder(None).unwrap();
        tree.insert("first", deep, 0o040_000).unwrap();
        let mut below = deep;
        for _ in 0..30 {
            let mut tree = git.treebuilder(None).unwrap();
            tree.insert("a", below, 0o040_000).unwrap();
            below = tree.write().unwrap();
        }
        tree.insert("second", below, 0o040_000).unwrap();
        let tree = git.find_tree(tree.write().unwrap()).unwrap();
        assert!(check(&git, &tree).is_err());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let id = git.blob(&vec![0; FILE + 1]).unwrap();
        let why = blob(&git, id).unwrap_err().to_string();
        assert!(
            why.contains("has 67108865 bytes, and lab reads up to 67108864"),
            "{why}"
        );
    }

    #[test]
    fn a_commit_with_a_message_that_is_too_large_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let tree = git.find_tree(nested(&git, 1, &["a"])).unwrap();
        let who = git2::Signature::now("A User", "user@example.com").unwrap();
        let made = |bytes| {
            let message = "x".repeat(bytes);
            git.commit(None, &who, &who, &message, &tree, &[]).unwrap()
        };
        assert!(commit(&git, made(MESSAGE / 2)).is_ok());
        let why = commit(&git, made(MESSAGE)).unwrap_err().to_string();
        assert!(why.contains("bytes, and lab reads up to 1048576"), "{why}");
    }

    #[test]
    fn an_object_whose_file_is_cut_off_is_not_read() {
        use std::fs;
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let id = git.blob(b"// the first\n").unwrap();
        check_whole(&git, id).unwrap();
        let hex = id.to_string();
        let file = git.path().join("objects").join(&hex[..2]).join(&hex[2..]);
        let whole = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            assert!(
                check_whole(&git, id).is_err(),
                "{length} of {}",
                whole.len()
            );
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_found_among_borrowed_objects_too() {
        let temp = tempfile::tempdir().unwrap();
        let (lender, borrower) = (temp.path().join("a"), temp.path().join("b"));
        let git = Repository::init(&lender).unwrap();
        let id = git.blob(&[b'x'; 5_000]).unwrap();
        let mut tree = git.treebuilder(None).unwrap();
        tree.insert("file", id, 0o100_644).unwrap();
        let tree = tree.write().unwrap();
        let hex = id.to_string();
        let file = lender.join(".git/objects").join(&hex[..2]).join(&hex[2..]);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, b"\x78\x01").unwrap();
        let borrowing = Repository::init(&borrower).unwrap();
        let alternates = borrower.join(".git/objects/info/alternates");
        std::fs::create_dir_all(alternates.parent().unwrap()).unwrap();
        std::fs::write(&alternates, "../../../a/.git/objects\n").unwrap();
        for git in [&git, &borrowing] {
            assert!(check_whole(git, id).is_err());
            assert!(check_files(git, &git.find_tree(tree).unwrap()).is_err());
        }
    }
}
