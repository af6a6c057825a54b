//! The ledger, results.tsv: one row for each experiment, six columns, for people and scripts.
//!
//! A row is appended under a lock, in one write. [`replace`] is the one exception: a describe or an
//! undo replaces the line of one row in one step, and every other byte stays. Lines that somebody
//! wrote by hand stay as they are. A row that cannot be read is reported and not repaired. Columns
//! after the sixth are the user's own: they are passed over, and stay.

mod edit;
mod once;

pub use edit::{Edit, replace};
pub use once::{append_once, length};

use crate::experiment::{Row, Status, UnknownWord};
use anyhow::{Context, Result, anyhow};
use lab_project::Project;
use lab_source::without_bom;
use lab_system::root::{Access, Refused, Root, if_there, refusal};
use lab_text::sanitise;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The header line.
pub const COLUMNS: [&str; 6] = [
    "commit",
    "throughput_sps",
    "kernel_us",
    "correctness",
    "status",
    "description",
];

/// Path of the ledger. Rows of the emulated device have a file of their own: their times say
/// nothing about a GPU.
pub fn path(project: &Project, emulated: bool) -> PathBuf {
    project.base.join(if emulated {
        "results.cpu.tsv"
    } else {
        "results.tsv"
    })
}

/// Appends one row, and the header to an empty file. On an error the file is as it was.
pub fn append(path: &Path, row: &Row) -> Result<()> {
    let fail = |error: io::Error| cannot_append(path, &error);
    // A link of that name is not followed.
    let mut file = Root::around(path)
        .wait_for_lock(path, Access::ReadAppend)
        .map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut text = Vec::new();
    match last_byte(&mut file, length).map_err(fail)? {
        None => text.extend(header()),
        Some(b'\n') => {}
        // A last line without its end stays as it is, and the row begins a line of its own.
        Some(_) => text.push(b'\n'),
    }
    text.extend(line(row));
    file.write_all(&text)
        .and_then(|()| file.sync_data())
        .map_err(|error| {
            // Removes what was written of the row. If that fails too, the half row is reported when
            // the file is read.
            let _ = file.set_len(length);
            fail(error)
        })
}

/// Why a row was not appended, and what to do.
fn cannot_append(path: &Path, error: &io::Error) -> anyhow::Error {
    let remedy = match error.kind() {
        // Its message says what to do.
        _ if refusal(error).is_some() => return append_later(path, error, ""),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable (`chmod u+w`)"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room on the disk"
        }
        io::ErrorKind::IsADirectory => "move the folder away",
        _ => "remove the cause",
    };
    append_later(path, error, &format!("; {remedy}"))
}

fn append_later(path: &Path, error: &io::Error, remedy: &str) -> anyhow::Error {
    anyhow!(
        "cannot append to {}: {error}{remedy}, then `lab log --append-missing`",
        path.display()
    )
}

fn last_byte(file: &mut File, length: u64) -> io::Result<Option<u8>> {
    if length == 0 {
        return Ok(None);
    }
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(Some(byte[0]))
}

/// The word of a column in which nothing was measured: the row is about a change of the rules.
const NOTHING: &str = "-";

/// The columns of a row, as they stand in its line. The description holds no tab and no line break.
fn fields(row: &Row) -> [String; 6] {
    let figure = |value: f64| match row.status {
        Status::Rules => NOTHING.to_owned(),
        _ => format!("{value:?}"),
    };
    [
        row.commit.clone(),
        figure(row.throughput_sps),
        figure(row.kernel_us),
        row.correctness.to_string(),
        row.status.word().to_owned(),
        sanitise::words(&row.description),
    ]
}

fn line(row: &Row) -> Vec<u8> {
    (fields(row).join("\t") + "\n").into_bytes()
}

fn header() -> Vec<u8> {
    (COLUMNS.join("\t") + "\n").into_bytes()
}

/// Most bytes of a ledger that is read.
const READ_LIMIT: u64 = 64 << 20;

/// Most lines of a ledger that are read, the newest.
const LINES: usize = 200_000;

/// The content of a ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// False if it could not be read, or its first rows are left out.
    pub is_whole: bool,
    /// The rows that can be read, in the file's order.
    pub rows: Vec<Row>,
    /// What is wrong with the others, each with file and line.
    pub problems: Vec<String>,
    /// The commits of whole rows that cannot be read: such a row was changed by hand, and is not
    /// missing.
    pub unread: Vec<String>,
}

/// Reads a ledger. A missing file is an empty ledger.
pub fn read(path: &Path) -> Ledger {
    match read_text(path) {
        Ok(text) => parse(&text, &file_name(path)),
        Err(problem) => Ledger {
            problems: vec![problem],
            ..Ledger::default()
        },
    }
}

