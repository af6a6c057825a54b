//! Numbered folders in `.lab`, as `.lab/bench/N`: each has a file that is written once at the
//! beginning, and a file to which a line is added for each measurement. Both are signed as the
//! records of runs are.

use crate::signature::{self, Purpose};
use anyhow::{Context, Error, Result, bail, ensure};
use lab_project::Project;
use lab_run::record::{Origin, is_inside};
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::leftovers;
use lab_system::root::{Access, Root, if_there};
use lab_system::space;
use lab_text::sanitise;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Most bytes of all lines together.
const LINES_LIMIT: u64 = 256 << 20;

/// Most bytes that are read of a file, and of a line.
const READ_LIMIT: u64 = 64 << 20;
const LINE_LIMIT: u64 = 1 << 20;

/// The number of a bench or a sweep: it counts from 1 within a repository.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct SeriesId(pub u64);

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a series holds.
#[derive(Clone, Copy, Debug)]
pub struct SeriesKind {
    /// The name of its folder in `.lab`, and its word in messages.
    pub name: &'static str,
    /// The file that is written at the beginning.
    pub start: &'static str,
    /// The file that is only added to.
    pub lines: &'static str,
    /// What a line is about: the name of a log begins with it.
    pub line: &'static str,
    /// What the two are signed as.
    pub purposes: (Purpose, Purpose),
}

/// What is written at the beginning.
pub trait SeriesStart: Serialize + DeserializeOwned {
    const KIND: SeriesKind;
    /// The start with its lines.
    type Whole;

    /// Its number, its kernel, and who wrote it, which is known once it is read.
    fn about(&mut self) -> (SeriesId, &str, &mut Origin);

    /// Reads the lines that stand after the first `read` bytes, and adds their bytes to `read`. Lines
    /// of another folder are left out, and those that cannot be read: they are measured again.
    fn with_lines(self, series: &Series<Self>, read: &mut u64) -> Result<Self::Whole>;
}

/// Reads and writes numbered folders that begin with an `S`.
#[derive(Clone, Debug)]
pub struct Series<S> {
    /// The folder that holds `.lab`.
    files: Root,
    folder: PathBuf,
    of: PhantomData<S>,
}

/// A folder that this process adds lines to. No other process can.
#[derive(Debug)]
pub struct OpenFolder {
    files: Root,
    folder: PathBuf,
    kind: SeriesKind,
    id: SeriesId,
    /// The file of the lines, locked.
    lines: LockedFile,
}

impl<S: SeriesStart> Series<S> {
    /// The series of a project.
    pub fn of(project: &Project) -> Self {
        Series::new(&project.lab_dir)
    }

