//! Numbered folders in `.lab`, as `.lab/bench/N`: each has a file that is written once at the
//! beginning, and a file to which a line is added for each measurement. Both are signed as the
//! records of runs are.

use crate::signature::{self, Purpose};
use anyhow::{Context, Result, bail};
use lab_run::record::Origin;
use lab_system::file_lock::LockedFile;
use lab_system::leftovers;
use lab_system::root::{Access, Root};
use lab_system::space;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Most bytes that are read of a file, and of a line.
const READ_LIMIT: u64 = 64 << 20;
const LINE_LIMIT: u64 = 1 << 20;

/// What a series holds.
#[derive(Clone, Copy, Debug)]
pub struct SeriesKind {
    /// The name of its folder in `.lab`, and its word in messages.
    pub name: &'static str,
    /// The file that is written at the beginning.
    pub start: &'static str,
    /// The file that is only added to.
    pub lines: &'static str,
    /// What the two are signed as.
    pub purposes: (Purpose, Purpose),
}

/// Reads and writes numbered folders.
#[derive(Clone, Debug)]
pub struct Series {
    /// The folder that holds `.lab`.
    files: Root,
    folder: PathBuf,
    kind: SeriesKind,
}

/// A folder that this process adds lines to. No other process can.
#[derive(Debug)]
pub struct OpenFolder {
    series: Series,
    id: u64,
    /// The file of the lines, locked.
    lines: LockedFile,
}