/// The text of a ledger; empty where there is no file. The error is a sentence.
pub fn read_text(path: &Path) -> Result<String, String> {
    let bytes = if_there(Root::around(path).read(path, READ_LIMIT)).map_err(|error| {
        let remedy = match refusal(&error) {
            Some(Refused::TooLarge { .. }) => ". Move its old rows into another file",
            None if error.kind() == io::ErrorKind::IsADirectory => ". Move the folder away",
            _ => "",
        };
        format!("cannot read {}: {error}{remedy}", path.display())
    })?;
    let bytes = bytes.unwrap_or_default();
    // A byte order mark belongs to no column.
    Ok(String::from_utf8_lossy(without_bom(&bytes)).into_owned())
}

/// The name of a ledger's file, for messages.
fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn parse(text: &str, name: &str) -> Ledger {
    let old = lines(text).count().saturating_sub(LINES);
    let mut ledger = Ledger {
        is_whole: old == 0,
        ..Ledger::default()
    };
    if old > 0 {
        ledger.problems.push(format!(
            "{name}: its first {old} rows are left out, because lab reads {LINES}: move them into another file"
        ));
    }
    for line in lines(text).skip(old) {
        match line.row() {
            Ok(row) => ledger.rows.push(row),
            Err(what) => {
                ledger
                    .problems
                    .push(format!("{name}:{}: {what}", line.number));
                ledger
                    .unread
                    .extend(line.is_whole().then(|| line.commit().to_owned()));
            }
        }
    }
    ledger
}

/// One line of a ledger that is no header and not blank.
#[derive(Clone, Copy, Debug)]
pub struct Line<'t> {
    /// From 1.
    number: u64,
    /// Without its end.
    text: &'t str,
}

impl<'t> Line<'t> {
    /// No field is quoted: a stray quote in one line must not swallow the next line. The file may
    /// have been written with CR LF.
    fn fields(&self) -> impl Iterator<Item = &'t str> {
        self.text
            .split('\t')
            .map(|field| field.strip_suffix('\r').unwrap_or(field))
    }

    /// The first column.
    fn commit(&self) -> &'t str {
        self.fields().next().unwrap_or_default().trim()
    }

    /// Whether the line has all columns. One that has not is only half written.
    fn is_whole(&self) -> bool {
        self.fields().nth(COLUMNS.len() - 1).is_some()
    }

    /// The objective of a kept run, without a look at the other columns; `None` of any other row.
    fn kept(&self) -> Option<f64> {
        let mut fields = self.fields().skip(1);
        let objective = fields.next()?;
        (fields.nth(2)?.trim() == Status::Keep.word()).then(|| objective.trim().parse().ok())?
    }

    /// The row. The error says what is wrong with it.
    pub fn row(&self) -> Result<Row> {
        let mut fields = self.fields();
        let mut columns = [""; COLUMNS.len()];
        // Further columns are the user's own.
        if columns
            .iter_mut()
            .any(|column| fields.next().map(|field| *column = field).is_none())
        {
            return Err(anyhow!(
                "{} columns instead of 6; the row is left out",
                self.fields().count()
            ));
        }
        row(columns)
    }
}

/// The rows of kept runs with their objectives, newest first. Of the other lines only the columns
/// before the status are looked at.
pub fn kept(text: &str) -> impl Iterator<Item = (Line<'_>, f64)> {
    let newest_first = text.rsplit('\n').map(|text| Line { number: 0, text });
    newest_first.filter_map(|line| Some((line, line.kept()?)))
}

/// The lines of a ledger, without the header and blank ones.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = text
        .split('\n')
        .zip(1..)
        .map(|(text, number)| Line { number, text });
    numbered.filter(|line| {
        let is_blank = line.text.trim().is_empty();
        let is_header = || {
            line.number == 1
                && line.text.starts_with(COLUMNS[0])
                && COLUMNS.iter().copied().eq(line.fields().take(6))
        };
        !is_blank && !is_header()
    })
}

fn row(columns: [&str; 6]) -> Result<Row> {
    let [
        commit,
        throughput,
        kernel_us,
        correctness,
        status,
        description,
    ] = columns;
    let number = |text: &str, column: &str| -> Result<f64> {
        if text.trim() == NOTHING {
            return Ok(0.0);
        }
        let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        number.with_context(|| {
            format!(
                "{column} '{}' is no number; the row is left out",
                sanitise::text(text)
            )
        })
    };
    let left_out =
        |column: &str, why: UnknownWord| anyhow!("{column} is {why}; the row is left out");
    let correctness = correctness.trim().parse();
    Ok(Row {
        commit: sanitise::text(commit),
        throughput_sps: number(throughput, COLUMNS[1])?,
        kernel_us: number(kernel_us, COLUMNS[2])?,
        correctness: correctness.map_err(|why| left_out("correctness", why))?,
        status: status
            .trim()
            .parse()
            .map_err(|why| left_out("status", why))?,
        description: sanitise::text(description),
    })
}

#[cfg(test)]
mod tests;
