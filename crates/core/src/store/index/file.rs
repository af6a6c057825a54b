//! The index on disk. `.lab/runs/index.bin` holds every summary, and `.lab/runs/index.new.bin`
//! those that were read after it was written. Both have the same form: a header line (JSON), a
//! table with one row of fixed length for each run, and the summaries (JSON), which the table's
//! rows point to. Reading one reads the header and the table; a summary is read when somebody asks
//! for it.
//!
//! Earlier versions wrote `.lab/runs/index.jsonl`: a header line, then one line for each run.

use super::keys::{Keys, WORDS};
use super::known::{Entry, Known, Part, Place, Runs};
use crate::disk::stamp::{Stamp, stamp};
use crate::run::RunId;
use crate::store::decision_lock::Position;
use crate::store::summary::RunSummary;
use lab_system::root::{Access, Root};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The names of the files of the index in a folder of runs.
pub struct Paths {
    pub whole: PathBuf,
    pub newer: PathBuf,
    pub lines: PathBuf,
}

impl Paths {
    pub fn new(lab_dir: &Path) -> Paths {
        let path = |name| lab_dir.join("runs").join(name);
        Paths {
            whole: path("index.bin"),
            newer: path("index.new.bin"),
            lines: path("index.jsonl"),
        }
    }
}

/// The files that summaries are read from, as they were when their tables were read: a file that is
/// replaced stays open.
#[derive(Default)]
pub struct OpenFiles {
    pub whole: Option<File>,
    pub newer: Option<File>,
}

impl OpenFiles {
    /// The summary at a place; `None` if the file is damaged there.
    pub fn summary(&self, place: Place) -> Option<RunSummary> {
        serde_json::from_slice(&self.bytes(place).ok()?).ok()
    }

    fn bytes(&self, place: Place) -> io::Result<Vec<u8>> {
        let file = match place.of {
            Part::Whole => &self.whole,
            Part::Newer => &self.newer,
        };
        let mut bytes = vec![0; place.length as usize];
        let file = file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.read_exact_at(&mut bytes, place.at)?;
        Ok(bytes)
    }
}

/// What a file of the index holds.
pub struct Loaded {
    /// How much of the decision lock's file it knows.
    pub seen: Position,
    pub known: Runs,
    pub file: File,
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    seen: Position,
    /// Rows of the table.
    runs: u64,
    /// Of `index.new.bin`: the stamp of the file that it adds to.
    #[serde(default)]
    base: Option<Stamp>,
}

const VERSION: u32 = 9;

/// Most bytes of a file of the index, and of a line of an earlier version's. A larger one is read
/// from the records again.
const LIMIT: u64 = 256 << 20;
const LINE_LIMIT: u64 = 1 << 20;

/// The number of words in a row of the table: id, stamp, keys, place.
const ROW: usize = 1 + 4 + WORDS + 2;

/// Reads the table of a file; `None` where there is none, it is damaged, or another version of the
/// lab wrote it. With a `base`, the file must add to the file with this stamp.
pub fn load(files: &Root, path: &Path, of: Part, base: Option<Stamp>) -> Option<Loaded> {
    let file = files.open(path, Access::Read).ok()?;
    let length = file.metadata().ok()?.len();
    let line = header_line(&file)?;
    let header: Header = serde_json::from_slice(&line).ok()?;
    let table = header.runs.checked_mul(ROW as u64 * 8)?;
    if length > LIMIT || header.version != VERSION || header.base != base || table > length {
        return None;
    }
    let mut at = line.len() as u64 + table;
    let mut known = Vec::with_capacity(header.runs as usize);
    // Read in parts: what a part needs is in the processor's cache.
    let mut part = vec![0; (PART * ROW * 8).min(table as usize)];
    let mut next = line.len() as u64;
    while known.len() < header.runs as usize {
        let rows = (header.runs as usize - known.len()).min(PART);
        let bytes = &mut part[..rows * ROW * 8];
        file.read_exact_at(bytes, next).ok()?;
        next += bytes.len() as u64;
        known.extend(bytes.chunks_exact(ROW * 8).map(|row| {
            let mut words = [0u64; ROW];
            for (word, bytes) in words.iter_mut().zip(row.chunks_exact(8)) {
                *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
            }
            let [id, inode, size, seconds, nanoseconds, rest @ ..] = words;
            let [k0, k1, k2, k3, k4, k5, k6, k7, length, _] = rest;
            let place = Place { of, at, length };
            at = at.saturating_add(length);
            let stamp = (inode, size, seconds as i64, nanoseconds as i64);
            Known::at(
                RunId(id),
                stamp,
                Keys::from_words([k0, k1, k2, k3, k4, k5, k6, k7]),
                place,
            )
        }));
    }
    let known = Runs::sorted(known).filter(|_| at == length)?;
    Some(Loaded {
        seen: header.seen,
        known,
        file,
    })
}

