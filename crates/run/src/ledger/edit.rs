//! Replaces or removes the line of one row: the one exception to a ledger that is only appended to.

use super::{COLUMNS, READ_LIMIT, Row};
use anyhow::{Result, anyhow};
use lab_system::root::{Access, Root, if_there};
use lab_text::sanitise;
use std::io::{self, Read};
use std::path::Path;

/// What to do with a row's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Replaces the description; the other columns stay byte for byte.
    Describe(&'a str),
    /// Removes the line.
    TakeOut,
}

/// Edits the line of this row in one step, under the ledger's lock: a reader sees the file before
/// the edit or after it. Returns false if there is no such line; of several it edits the last. The
/// mode stays. The same edit done again changes nothing.
pub fn replace(path: &Path, row: &Row, edit: Edit) -> Result<bool> {
    let fail = |error: io::Error| {
        let error = match error.kind() {
            io::ErrorKind::IsADirectory => "it is a folder: move it away".to_owned(),
            _ => error.to_string(),
        };
        anyhow!(
            "cannot change {}: {error}; nothing in it was changed",
            path.display()
        )
    };
    let files = Root::around(path);
    let locked = if_there(files.wait_for_lock(path, Access::Read));
    let Some(file) = locked.map_err(fail)? else {
        return Ok(false);
    };
    let about = file.metadata().map_err(fail)?;
    let mut bytes = Vec::new();
    (&*file)
        .take(READ_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > READ_LIMIT {
        return Err(fail(io::Error::other(format!(
            "it has more than {READ_LIMIT} bytes: move its old rows into another file"
        ))));
    }
    let Some(edited) = edited(&bytes, row, edit) else {
        return Ok(false);
    };
    if edited == bytes {
        return Ok(true);
    }
    // The old file stays locked until the new one has its name.
    files
        .replace_keeping_mode(path, &edited, about.permissions())
        .map_err(fail)?;
    drop(file);
    Ok(true)
}

/// The file's bytes after the edit; `None` if no line is this row's.
pub fn edited(bytes: &[u8], row: &Row, edit: Edit) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let is = |line: &[u8], wanted: &dyn Fn(&Row) -> bool| {
        let line = lab_source::without_bom(line);
        // Other processes wait for the lock: parse only the lines of this commit.
        if !line.trim_ascii_start().starts_with(row.commit.as_bytes()) {
            return false;
        }
        let line = String::from_utf8_lossy(line);
        let row = super::lines(&line).next().and_then(|line| line.row().ok());
        row.as_ref().is_some_and(wanted)
    };
    let same = |r: &Row| r.commit == row.commit && r.status == row.status;
    let last = |wanted: &dyn Fn(&Row) -> bool| lines.iter().rposition(|line| is(line, wanted));
    let at = last(&|r| same(r) && r.description == row.description).or_else(|| match edit {
        // The edit was done before.
        Edit::Describe(text) => last(&|r| same(r) && r.description == sanitise::words(text)),
        Edit::TakeOut => None,
    });
    let at = at.or_else(|| {
        // Somebody changed the description by hand: the row must be the only one of its commit and
        // status.
        let mut candidates = (0..lines.len()).filter(|&at| is(lines[at], &same));
        candidates.next().filter(|_| candidates.next().is_none())
    })?;
    let line = lines[at];
    let new = match edit {
        Edit::TakeOut => Vec::new(),
        Edit::Describe(text) => {
            let tabs = line.iter().enumerate().filter(|(_, b)| **b == b'\t');
            let columns = tabs.map(|(at, _)| at).nth(COLUMNS.len() - 2)?;
            let end = line.len()
                - line
                    .iter()
                    .rev()
                    .take_while(|b| matches!(b, b'\r' | b'\n'))
                    .count();
            // Further columns stay.
            let own = line[columns + 1..end]
                .iter()
                .position(|b| *b == b'\t')
                .map_or(end, |at| columns + 1 + at);
            [
                &line[..=columns],
                sanitise::words(text).as_bytes(),
                &line[own..],
            ]
            .concat()
        }
    };
    Some([lines[..at].concat(), new, lines[at + 1..].concat()].concat())
}