    /// The series in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path) -> Self {
        Series {
            files: Root::around(lab_dir),
            folder: lab_dir.join(S::KIND.name),
            of: PhantomData,
        }
    }

    pub fn folder(&self, id: SeriesId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// The file to which lines are added.
    pub fn lines_file(&self, id: SeriesId) -> PathBuf {
        self.folder(id).join(S::KIND.lines)
    }

    /// Path of the log that belongs to a line.
    pub fn log(&self, id: SeriesId, line: u32) -> PathBuf {
        self.folder(id).join(S::KIND.log_name(line))
    }

    /// All numbers, the newest first.
    pub fn ids(&self) -> Vec<SeriesId> {
        let numbers = self.files.numbers(&self.folder).unwrap_or_default();
        numbers.into_iter().map(SeriesId).collect()
    }

    /// Makes a new folder and writes its start file; `start` gets the number. Two processes at once
    /// get two numbers.
    pub fn create(&self, start: impl FnOnce(SeriesId) -> S) -> Result<(S, OpenFolder)> {
        let SeriesKind {
            name,
            start: file,
            purposes,
            ..
        } = S::KIND;
        let shown = self.folder.display();
        let failed = || format!("cannot make a folder for the {name} in {shown}");
        let explained = |error| space::explain(error, &format!("no {name} could start"));
        let open = self.new_folder().with_context(failed).map_err(explained)?;
        let start = start(open.id);
        match open.write(file, purposes.0, &start) {
            Ok(()) => Ok((start, open)),
            Err(error) => {
                let _ = self.files.remove_dir_all(&self.folder(open.id));
                Err(explained(error))
            }
        }
    }

    /// A new folder. The number of one that is there already is not used again: records without their
    /// start file are those of somebody's earlier work.
    fn new_folder(&self) -> Result<OpenFolder> {
        self.files.create_dir_all(&self.folder)?;
        let ids = self.ids();
        for number in ids.first().map_or(0, |id| id.0) + 1.. {
            let id = SeriesId(number);
            match self.files.create_dir(&self.folder(id)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            if let Some(open) = self.open(id)? {
                return Ok(open);
            }
        }
        bail!("no number is left")
    }

    /// Whether the folder has a start file.
    fn has_begun(&self, id: SeriesId) -> bool {
        let start = self.folder(id).join(S::KIND.start);
        self.files.metadata(&start).is_ok()
    }

    /// Takes the lock of a folder; `None` if another process adds lines to it. Removes what a killed
    /// process left in the folder.
    pub fn open(&self, id: SeriesId) -> Result<Option<OpenFolder>> {
        let path = self.lines_file(id);
        let lines = self.files.take_lock(&path, Access::ReadAppend);
        let lines = lines.cannot("open", &path)?;
        let open = lines.map(|lines| OpenFolder {
            files: self.files.clone(),
            folder: self.folder(id),
            kind: S::KIND,
            id,
            lines,
        });
        if let Some(open) = &open {
            leftovers::sweep(&self.files, &open.folder);
            open.remove_copies();
        }
        Ok(open)
    }

    /// Whether a process adds lines to this folder now.
    pub fn is_in_progress(&self, id: SeriesId) -> bool {
        self.files.is_locked(&self.lines_file(id))
    }

    /// Reads the start file with its lines.
    pub fn read(&self, id: SeriesId) -> Result<S::Whole> {
        self.start(id)?.with_lines(self, &mut 0)
    }

    /// Reads the start file. The error says what is missing or damaged.
    pub fn start(&self, id: SeriesId) -> Result<S> {
        let SeriesKind {
            name,
            start,
            purposes,
            ..
        } = S::KIND;
        let path = self.folder(id).join(start);
        let shown = path.display();
        let text = if_there(self.files.read(&path, READ_LIMIT));
        let text = text.with_context(|| format!("cannot read {shown}"))?;
        let missing = || format!("there is no {name} {id}: {shown} is missing");
        let text = text.with_context(missing)?;
        let (mut start, read_from): (S, Origin) =
            signature::read_file(purposes.0, &path, &text, "")?;
        let (of, kernel, origin) = start.about();
        ensure!(of == id, "{shown} is of {name} {of}, not of {name} {id}");
        ensure!(
            is_inside(kernel),
            "{shown} names a kernel outside of the repository: {}",
            sanitise::text(kernel)
        );
        *origin = read_from;
        Ok(start)
    }

    /// The starts for which `wanted` holds, among those that can be read, newest first.
    pub fn starts(&self, wanted: impl Fn(&S) -> bool) -> impl Iterator<Item = S> {
        let ids = self.ids().into_iter();
        ids.filter_map(|id| self.start(id).ok()).filter(wanted)
    }

    /// Why the start files that cannot be read cannot, newest first.
    pub fn problems(&self) -> impl Iterator<Item = Error> {
        let begun = self.ids().into_iter().filter(|id| self.has_begun(*id));
        begun.filter_map(|id| self.start(id).err())
    }

    /// The same with their lines.
    pub fn all(&self, wanted: impl Fn(&S) -> bool) -> impl Iterator<Item = S::Whole> {
        self.starts(wanted)
            .filter_map(|start| start.with_lines(self, &mut 0).ok())
    }

    /// The one of this number, or the newest of the project's kernel.
    pub fn of_number_or_newest(&self, number: Option<u64>, project: &Project) -> Result<S::Whole> {
        if let Some(number) = number {
            return self.read(SeriesId(number));
        }
        let (kernel, this, name) = (&project.kernel_name, &project.argument, S::KIND.name);
        let newest = self.starts(|_| true).find_map(|mut start| {
            let is_of_kernel = start.about().1 == kernel;
            is_of_kernel.then(|| start.with_lines(self, &mut 0))
        });
        let none = || format!("there is no {name} of {kernel} yet: `lab {name}{this}` makes one");
        newest.transpose()?.with_context(none)
    }

    /// Tells the lines after the first `read` bytes, each with who wrote it, and adds their bytes to
    /// `read`. Lines that cannot be read are left out: the process that wrote one may have been killed
    /// halfway.
    pub fn lines<T: DeserializeOwned>(
        &self,
        id: SeriesId,
        read: &mut u64,
        mut tell: impl FnMut(T, Origin),
    ) -> Result<()> {
        let path = self.lines_file(id);
        let file = if_there(self.files.open(&path, Access::Read));
        let Some(mut file) = file.cannot("read", &path)? else {
            return Ok(());
        };
        let bytes = file.metadata().cannot("read", &path)?.len();
        ensure!(
            bytes <= LINES_LIMIT,
            "{} has {bytes} bytes: at most {LINES_LIMIT} are read",
            path.display()
        );
        file.seek(SeekFrom::Start(*read)).cannot("read", &path)?;
        let (mut file, mut line) = (BufReader::new(file), Vec::new());
        loop {
            line.clear();
            let mut part = file.by_ref().take(LINE_LIMIT);
            let bytes = part.read_until(b'\n', &mut line).cannot("read", &path)? as u64;
            let value = signature::read(S::KIND.purposes.1, &line).ok();
            // The end of the file, or half a line, whose other half may come.
            if value.is_none() && bytes < LINE_LIMIT && !line.ends_with(b"\n") {
                return Ok(());
            }
            *read += bytes;
            if let Some((value, origin)) = value {
                tell(value, origin);
            }
        }
    }

    /// How many lines cannot be read. What they told is measured again.
    pub fn damaged_lines(&self, id: SeriesId) -> usize {
        let text = self.files.read(&self.lines_file(id), LINES_LIMIT);
        let text = text.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let is_damaged = |line: &&[u8]| {
            let is_blank = line.trim_ascii().is_empty();
            !is_blank && signature::read::<Value>(S::KIND.purposes.1, line).is_err()
        };
        lines.filter(is_damaged).count()
    }

    /// Reads another file of a folder; `None` if it is missing. The error says what is damaged, or that
    /// a newer lab wrote the file.
    pub fn file<T: DeserializeOwned>(
        &self,
        id: SeriesId,
        name: &str,
        purpose: Purpose,
    ) -> Result<Option<(T, Origin)>> {
        let path = self.folder(id).join(name);
        let text = if_there(self.files.read(&path, READ_LIMIT)).cannot("read", &path)?;
        let read = |text: Vec<u8>| signature::read_file(purpose, &path, &text, "; remove it");
        text.map(read).transpose()
    }

    /// Replaces another file of a folder, also while a process adds lines there.
    pub fn replace<T: Serialize>(
        &self,
        id: SeriesId,
        name: &str,
        purpose: Purpose,
        value: &T,
    ) -> Result<()> {
        let path = self.folder(id).join(name);
        let text = signed(purpose, value)?;
        self.files
            .replace(&path, text.as_bytes())
            .cannot("write", &path)
    }
}

impl SeriesKind {
    fn log_name(&self, line: u32) -> String {
        format!("{}-{line}.log", self.line)
    }
}

impl OpenFolder {
    /// Adds a line, which is on disk before this returns. The error says that the line of this
    /// number was not recorded.
    pub fn append<T: Serialize>(&self, value: &T, number: u32) -> Result<()> {
        let (kind, id) = (self.kind, self.id);
        let line = signed(kind.purposes.1, value)?;
        // A line that was only half written must not swallow this one.
        let line = format!("\n{line}\n");
        let mut lines: &File = &self.lines;
        let written = lines.write_all(line.as_bytes());
        let synced = written.and_then(|()| self.lines.sync_data());
        let path = self.path(kind.lines);
        let error = synced.cannot("write", &path);
        let lost = || {
            format!(
                "{} {number} of {} {id} was not recorded",
                kind.line, kind.name
            )
        };
        error.and_so(&lost())
    }

    /// Replaces a file of the folder.
    pub fn write<T: Serialize>(&self, name: &str, purpose: Purpose, value: &T) -> Result<()> {
        let path = self.path(name);
        let text = signed(purpose, value)?;
        let written = self.files.replace(&path, text.as_bytes());
        written.cannot("write", &path)
    }

    /// Path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder for copies of the files to judge.
    pub fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    /// Removes the copies of the files.
    pub fn remove_copies(&self) {
        // A copy that stays costs disk space and nothing else.
        let _ = self.files.remove_dir_all(&self.tree());
    }

    /// Path of the log that belongs to a line.
    pub fn log(&self, line: u32) -> PathBuf {
        self.path(&self.kind.log_name(line))
    }

    /// Creates a log in the folder.
    pub fn create_log(&self, path: &Path) -> Result<File> {
        let created = self.files.create(path);
        created
            .cannot("write", path)
            .and_so("the run could not start")
    }

    /// Removes the log that belongs to a line.
    pub fn remove_log(&self, line: u32) {
        // One that stays costs disk space and nothing else.
        let _ = self.files.remove_file(&self.log(line));
    }
}

/// The JSON text on one line. Without a key it is written unsigned: it can be read, and not
/// resumed.
fn signed<T: Serialize>(purpose: Purpose, value: &T) -> Result<String> {
    signature::signed_line(purpose, value).or_else(|_| Ok(serde_json::to_string(value)?))
}

/// The origin of what this process writes: without a key it is unsigned.
pub fn own_origin() -> Origin {
    if signature::key_problem().is_some() {
        Origin::Foreign
    } else {
        Origin::Own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[derive(Serialize, Deserialize)]
    struct Start;

    impl SeriesStart for Start {
        const KIND: SeriesKind = SeriesKind {
            name: "sweep",
            start: "sweep.json",
            lines: "points.jsonl",
            line: "point",
            purposes: (Purpose::Sweep, Purpose::SweepPoint),
        };
        /// The numbers in the lines.
        type Whole = Vec<u64>;

        fn about(&mut self) -> (SeriesId, &str, &mut Origin) {
            unreachable!("no start is read")
        }

        fn with_lines(self, series: &Series<Self>, read: &mut u64) -> Result<Vec<u64>> {
            let mut numbers = Vec::new();
            let tell = |value: serde_json::Value, _| numbers.extend(value["number"].as_u64());
            series.lines(SeriesId(1), read, tell)?;
            Ok(numbers)
        }
    }

    /// The numbers in lines that stand after the first `read` bytes.
    fn numbers(series: &Series<Start>, read: &mut u64) -> Result<Vec<u64>> {
        Start.with_lines(series, read)
    }

    #[test]
    fn what_was_added_since_is_read_however_long_the_file_is() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let series = Series::new(&folder.path().join(".lab"));
        let mut read = 0;
        assert_eq!(numbers(&series, &mut read)?, [0; 0], "there is no file");
        fs::create_dir_all(series.folder(SeriesId(1)))?;
        let mut file = File::create(series.lines_file(SeriesId(1)))?;
        file.write_all(b"\n{\"version\":1,\"number\":1}\n\n{\"version\":1,\"numb")?;
        assert_eq!(numbers(&series, &mut read)?, [1]);
        file.write_all(b"er\":2}\n")?;
        assert_eq!(numbers(&series, &mut read)?, [2]);
        // A line that is too long is left out; so is what a killed process wrote.
        let long = vec![b'x'; (70 << 20) + 1];
        file.write_all(&long)?;
        file.write_all(b"{\"number\":3}\n\n{\"num\n{\"version\":1,\"number\":4}\n")?;
        assert_eq!(numbers(&series, &mut read)?, [4]);
        assert_eq!(series.damaged_lines(SeriesId(1)), 2);
        assert_eq!(numbers(&series, &mut 0)?, [1, 2, 4]);
        assert_eq!(read, file.metadata()?.len());
        assert_eq!(numbers(&series, &mut read)?, [0; 0]);
        file.set_len(LINES_LIMIT + 1)?;
        assert!(numbers(&series, &mut read).is_err());
        Ok(())
    }
}