/// Rows of the table that are read at once.
const PART: usize = 512;

/// The first line of a file, without the file's position.
fn header_line(file: &File) -> Option<Vec<u8>> {
    let mut line = vec![0; 512];
    let read = file.read_at(&mut line, 0).ok()?;
    let end = line[..read].iter().position(|byte| *byte == b'\n')?;
    line.truncate(end + 1);
    Some(line)
}

/// The number of runs in a file of the index, and the newest of them.
pub fn extent(files: &Root, path: &Path) -> Option<(u64, RunId)> {
    let file = files.open(path, Access::Read).ok()?;
    let line = header_line(&file)?;
    let header: Header = serde_json::from_slice(&line).ok()?;
    let last = header
        .runs
        .checked_sub(1)
        .filter(|_| header.version == VERSION)?;
    let mut id = [0; 8];
    file.read_exact_at(
        &mut id,
        line.len() as u64 + last.checked_mul(ROW as u64 * 8)?,
    )
    .ok()?;
    Some((header.runs, RunId(u64::from_le_bytes(id))))
}

/// Replaces a file of the index by these runs, in one step. It is not synced to disk: a lost index
/// is read from the records again.
pub fn store<'k>(
    files: &Root,
    path: &Path,
    base: Option<Stamp>,
    seen: Position,
    open: &OpenFiles,
    known: impl Iterator<Item = &'k Known>,
) -> io::Result<()> {
    let (mut table, mut bodies) = (Vec::new(), Vec::new());
    let mut runs = 0;
    for known in known {
        let before = bodies.len();
        match (known.place, known.in_memory()) {
            (Some(place), _) => bodies.extend(open.bytes(place)?),
            (None, Some(summary)) => serde_json::to_writer(&mut bodies, summary)?,
            (None, None) => continue,
        }
        let (inode, size, seconds, nanoseconds) = known.stamp;
        let place = [(bodies.len() - before) as u64, 0];
        let words = [known.id.0, inode, size, seconds as u64, nanoseconds as u64].into_iter();
        words
            .chain(known.keys.words())
            .chain(place)
            .for_each(|word| table.extend(word.to_le_bytes()));
        runs += 1;
    }
    files.replace_with(path, |out| {
        serde_json::to_writer(
            &mut *out,
            &Header {
                version: VERSION,
                seen,
                runs,
                base,
            },
        )?;
        out.write_all(b"\n")?;
        out.write_all(&table)?;
        out.write_all(&bodies)
    })
}

/// Removes a file of the index. One that stays is read no more.
pub fn remove(files: &Root, path: &Path) {
    let _ = files.remove_file(path);
}

/// The stamp of the file that `index.new.bin` adds to.
pub fn base(files: &Root, paths: &Paths) -> Option<Stamp> {
    stamp(files, &paths.whole)
}

/// Reads the index of an earlier version; `None` where there is none, or it is damaged.
pub fn load_lines(files: &Root, index: &Path) -> Option<(Position, Runs)> {
    #[derive(Deserialize)]
    struct Header {
        version: u32,
        seen: Position,
    }
    let mut file =
        BufReader::with_capacity(64 * 1024, files.open(index, Access::Read).ok()?.take(LIMIT));
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> Option<usize> {
        line.clear();
        (&mut file).take(LINE_LIMIT).read_until(b'\n', line).ok()
    };
    next(&mut line)?;
    let header: Header = serde_json::from_slice(&line).ok()?;
    if header.version != 3 {
        return None;
    }
    let mut known = Runs::default();
    loop {
        if next(&mut line)? == 0 {
            return Some((header.seen, known));
        }
        let entry: Entry = serde_json::from_slice(&line).ok()?;
        known.insert(Known::read(entry));
    }
}
