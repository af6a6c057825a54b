//! What beside the bytes a screen shows, and others may change: HEAD, a lock or a merge in the
//! repository, the ledger, the runs of another lab.

use crate::disk::stamp::{Stamp, stamp};
use crate::ledger;
use crate::project::Project;
use crate::repo::{self, Head};
use crate::run::RunId;
use crate::store::Records;

/// Where two of these are the same there is nothing new to show. Taking one is cheap: it reads no
/// record and no row.
#[derive(Debug, PartialEq, Eq)]
pub struct Surroundings {
    head: Option<Head>,
    /// Why no commit could be made: a lock that goes away is news, and so is a name that git learns.
    obstacle: Option<String>,
    files: Vec<Option<Stamp>>,
    /// Of the folder of runs.
    runs: Option<Stamp>,
    newest: Option<RunId>,
}

impl Surroundings {
    /// `before` is what an earlier look found: a folder of ten thousand runs is listed only where it is another.
    pub fn look(project: &Project, before: Option<&Surroundings>) -> Self {
        let records = Records::new(&project.lab_dir);
        let runs = stamp(&project.lab_dir.join("runs"));
        let newest = match before.filter(|before| before.runs.is_some() && before.runs == runs) {
            Some(before) => before.newest,
            None => records.ids().first().copied(),
        };
        let mut files = vec![stamp(&ledger::path(project, false)), stamp(&ledger::path(project, true))];
        // Its folder, where its record is put by a rename.
        files.extend(newest.map(|id| stamp(&records.folder(id))));
        Surroundings {
            head: repo::head(project).ok(),
            obstacle: match repo::obstacle(project) {
                Ok(obstacle) => obstacle.map(|obstacle| obstacle.to_string()),
                Err(error) => Some(format!("{error:#}")),
            },
            files,
            runs,
            newest,
        }
    }
}
