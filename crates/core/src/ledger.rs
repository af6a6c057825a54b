//! The ledger, results.tsv: one row for each experiment, six columns, for people and scripts.
//!
//! A row is appended under a lock, in one write. [`replace`] is the one exception: a describe or an undo replaces the
//! line of one row in one step, and every other byte stays. Lines that somebody wrote by hand stay as they are. A row that
//! cannot be read is reported and not repaired. Columns after the sixth are the user's own: they are passed over, and stay.

mod edit;
mod once;

pub use edit::{Edit, replace};
pub use once::{append_once, length};

use crate::project::Project;
use crate::run::experiment::{Row, Status, UnknownWord};
use crate::text::sanitise;
use anyhow::{Context, Result, anyhow};
use lab_system::root::{Access, Root, refusal};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The header line.
pub const COLUMNS: [&str; 6] =
    ["commit", "throughput_sps", "kernel_us", "correctness", "status", "description"];

/// Path of the ledger. Rows of the emulated device have a file of their own: their times say nothing about a GPU.
pub fn path(project: &Project, emulated: bool) -> PathBuf {
    project.root.join(if emulated { "results.cpu.tsv" } else { "results.tsv" })
}

/// Appends one row, and the header to an empty file. On an error the file is as it was.
pub fn append(path: &Path, row: &Row) -> Result<()> {
    let fail = |error: io::Error| cannot_append(path, &error);
    let (files, name) = place(path);
    let mut file = files.wait_for_lock(name, Access::ReadAppend).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut text = Vec::new();
    match last_byte(&mut file, length).map_err(fail)? {
        None => text.extend(line(&COLUMNS.map(str::to_owned))?),
        Some(b'\n') => {}
        // A last line without its end stays as it is, and the row begins a line of its own.
        Some(_) => text.push(b'\n'),
    }
    text.extend(line(&fields(row))?);
    file.write_all(&text).and_then(|()| file.sync_data()).map_err(|error| {
        // Removes what was written of the row. If that fails too, the half row is reported when the file is read.
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
    anyhow!("cannot append to {}: {error}{remedy}, then `lab log --append-missing`", path.display())
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

fn line(fields: &[String; 6]) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new()
        .delimiter(b'\t')
        .quote_style(csv::QuoteStyle::Never)
        .from_writer(Vec::new());
    writer.write_record(fields)?;
    writer.into_inner().context("a row could not be written")
}

fn fields(row: &Row) -> [String; 6] {
    [
        row.commit.clone(),
        format!("{:?}", row.throughput_sps),
        format!("{:?}", row.kernel_us),
        row.correctness.to_string(),
        row.status.word().to_owned(),
        sanitise::words(&row.description),
    ]
}

/// Most bytes of a ledger that is read: some ten million rows.
const READ_LIMIT: u64 = 1 << 30;

/// The folder and the name of a ledger. It is opened in the folder, so that a link of that name is not followed.
fn place(path: &Path) -> (Root, &Path) {
    let name = path.file_name().map_or(path, Path::new);
    (Root::new(path.parent().unwrap_or(Path::new("/"))), name)
}

/// The content of a ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// The rows that can be read, in the file's order.
    pub rows: Vec<Row>,
    /// What is wrong with the others, each with file and line.
    pub problems: Vec<String>,
    /// The commits of whole rows that cannot be read: such a row was changed by hand, and is not missing.
    pub unread: Vec<String>,
}

/// Reads a ledger. A missing file is an empty ledger.
pub fn read(path: &Path) -> Ledger {
    match read_text(path) {
        Ok(text) => parse(&text, &file_name(path)),
        Err(problem) => Ledger { problems: vec![problem], ..Ledger::default() },
    }
}

/// The text of a ledger; empty where there is no file. The error is a sentence.
pub fn read_text(path: &Path) -> Result<String, String> {
    let (files, name) = place(path);
    match files.read(name, READ_LIMIT) {
        Ok(bytes) => {
            Ok(String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// The name of a ledger's file, for messages.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn parse(text: &str, name: &str) -> Ledger {
    let mut ledger = Ledger::default();
    for line in lines(text) {
        match line.row() {
            Ok(row) => ledger.rows.push(row),
            Err(what) => {
                ledger.problems.push(format!("{name}:{}: {what}", line.number));
                ledger.unread.extend(line.is_whole().then(|| line.commit().to_owned()));
            }
        }
    }
    ledger
}

/// One line of a ledger that is no header and not blank.
#[derive(Clone, Copy, Debug)]
pub struct Line<'t> {
    /// From 1.
    pub number: u64,
    /// Without its end.
    text: &'t str,
}

impl<'t> Line<'t> {
    /// A line that [`lines`] returned.
    pub fn again(text: &'t str) -> Self {
        Line { number: 0, text }
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    /// No field is quoted: a stray quote in one line must not swallow the next line. The file may have been written with
    /// CR LF.
    fn fields(&self) -> impl Iterator<Item = &'t str> {
        self.text.split('\t').map(|field| field.strip_suffix('\r').unwrap_or(field))
    }

    /// The first column.
    pub fn commit(&self) -> &'t str {
        self.fields().next().unwrap_or_default().trim()
    }

    /// Whether the line has all columns. One that has not is only half written.
    pub fn is_whole(&self) -> bool {
        self.fields().nth(COLUMNS.len() - 1).is_some()
    }

    /// The objective of a kept run, without a look at the other columns; `None` of any other row.
    pub fn kept(&self) -> Option<f64> {
        let mut fields = self.fields().skip(1);
        let objective = fields.next()?;
        (fields.nth(2)?.trim() == Status::Keep.word()).then(|| objective.trim().parse().ok())?
    }

    /// The row. The error says what is wrong with it.
    pub fn row(&self) -> Result<Row> {
        let mut fields = self.fields();
        let mut columns = [""; COLUMNS.len()];
        // Further columns are the user's own.
        if columns.iter_mut().any(|column| fields.next().map(|field| *column = field).is_none()) {
            return Err(anyhow!("{} columns instead of 6; the row is left out", self.fields().count()));
        }
        row(columns)
    }
}

/// The lines of a ledger, without the header and blank ones.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = text.split('\n').zip(1..).map(|(text, number)| Line { number, text });
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

fn row([commit, throughput, kernel_us, correctness, status, description]: [&str; 6]) -> Result<Row> {
    let number = |text: &str, column: &str| -> Result<f64> {
        let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        number
            .with_context(|| format!("{column} '{}' is no number; the row is left out", sanitise::text(text)))
    };
    let left_out = |column: &str, why: UnknownWord| anyhow!("{column} is {why}; the row is left out");
    let correctness = correctness.trim().parse().map_err(|why| left_out("correctness", why))?;
    Ok(Row {
        commit: sanitise::text(commit),
        throughput_sps: number(throughput, COLUMNS[1])?,
        kernel_us: number(kernel_us, COLUMNS[2])?,
        correctness,
        status: status.trim().parse().map_err(|why| left_out("status", why))?,
        description: sanitise::text(description),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::edit::edited;
    use super::*;
    use crate::run::experiment::Correctness;
    use proptest::prelude::*;

    fn sample(description: &str) -> Row {
        Row {
            commit: "a1b2c3d".into(),
            throughput_sps: 42013.5,
            kernel_us: 23.8,
            correctness: Correctness::Pass,
            status: Status::Keep,
            description: description.into(),
        }
    }

    #[test]
    fn a_new_file_gets_its_header_and_a_half_line_its_end() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("results.tsv");
        append(&path, &sample("first \"try\"\twith\na tab")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n\
             a1b2c3d\t42013.5\t23.8\tpass\tkeep\tfirst \"try\" with a tab\n"
        );
        std::fs::write(&path, format!("{text}b2c3d4e\t1.0")).unwrap();
        append(&path, &sample("second")).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        assert_eq!(after, format!("{text}b2c3d4e\t1.0\na1b2c3d\t42013.5\t23.8\tpass\tkeep\tsecond\n"));
        let ledger = read(&path);
        assert_eq!(ledger.rows.len(), 2);
        assert_eq!(ledger.problems, ["results.tsv:3: 2 columns instead of 6; the row is left out"]);
    }

    #[test]
    fn a_failed_append_names_a_remedy() {
        let temp = tempfile::tempdir().unwrap();
        let error = append(temp.path(), &sample("x")).unwrap_err().to_string();
        assert!(error.contains("move the folder away"), "{error}");
        let full = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
        let full = cannot_append(temp.path(), &full).to_string();
        assert!(full.contains("; make room on the disk, then `lab log --append-missing`"), "{full}");
        let device = append(Path::new("/dev/full"), &sample("x")).unwrap_err().to_string();
        assert!(device.contains("/dev/full is no plain file: remove it, then"), "{device}");
    }

    #[test]
    fn a_link_in_place_of_a_ledger_is_neither_read_nor_written() {
        let temp = tempfile::tempdir().unwrap();
        let (path, real) = (temp.path().join("results.tsv"), temp.path().join("elsewhere"));
        let (text, _) = in_company("# mine\n", &sample("old"), "", "\n");
        std::fs::write(&real, &text).unwrap();
        for target in ["elsewhere", "/dev/zero"] {
            std::os::unix::fs::symlink(target, &path).unwrap();
            let append = append(&path, &sample("x")).unwrap_err().to_string();
            assert!(append.contains("is a link, and lab follows no link there: remove it, then"), "{append}");
            let edit = replace(&path, &sample("old"), Edit::TakeOut).unwrap_err().to_string();
            assert!(edit.contains("is a link, and lab follows no link there"), "{edit}");
            let ledger = read(&path);
            assert!(ledger.rows.is_empty() && ledger.problems[0].contains("is a link"), "{ledger:?}");
            std::fs::remove_file(&path).unwrap();
        }
        assert_eq!(std::fs::read(&real).unwrap(), text);
    }

    #[test]
    fn rows_written_by_hand_are_read_or_reported() {
        let ledger = parse(
            "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n\
             aaa\tfast\t1\tpass\tkeep\tx\n\nbbb\t1\t1\tpass\tkept\tx\nccc\t1\t1\tok\tkeep\tx\nddd\t2\t1\tfail\tcrash\t\n\
             eee\tnan\t1\tpass\tkeep\tx\nfff\t3\t1\tpass\tkeep\tx\tmine\t\n",
            "results.tsv",
        );
        assert_eq!(ledger.rows.iter().map(|r| r.commit.as_str()).collect::<Vec<_>>(), ["ddd", "fff"]);
        assert_eq!(ledger.unread, ["aaa", "bbb", "ccc", "eee"]);
        let wanted = [
            "results.tsv:2: throughput_sps 'fast' is no number; the row is left out",
            "results.tsv:4: status is none of keep, discard, crash, rules; the row is left out",
            "results.tsv:5: correctness is neither pass nor fail; the row is left out",
            "results.tsv:7: throughput_sps 'nan' is no number; the row is left out",
        ];
        assert_eq!(ledger.problems, wanted);
    }

    fn rows() -> impl Strategy<Value = Row> {
        let status = prop_oneof![Just(Status::Keep), Just(Status::Discard), Just(Status::Crash)];
        ("[0-9a-f]{7,12}", 0.0..1e12f64, 0.0..1e6f64, prop::bool::ANY, status, any::<String>()).prop_map(
            |(commit, throughput_sps, kernel_us, pass, status, description)| Row {
                commit,
                throughput_sps,
                kernel_us,
                correctness: pass.into(),
                status,
                description,
            },
        )
    }

    /// A file with this row between other text, and where its line begins and ends.
    fn in_company(before: &str, row: &Row, after: &str, end: &str) -> (Vec<u8>, std::ops::Range<usize>) {
        let before = if before.is_empty() || before.ends_with('\n') {
            before.to_owned()
        } else {
            format!("{before}\n")
        };
        let line = fields(row).join("\t");
        let text = format!("{before}{line}{end}{after}");
        (text.into_bytes(), before.len()..before.len() + line.len() + end.len())
    }

    #[test]
    fn an_edit_of_a_line_keeps_the_mode_and_the_line_ending() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("results.tsv");
        let (text, _) = in_company("# mine\r\n", &sample("old"), "half a li", "\r\n");
        std::fs::write(&path, &text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        for _ in 0..2 {
            assert!(replace(&path, &sample("old"), Edit::Describe("new\twords")).unwrap());
            let after = std::fs::read_to_string(&path).unwrap();
            assert_eq!(after, String::from_utf8_lossy(&text).replace("\told\r", "\tnew words\r"));
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // Its description was changed by hand, but it is still the only row of that commit and status.
        assert!(replace(&path, &sample("never written"), Edit::TakeOut).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine\r\nhalf a li");
        assert!(!replace(&path, &sample("new words"), Edit::TakeOut).unwrap());
        assert!(!replace(&temp.path().join("none"), &sample("x"), Edit::TakeOut).unwrap());
        assert!(replace(Path::new("/dev/null"), &sample("x"), Edit::TakeOut).is_err());
    }

    #[test]
    fn of_a_commit_with_two_rows_only_the_one_that_is_meant_is_edited() {
        let both = [fields(&sample("a")).join("\t"), fields(&sample("b")).join("\t")].join("\n") + "\n";
        let edit = |text: &str, row: &str| edited(text.as_bytes(), &sample(row), Edit::Describe("c"));
        let once = String::from_utf8(edit(&both, "a").unwrap()).unwrap();
        assert_eq!(once, both.replace("\ta\n", "\tc\n"));
        assert_eq!(edit(&once, "a").unwrap(), once.as_bytes(), "done again, it changes nothing more");
        assert_eq!(edit(&both, "of neither"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// One line changes, and every other byte stays.
        #[test]
        fn an_edit_changes_one_line_and_no_other_byte(
            row in rows(), before in "[a-z\t\r\n\u{80}-\u{ff}]{0,60}", after in any::<String>(), text in any::<String>(),
            end in prop::sample::select(vec!["\n", "\r\n"]), take_out in prop::bool::ANY,
        ) {
            let row = Row { description: sanitise::words(&row.description), ..row };
            let (bytes, line) = in_company(&before, &row, &after, end);
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("results.tsv");
            std::fs::write(&path, &bytes).unwrap();
            let edit = if take_out { Edit::TakeOut } else { Edit::Describe(&text) };
            prop_assert!(replace(&path, &row, edit).unwrap());
            let new = Row { description: sanitise::words(&text), ..row.clone() };
            let wanted = if take_out { String::new() } else { fields(&new).join("\t") + end };
            let wanted = [&bytes[..line.start], wanted.as_bytes(), &bytes[line.end..]].concat();
            prop_assert_eq!(std::fs::read(&path).unwrap(), wanted);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Every byte that was there stays, and every row is read back.
        #[test]
        fn appending_never_rewrites_and_rows_come_back(before in any::<String>(), added in prop::collection::vec(rows(), 1..4)) {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("results.tsv");
            std::fs::write(&path, &before).unwrap();
            for row in &added {
                append(&path, row).unwrap();
            }
            let after = std::fs::read(&path).unwrap();
            prop_assert!(after.starts_with(before.as_bytes()));
            let rows = read(&path).rows;
            let wanted: Vec<Row> = added.iter().map(|r| Row { description: sanitise::words(&r.description), ..r.clone() }).collect();
            prop_assert!(rows.ends_with(&wanted), "{rows:?}\n{wanted:?}");
        }
    }
}
