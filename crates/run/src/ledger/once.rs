//! Appends a row that an earlier process may have appended already.

use super::{READ_LIMIT, Row, append, cannot_append, header, line};
use anyhow::Result;
use lab_system::root::{Access, Root, if_there};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Size of the ledger in bytes; 0 if there is none.
pub fn length(path: &Path) -> u64 {
    let about = Root::around(path).metadata(path);
    about.map_or(0, |about| about.len())
}

/// Appends a row, unless it stands behind the first `from` bytes: that was the size of the ledger
/// when the row was decided. A row of which only the beginning was written is written whole.
pub fn append_once(path: &Path, row: &Row, from: u64) -> Result<()> {
    match if_there(is_there(path, row, from)) {
        Ok(Some(true)) => Ok(()),
        Ok(Some(false) | None) => append(path, row),
        // Whether the row is there is not known: it must not stand there twice.
        Err(error) => Err(cannot_append(path, &error)),
    }
}

fn is_there(path: &Path, row: &Row, from: u64) -> io::Result<bool> {
    let files = Root::around(path);
    // A ledger that did not grow does not hold the row.
    if files.metadata(path)?.len() == from {
        return Ok(false);
    }
    let mut file = files.wait_for_lock(path, Access::ReadAppend)?;
    let length = file.metadata()?.len();
    // Somebody took lines out meanwhile.
    let from = if length < from { 0 } else { from };
    if length == from {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    (&*file).take(READ_LIMIT).read_to_end(&mut tail)?;
    let wanted = line(row);
    if tail
        .split_inclusive(|byte| *byte == b'\n')
        .any(|found| found == wanted)
    {
        return Ok(true);
    }
    // The beginning of what `append` writes, whatever stood before it.
    let texts = [
        wanted.clone(),
        [b"\n".as_slice(), &wanted].concat(),
        [header(), wanted].concat(),
    ];
    if texts.iter().any(|text| text.starts_with(&tail)) {
        file.set_len(from)?;
    }
    Ok(false)
}
