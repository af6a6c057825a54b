//! The index on disk, `.lab/runs/index.bin`: a header line (JSON behind its checksum), a table with
//! one row of fixed length for each run, and the summaries (JSON) in the order of the table. Opening
//! the file reads the header and the table. A summary is read when somebody asks for it.
//!
//! The file is a cache. It is replaced in one step and not synced to disk. A file that is damaged,
//! or that another version of the lab wrote, counts as missing: the records are read again.

use super::keys::Keys;
use crate::checked;
use crate::decision_lock::Position;
use crate::summary::RunSummary;
use lab_run::RunId;
use lab_system::root::{Access, Root};
use lab_system::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Version of the file. It counts up with every change of [`Row`], [`Keys`] or [`RunSummary`].
const VERSION: u32 = 5;

/// Most bytes of the file. Instead of a larger one the records are read.
const LIMIT: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    /// How much of the decision lock's file the summaries include.
    seen: Position,
    /// Rows of the table.
    runs: u64,
    /// The run with the greatest number among them.
    newest: RunId,
    /// The [`checked::sum`] of the table.
    table: u64,
}

#[derive(Clone, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Row {
    id: u64,
    stamp: [u64; 4],
    keys: Keys,
    /// Bytes of the summary, and their [`checked::sum`].
    length: u64,
    checksum: u64,
}

/// Where the summary of a run is in the file.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    length: u64,
    checksum: u64,
}

/// What the index holds of one run.
pub struct Known {
    /// Stamp of the record's file when the record was read.
    pub stamp: Stamp,
    pub keys: Keys,
    /// `None` if the record was read later than the file.
    place: Option<Place>,
    /// Filled when somebody asks; holds `None` if the summary cannot be read.
    summary: OnceCell<Option<Box<RunSummary>>>,
}

impl Known {
    /// A summary that was read from its record.
    pub fn new(stamp: Stamp, summary: RunSummary) -> Known {
        Known {
            stamp,
            keys: Keys::of(&summary),
            place: None,
            summary: OnceCell::from(Some(Box::new(summary))),
        }
    }

    pub fn in_memory(&self) -> Option<&RunSummary> {
        self.summary.get()?.as_deref()
    }

    /// The summary, read from `file` if it was not before. `otherwise` reads the record itself if
    /// the file is damaged there.
    pub fn summary(
        &self,
        file: Option<&File>,
        otherwise: impl FnOnce() -> Option<RunSummary>,
    ) -> Option<&RunSummary> {
        let from_file = || {
            let place = self.place?;
            let mut text = vec![0; place.length as usize];
            file?.read_exact_at(&mut text, place.at).ok()?;
            let is_whole = checked::sum(&text) == place.checksum;
            is_whole.then(|| serde_json::from_slice(&text).ok())?
        };
        let read = || from_file().or_else(otherwise).map(Box::new);
        self.summary.get_or_init(read).as_deref()
    }
}

/// The runs of a file, and the file open: it can be read after another process has replaced it.
pub struct Loaded {
    pub seen: Position,
    pub known: BTreeMap<RunId, Known>,
    pub file: File,
}

/// Reads the table of the file; `None` if the file is missing, damaged or of another version.
pub fn load(files: &Root, path: &Path) -> Option<Loaded> {
    let file = files.open(path, Access::Read).ok()?;
    let (header, mut at) = header(&file)?;
    let length = file.metadata().ok()?.len();
    let table = header.runs.checked_mul(size_of::<Row>() as u64)?;
    if length > LIMIT || table > length {
        return None;
    }
    let mut rows = vec![Row::new_zeroed(); header.runs as usize];
    file.read_exact_at(rows.as_mut_bytes(), at).ok()?;
    if checked::sum(rows.as_bytes()) != header.table {
        return None;
    }
    at += table;
    let mut known = |row: Row| {
        let [inode, size, seconds, nanoseconds] = row.stamp;
        let place = Some(Place {
            at,
            length: row.length,
            checksum: row.checksum,
        });
        at = at.saturating_add(row.length);
        let known = Known {
            stamp: (inode, size, seconds as i64, nanoseconds as i64),
            keys: row.keys,
            place,
            summary: OnceCell::new(),
        };
        (RunId(row.id), known)
    };
    let known = rows.into_iter().map(&mut known).collect();
    // Also a summary of a hostile file is not longer than the file.
    (at == length).then_some(Loaded {
        seen: header.seen,
        known,
        file,
    })
}

/// The number of runs in the file, and the newest of them.
pub fn extent(files: &Root, path: &Path) -> Option<(u64, RunId)> {
    let (header, _) = header(&files.open(path, Access::Read).ok()?)?;
    Some((header.runs, header.newest))
}

/// The first line of the file, and the offset of what follows.
fn header(file: &File) -> Option<(Header, u64)> {
    let mut line = [0; 512];
    let read = file.read_at(&mut line, 0).ok()?;
    let end = line[..read].iter().position(|byte| *byte == b'\n')?;
    let text = checked::read(str::from_utf8(&line[..end]).ok()?)?;
    let header: Header = serde_json::from_str(text).ok()?;
    (header.version == VERSION).then_some((header, end as u64 + 1))
}

/// Replaces the file by these runs. `open` is the file that they were loaded from.
pub fn store(
    files: &Root,
    path: &Path,
    seen: Position,
    open: Option<&File>,
    known: &BTreeMap<RunId, Known>,
) -> io::Result<()> {
    let mut old = Vec::new();
    if let Some(open) = open {
        old.resize(open.metadata()?.len().min(LIMIT) as usize, 0);
        open.read_exact_at(&mut old, 0)?;
    }
    let (mut rows, mut summaries, mut newest) = (Vec::new(), Vec::new(), RunId(0));
    for (id, known) in known {
        let before = summaries.len();
        let checksum = match (known.place, known.in_memory()) {
            (Some(place), _) => {
                let old = old.get(place.at as usize..(place.at + place.length) as usize);
                summaries.extend(old.ok_or(io::ErrorKind::UnexpectedEof)?);
                // A summary that is damaged stays so.
                place.checksum
            }
            (None, Some(summary)) => {
                serde_json::to_writer(&mut summaries, summary)?;
                checked::sum(&summaries[before..])
            }
            (None, None) => continue,
        };
        let (inode, size, seconds, nanoseconds) = known.stamp;
        rows.push(Row {
            id: id.0,
            stamp: [inode, size, seconds as u64, nanoseconds as u64],
            keys: known.keys,
            length: (summaries.len() - before) as u64,
            checksum,
        });
        newest = *id;
    }
    let header = Header {
        version: VERSION,
        seen,
        runs: rows.len() as u64,
        newest,
        table: checked::sum(rows.as_bytes()),
    };
    let header = checked::line(&serde_json::to_string(&header)?);
    files.replace_with(path, |out| {
        out.write_all(format!("{header}\n").as_bytes())?;
        out.write_all(rows.as_bytes())?;
        out.write_all(&summaries)
    })
}
