//! What a screen shows besides the inputs and others may change: HEAD, a lock or a merge in the
//! repository, the ledger, the runs of another lab.

use lab_git::{Head, Repo};
use lab_project::Project;
use lab_run::RunId;
use lab_run::ledger;
use lab_store::RunStore;
use lab_system::stamp::{Stamp, stamp};

/// The file of the board, in the root: `lab_board::DECISIONS`, a crate that this one does not use.
const BOARD: &str = "decisions.toml";

/// The state of the repository and of the lab's files. Two equal snapshots show the same. Taking
/// one is cheap: it reads no record and no row.
#[derive(Debug, PartialEq, Eq)]
pub struct RepositorySnapshot {
    head: Option<Head>,
    /// Why no commit could be made: a lock that is gone, or a user name that git knows by now,
    /// changes what is shown.
    obstacle: Option<String>,
    files: Vec<Option<Stamp>>,
    /// Stamp of the folder of runs.
    runs: Option<Stamp>,
    newest: Option<RunId>,
}

impl RepositorySnapshot {
    /// `before` is the last snapshot: a folder of ten thousand runs is listed only where its stamp
    /// changed.
    pub fn take(project: &Project, before: Option<&RepositorySnapshot>) -> Self {
        let store = RunStore::of(project);
        let root = project.files();
        let runs = stamp(&root, store.runs());
        let newest = match before.filter(|before| before.runs.is_some() && before.runs == runs) {
            Some(before) => before.newest,
            None => store.ids().first().copied(),
        };
        let mut files = [false, true]
            .map(|emulated| stamp(&root, &ledger::path(project, emulated)))
            .to_vec();
        // The board of decisions.
        files.push(stamp(&root, &project.root.join(BOARD)));
        // The stamp of the run's folder changes when its record is replaced.
        files.extend(newest.map(|id| stamp(&root, &store.folder(id))));
        let repo = Repo::open(project);
        RepositorySnapshot {
            head: repo.as_ref().ok().and_then(|repo| lab_git::head(repo).ok()),
            obstacle: match &repo {
                Ok(repo) => lab_git::obstacle(repo).map(|obstacle| obstacle.to_string()),
                Err(error) => Some(format!("{error:#}")),
            },
            files,
            runs,
            newest,
        }
    }
}