impl Series {
    /// The series in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path, kind: SeriesKind) -> Self {
        Series {
            files: Root::new(lab_dir.parent().unwrap_or(lab_dir)),
            folder: lab_dir.join(kind.name),
            kind,
        }
    }

    pub fn folder(&self, id: u64) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// All numbers, the newest first.
    pub fn ids(&self) -> Vec<u64> {
        let names = self.files.entries(&self.folder).unwrap_or_default();
        let numbers = names
            .into_iter()
            .filter_map(|name| name.to_str()?.parse().ok());
        let mut ids: Vec<u64> = numbers.collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// Makes a new folder and writes its start file; `start` gets the number. Two processes at once
    /// get two numbers.
    pub fn create<T: Serialize>(&self, start: impl FnOnce(u64) -> T) -> Result<(T, OpenFolder)> {
        let SeriesKind {
            name,
            start: file,
            purposes,
            ..
        } = self.kind;
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

    /// A folder in which nothing has begun: a new one, or one that a killed process made.
    fn new_folder(&self) -> Result<OpenFolder> {
        self.files.create_dir_all(&self.folder)?;
        let ids = self.ids();
        let has_begun = |id| {
            self.files
                .metadata(&self.folder(id).join(self.kind.start))
                .is_ok()
        };
        for id in ids.iter().copied().filter(|id| !has_begun(*id)) {
            if let Ok(Some(open)) = self.open(id)
                && !has_begun(id)
            {
                return Ok(open);
            }
        }
        for id in ids.first().copied().unwrap_or(0) + 1.. {
            match self.files.create_dir(&self.folder(id)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // Another process may have taken the folder for one that nobody uses.
            if let Some(open) = self.open(id)? {
                return Ok(open);
            }
        }
        bail!("no number is left")
    }

    /// Takes the lock of a folder; `None` if another process adds lines to it. Removes what a killed
    /// process left in the folder.
    pub fn open(&self, id: u64) -> Result<Option<OpenFolder>> {
        let path = self.folder(id).join(self.kind.lines);
        let lines = self.files.take_lock(&path, Access::ReadAppend);
        let lines = lines.with_context(|| format!("cannot open {}", path.display()))?;
        let open = lines.map(|lines| OpenFolder {
            series: self.clone(),
            id,
            lines,
        });
        if let Some(open) = &open {
            leftovers::sweep(&self.files, &self.folder(id));
            open.remove_copies();
        }
        Ok(open)
    }

    /// Whether a process adds lines to this folder now.
    pub fn is_in_progress(&self, id: u64) -> bool {
        self.files.is_locked(&self.folder(id).join(self.kind.lines))
    }

    /// Reads the start file, and who wrote it. The error says what is missing or damaged.
    pub fn start<T: DeserializeOwned>(&self, id: u64) -> Result<(T, Origin)> {
        let SeriesKind {
            name,
            start,
            purposes,
            ..
        } = self.kind;
        let path = self.folder(id).join(start);
        let text = match self.files.read(&path, READ_LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("there is no {name} {id}: {} is missing", path.display())
            }
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        signature::read_file(purposes.0, &path, &text, "")
    }

    /// Tells the lines after the first `read` bytes, each with who wrote it, and adds their bytes to
    /// `read`. Lines that cannot be read are left out: the process that wrote one may have been killed
    /// halfway.
    pub fn lines<T: DeserializeOwned>(
        &self,
        id: u64,
        read: &mut u64,
        mut tell: impl FnMut(T, Origin),
    ) -> Result<()> {
        let path = self.folder(id).join(self.kind.lines);
        let failed = || format!("cannot read {}", path.display());
        let mut file = match self.files.open(&path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file.with_context(failed)?,
        };
        file.seek(SeekFrom::Start(*read)).with_context(failed)?;
        let (mut file, mut line) = (BufReader::new(file), Vec::new());
        loop {
            line.clear();
            let mut part = file.by_ref().take(LINE_LIMIT);
            let bytes = part.read_until(b'\n', &mut line).with_context(failed)? as u64;
            let value = signature::read(self.kind.purposes.1, &line).ok();
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

    /// Reads another file of a folder; `None` if it is missing or damaged.
    pub fn read<T: DeserializeOwned>(
        &self,
        id: u64,
        name: &str,
        purpose: Purpose,
    ) -> Option<(T, Origin)> {
        let text = self
            .files
            .read(&self.folder(id).join(name), READ_LIMIT)
            .ok()?;
        signature::read(purpose, &text).ok()
    }
}

impl OpenFolder {
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Adds a line, which is on disk before this returns. The error says that `lost` was not
    /// recorded.
    pub fn append<T: Serialize>(&self, value: &T, lost: &str) -> Result<()> {
        let kind = self.series.kind;
        let line = signed(kind.purposes.1, value)?;
        // A line that was only half written must not swallow this one.
        let line = format!("\n{line}\n");
        let mut lines: &File = &self.lines;
        let written = lines.write_all(line.as_bytes());
        let synced = written.and_then(|()| self.lines.sync_data());
        let path = self.path(kind.lines);
        let error = synced.with_context(|| format!("cannot write {}", path.display()));
        error.map_err(|error| space::explain(error, &format!("{lost} was not recorded")))
    }

    /// Replaces a file of the folder.
    pub fn write<T: Serialize>(&self, name: &str, purpose: Purpose, value: &T) -> Result<()> {
        let path = self.path(name);
        let text = signed(purpose, value)?;
        let written = self.series.files.replace(&path, text.as_bytes());
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.series.folder(self.id).join(name)
    }

    /// The folder for copies of the files to judge.
    pub fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    /// Removes the copies of the files.
    pub fn remove_copies(&self) {
        // A copy that stays costs disk space and nothing else.
        let _ = self.series.files.remove_dir_all(&self.tree());
    }

    /// Creates a log in the folder.
    pub fn create_log(&self, name: &str) -> Result<File> {
        let path = self.path(name);
        let created = self.series.files.create(&path);
        created
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(|error| space::explain(error, "the run could not start"))
    }

    /// Removes a log.
    pub fn remove_log(&self, name: &str) {
        // One that stays costs disk space and nothing else.
        let _ = self.series.files.remove_file(&self.path(name));
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

    const SERIES: SeriesKind = SeriesKind {
        name: "sweep",
        start: "sweep.json",
        lines: "points.jsonl",
        purposes: (Purpose::Sweep, Purpose::SweepPoint),
    };

    /// The numbers in lines that stand after the first `read` bytes.
    fn numbers(series: &Series, read: &mut u64) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        let tell = |value: serde_json::Value, _| numbers.extend(value["number"].as_u64());
        series.lines(1, read, tell)?;
        Ok(numbers)
    }

    #[test]
    fn what_was_added_since_is_read_however_long_the_file_is() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let series = Series::new(&folder.path().join(".lab"), SERIES);
        let mut read = 0;
        assert_eq!(numbers(&series, &mut read)?, [0; 0], "there is no file");
        fs::create_dir_all(series.folder(1))?;
        let path = series.folder(1).join(SERIES.lines);
        let mut file = File::create(&path)?;
        file.write_all(b"\n{\"version\":1,\"number\":1}\n\n{\"version\":1,\"numb")?;
        assert_eq!(numbers(&series, &mut read)?, [1]);
        file.write_all(b"er\":2}\n")?;
        assert_eq!(numbers(&series, &mut read)?, [2]);
        // A line that is too long is left out; so is what a killed process wrote.
        let long = vec![b'x'; (70 << 20) + 1];
        file.write_all(&long)?;
        file.write_all(b"{\"number\":3}\n\n{\"num\n{\"number\":4}\n")?;
        assert_eq!(numbers(&series, &mut read)?, [4]);
        assert_eq!(numbers(&series, &mut 0)?, [1, 2, 4]);
        assert_eq!(read, file.metadata()?.len());
        assert_eq!(numbers(&series, &mut read)?, [0; 0]);
        Ok(())
    }
}
