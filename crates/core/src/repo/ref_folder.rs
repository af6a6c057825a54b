//! Whether git has refs in a folder.

use git2::Repository;
use lab_system::root::{Access, Root};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Most bytes of git's packed refs that are looked through where they are not sorted.
const PACKED_LIMIT: u64 = 1 << 30;

/// Most bytes of two lines of the packed refs: a line holds an id and the name of a ref, which is a
/// path.
const TWO_LINES: usize = 16 << 10;

/// Whether a ref stands in this folder, as in `refs/lab/exact/`. It opens no ref: there may be
/// 10,000.
pub(super) fn has_folder(git: &Repository, folder: &str) -> bool {
    let has_loose = || {
        std::fs::read_dir(git.commondir().join(folder))
            .is_ok_and(|mut entries| entries.next().is_some())
    };
    let is_packed = || {
        let packed = Root::new(git.commondir()).open(Path::new("packed-refs"), Access::Read);
        packed.is_ok_and(|packed| is_packed(&packed, folder.as_bytes()).unwrap_or(false))
    };
    has_loose() || is_packed()
}

/// Whether the packed refs hold one in this folder.
fn is_packed(packed: &File, folder: &[u8]) -> io::Result<bool> {
    let (mut low, mut high) = (0, packed.metadata()?.len());
    let mut block = vec![0; TWO_LINES];
    let first = lines(packed, 0, &mut block)?.next().is_some_and(is_sorted);
    if !first {
        let mut all = Vec::new();
        packed.take(PACKED_LIMIT).read_to_end(&mut all)?;
        return Ok(all
            .split(|b| *b == b'\n')
            .any(|line| name(line).is_some_and(|name| name.starts_with(folder))));
    }
    // Finds the first line whose name is not before the folder. It begins after `low`, or there is
    // none. The last part is looked through as a whole, with the line that begins at its end.
    while high - low > (TWO_LINES / 2) as u64 {
        let middle = low + (high - low) / 2;
        // Of a block within the file the first line may have lost its beginning.
        let from = lines(packed, middle, &mut block)?;
        let named = from.skip(usize::from(middle > 0)).find_map(name);
        match named {
            Some(name) if name < folder => low = middle + 1,
            _ => high = middle,
        }
    }
    let from = lines(packed, low, &mut block)?;
    let mut names = from.skip(usize::from(low > 0)).filter_map(name);
    Ok(names
        .find(|name| *name >= folder)
        .is_some_and(|name| name.starts_with(folder)))
}

/// The header says whether the refs are sorted by their names.
fn is_sorted(header: &[u8]) -> bool {
    header.starts_with(b"# pack-refs with:")
        && header.split(|b| *b == b' ').any(|word| word == b"sorted")
}

/// The lines of a block of the file, the last one perhaps without its end. Most callers look at one
/// or two of them: they are not cut before somebody asks.
fn lines<'b>(
    packed: &File,
    from: u64,
    block: &'b mut [u8],
) -> io::Result<impl Iterator<Item = &'b [u8]>> {
    let read = packed.read_at(block, from)?;
    let block: &'b [u8] = &block[..read];
    Ok(block.split(|b| *b == b'\n'))
}

/// The name of a ref in its line; `None` for the header, and for the id that a tag stands for.
fn name(line: &[u8]) -> Option<&[u8]> {
    let space = line
        .iter()
        .position(|b| *b == b' ')
        .filter(|at| *at >= 40)?;
    line.get(space + 1..)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_is_found_among_packed_refs_whether_they_are_sorted_or_not() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let id = "0123456789".repeat(4);
        let write = |header: &str, names: &[String]| {
            let lines: String = names
                .iter()
                .map(|name| format!("{id} {name}\n^{id}\n"))
                .collect();
            fs::write(git.path().join("packed-refs"), format!("{header}{lines}")).unwrap();
        };
        let mut names: Vec<String> = (0..2_000)
            .map(|run| format!("refs/lab/discarded/{run}"))
            .collect();
        names.extend(["refs/heads/main", "refs/lab/raw/x", "refs/notes/lab"].map(str::to_owned));
        names.sort();
        let found = || {
            let folders = [
                "refs/heads/",
                "refs/lab/discarded/",
                "refs/lab/exact/",
                "refs/lab/raw/",
                "refs/a/",
                "refs/z/",
            ];
            folders.map(|folder| has_folder(&git, folder))
        };
        let there = [true, true, false, true, false, false];
        write("# pack-refs with: peeled fully-peeled sorted \n", &names);
        assert_eq!(found(), there);
        names.reverse();
        write("", &names);
        assert_eq!(found(), there);
        write("# pack-refs with: peeled fully-peeled sorted \n", &[]);
        assert_eq!(found(), [false; 6]);
        // A loose one.
        git.reference("refs/lab/exact/a", git.blob(b"").unwrap(), true, "")
            .unwrap();
        assert!(has_folder(&git, "refs/lab/exact/"));
    }
}
