//! The index on disk, `.lab/runs/index.jsonl`: a header line, then one line for each run.

use super::Known;
use crate::disk::stamp::Stamp;
use crate::run::RunId;
use crate::store::decision_lock::Position;
use crate::store::summary::RunSummary;
use lab_system::root::{Access, Root};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A line of the index: the summary, and the stamp of the record's file when it was read.
#[derive(Deserialize)]
pub struct Entry {
    pub stamp: Stamp,
    #[serde(rename = "brief")]
    pub summary: RunSummary,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    /// How much of the decision lock's file the index knows.
    seen: Position,
}

const VERSION: u32 = 3;

/// Most bytes of an index, and of a line of it. A larger one is read from the records again.
const LIMIT: u64 = 256 << 20;
const LINE_LIMIT: u64 = 1 << 20;

/// Reads the index; `None` where there is none, it is damaged, or another version of the lab wrote it. Reads line by
/// line: the whole text would take more memory than what is kept of it. Keeps the summaries that are `wanted`.
pub fn load(
    files: &Root,
    index: &Path,
    mut wanted: impl FnMut(&RunSummary) -> bool,
) -> Option<(Position, BTreeMap<RunId, Known>)> {
    let mut file = BufReader::with_capacity(64 * 1024, files.open(index, Access::Read).ok()?.take(LIMIT));
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> Option<usize> {
        line.clear();
        (&mut file).take(LINE_LIMIT).read_until(b'\n', line).ok()
    };
    next(&mut line)?;
    let header: Header = serde_json::from_slice(&line).ok()?;
    if header.version != VERSION {
        return None;
    }
    let mut known = BTreeMap::new();
    loop {
        if next(&mut line)? == 0 {
            return Some((header.seen, known));
        }
        let entry: Entry = serde_json::from_slice(&line).ok()?;
        known.insert(entry.summary.id, Known::new(entry, &mut wanted));
    }
}

/// Replaces the index in one step. It is not synced to disk: a lost index is read from the records again.
pub fn store(
    files: &Root,
    index: &Path,
    seen: Position,
    known: &BTreeMap<RunId, Known>,
) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        stamp: Stamp,
        #[serde(rename = "brief")]
        summary: &'a RunSummary,
    }
    files.replace_with(index, |out| {
        serde_json::to_writer(&mut *out, &Header { version: VERSION, seen })?;
        out.write_all(b"\n")?;
        for Known { stamp, summary, .. } in known.values() {
            let Some(summary) = summary else { continue };
            serde_json::to_writer(&mut *out, &Line { stamp: *stamp, summary })?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}
