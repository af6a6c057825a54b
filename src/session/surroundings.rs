//! What beside the bytes a screen shows, and others may change: HEAD, a lock or a merge in the
//! repository, the ledger, the runs of another lab.

use super::ledger;
use super::project::Project;
use super::records::Records;
use super::repo::{self, Head};
use super::run::RunId;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// Where two of these are the same there is nothing new to show. Taking one is cheap: it reads no
/// record and no row.
#[derive(Debug, PartialEq, Eq)]
pub struct Surroundings {
    head: Option<Head>,
    /// Why no commit could be made: a lock that goes away is news, and so is a name that git learns.
    obstacle: Option<String>,
    files: Vec<Stamp>,
    newest: Option<RunId>,
}

/// Inode, size, and when it was last written.
type Stamp = Option<(u64, u64, i64, i64)>;

/// Written so lately that a further change could bear the same time: file systems count in their own steps.
fn is_fresh((_, _, written, _): (u64, u64, i64, i64)) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_secs().saturating_sub(written.try_into().unwrap_or(u64::MAX)) < 3
}

impl Surroundings {
    /// `before` is the look before this one: a folder of thousands of runs is not listed again where
    /// nothing came into it.
    pub fn look(project: &Project, before: Option<&Surroundings>) -> Self {
        let records = Records::new(&project.lab_dir);
        let mut files = vec![
            stamp(&ledger::path(project, false)),
            stamp(&ledger::path(project, true)),
            stamp(&project.lab_dir.join("runs")),
        ];
        let newest = match before {
            Some(before) if before.files.get(2) == files.get(2) && files[2].is_some_and(|s| !is_fresh(s)) => {
                before.newest
            }
            _ => records.ids().first().copied(),
        };
        // Its folder, where its record is put by a rename.
        files.extend(newest.map(|id| stamp(&records.folder(id))));
        Surroundings {
            head: repo::head(project).ok(),
            obstacle: repo::obstacle(project).unwrap_or_else(|error| Some(format!("{error:#}"))),
            files,
            newest,
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    let m = std::fs::metadata(path).ok()?;
    Some((m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}
