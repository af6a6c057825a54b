//! The index of all records on disk: one line says which index it is, and each further one is a brief.

use super::{Brief, Known};
use crate::disk::stamp::Stamp;
use crate::run::RunId;
use crate::store::decision_lock::Seen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// A line of the index.
#[derive(Deserialize)]
pub struct Shelved {
    pub stamp: Stamp,
    pub brief: Brief,
}

/// The first line of an index; each further one is a [`Shelved`].
#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    seen: Seen,
}

const VERSION: u32 = 3;

/// An index that cannot be read, or is another lab's, is none. It is read line by line: whole it would take more
/// memory than all that is kept of it.
pub fn load(index: &Path, mut wanted: impl FnMut(&Brief) -> bool) -> Option<(Seen, BTreeMap<RunId, Known>)> {
    let mut file = BufReader::with_capacity(64 * 1024, fs::File::open(index).ok()?);
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).ok()?;
    let head: Head = serde_json::from_slice(&line).ok()?;
    if head.version != VERSION {
        return None;
    }
    let mut known = BTreeMap::new();
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line).ok()? == 0 {
            return Some((head.seen, known));
        }
        let shelved: Shelved = serde_json::from_slice(&line).ok()?;
        known.insert(shelved.brief.id, Known::new(shelved, &mut wanted));
    }
}

pub fn store(index: &Path, seen: Seen, known: &BTreeMap<RunId, Known>) -> std::io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        stamp: Stamp,
        brief: &'a Brief,
    }
    let folder = index.parent().unwrap_or(Path::new("."));
    let file = tempfile::Builder::new().prefix(".index").tempfile_in(folder)?;
    let mut out = BufWriter::with_capacity(64 * 1024, file.as_file());
    serde_json::to_writer(&mut out, &Head { version: VERSION, seen })?;
    out.write_all(b"\n")?;
    for Known { stamp, brief, .. } in known.values() {
        let Some(brief) = brief else { continue };
        serde_json::to_writer(&mut out, &Line { stamp: *stamp, brief })?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    drop(out);
    file.persist(index).map_err(|e| e.error)?;
    Ok(())
}
