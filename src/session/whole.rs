//! One experiment whole: what is too much to hold of all of them at once.

use super::experiment::Key;
use super::follow::read_log;
use super::project::Project;
use super::record::Record;
use super::records::Records;
use super::repo::{self, Notes};
use super::sanitise::LogLine;

/// Lines of run.log that are read at most, the last ones.
const LOG_LINES: usize = 20_000;

/// Each part stands for itself: of an experiment of another clone there is no run.log, and a commit that was not
/// fetched has no source.
#[derive(Clone, Debug)]
pub struct Whole {
    pub key: Key,
    /// `None` where neither this repository's runs nor the notes hold it.
    pub record: Option<Record>,
    /// kernel.cu as it was judged.
    pub source: Result<String, String>,
    /// What the experiment changed in kernel.cu, as a unified diff.
    pub diff: Result<String, String>,
    pub log: Vec<LogLine>,
}

/// Reads disk and git: not for the screen's own thread.
pub fn whole(project: &Project, key: &Key) -> Whole {
    let records = Records::new(&project.lab_dir);
    let noted = || serde_json::from_str(&Notes::open(project).of(&key.commit)?).ok();
    let record = key.run.and_then(|run| records.read(run).ok()).or_else(noted);
    let log = key.run.and_then(|run| read_log(&records.log(run), LOG_LINES).ok()).unwrap_or_default();
    let in_words = |error: anyhow::Error| format!("{error:#}");
    Whole {
        record,
        source: repo::show(project, &key.commit).map_err(in_words),
        diff: repo::change(project, &key.commit).map_err(in_words),
        log,
        key: key.clone(),
    }
}
