//! One decision at a time, also beside a screen; and which records the decisions wrote.
//!
//! `.lab/decide.lock` is the lock, and in it is the run of every record that was written under it, a line each. So
//! whoever knows ten thousand records finds out which of them changed since without looking at each.

use crate::project::Project;
use crate::run::RunId;
use crate::run::record::Record;
use crate::store::Records;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

fn path(lab_dir: &Path) -> PathBuf {
    lab_dir.join("decide.lock")
}

/// Held while something is decided.
pub struct Deciding {
    file: File,
    pub records: Records,
}

impl Deciding {
    /// Waits until nobody else decides.
    pub fn begin(project: &Project) -> Result<Deciding> {
        let path = path(&project.lab_dir);
        let open = || -> std::io::Result<File> {
            fs::create_dir_all(&project.lab_dir)?;
            let file = File::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let file = open().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Deciding { file, records: Records::new(&project.lab_dir) })
    }

    /// Replaces the record in one step.
    pub fn write(&self, record: &Record) -> Result<()> {
        let wrote = self.records.write(record);
        // Said also where that failed: looking once more does no harm. Who cannot hear of it sees an older record,
        // which is no reason not to decide.
        let _ = (&self.file).write_all(format!("{}\n", record.start.id).as_bytes());
        wrote
    }
}

/// How much of it was read.
pub type Seen = u64;

/// The runs whose records decisions wrote since `seen`; `None` where that cannot be told, and any may be another.
pub fn since(lab_dir: &Path, seen: Seen) -> (Seen, Option<BTreeSet<RunId>>) {
    let read = || -> std::io::Result<Option<String>> {
        let mut file = File::open(path(lab_dir))?;
        if file.metadata()?.len() < seen {
            return Ok(None);
        }
        let mut text = String::new();
        file.seek(SeekFrom::Start(seen))?;
        file.read_to_string(&mut text)?;
        Ok(Some(text))
    };
    let text = match read() {
        Ok(Some(text)) => text,
        Ok(None) => return (0, None),
        // There was none, and there is none.
        Err(_) => return (0, (seen == 0).then(BTreeSet::new)),
    };
    // A line that is only half there comes whole the next time.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let ids = whole.lines().filter_map(|line| line.parse().ok().map(RunId)).collect();
    (seen + whole.len() as u64, Some(ids))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_taken_and_a_new_file_says_nothing_of_before() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let lab = temp.path();
        let ids = |list: &[u64]| Some(list.iter().copied().map(RunId).collect::<BTreeSet<_>>());
        assert_eq!(since(lab, 0), (0, ids(&[])));
        fs::write(path(lab), "3\n12\n4").expect("written");
        assert_eq!(since(lab, 0), (5, ids(&[3, 12])));
        fs::write(path(lab), "3\n12\n41\n").expect("written");
        assert_eq!(since(lab, 5), (8, ids(&[41])));
        fs::write(path(lab), "1\n").expect("written");
        assert_eq!(since(lab, 8), (0, None));
    }
}
