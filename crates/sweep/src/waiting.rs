//! The tasks of an array whose records are awaited, and how those ended that did not record all of
//! their points.

use crate::record::SweepJobs;
use crate::slurm::{TaskState, UNKNOWN};
use crate::task::TaskFolder;
use lab_system::root::Root;
use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

/// Most bytes of what a task printed.
const OUTPUT_LIMIT: u64 = 16 << 20;

/// A task of an array.
pub struct AwaitedTask {
    pub folder: TaskFolder,
    /// The points that are not recorded yet.
    pub left: HashSet<usize>,
    /// The size of its file when it was read last, and how much of it was read.
    pub size: u64,
    pub read: u64,
    /// When its file grew last.
    pub news: Instant,
    pub state: TaskState,
    /// Slurm said twice that it ended, and its file did not grow in between. Files of other machines
    /// may show late.
    pub is_over: bool,
}

impl AwaitedTask {
    pub fn new(folder: TaskFolder, left: HashSet<usize>) -> AwaitedTask {
        AwaitedTask {
            folder,
            left,
            size: 0,
            read: 0,
            news: Instant::now(),
            state: TaskState::Pending,
            is_over: false,
        }
    }

    pub fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    pub fn is_lost(&self) -> bool {
        self.is_over && !self.is_done()
    }

    /// Why it did not record all of its points, if Slurm says this word.
    fn why(&self, word: &str, files: &Root) -> String {
        let output = self.folder.output();
        let printed = || match files.read(&output, OUTPUT_LIMIT) {
            Ok(text) => last_line(&text)
                .unwrap_or_else(|| format!("it printed nothing into {}", output.display())),
            Err(_) => format!(
                "it left no file {}: is this folder shared with the nodes?",
                output.display()
            ),
        };
        let known = match word {
            "CANCELLED" => "somebody cancelled it",
            "NODE_FAIL" | "BOOT_FAIL" => "its node was lost",
            "OUT_OF_MEMORY" => "its memory was used up: set --mem in slurm.options of lab.toml",
            "PREEMPTED" => "another job took its place, and Slurm did not start it again",
            "TIMEOUT" | "DEADLINE" => {
                "its time was over: set a longer --time in slurm.options of lab.toml, or fewer slurm.points_per_task"
            }
            UNKNOWN => "Slurm forgot it, and has no accounting that says how it ended",
            _ => return printed(),
        };
        known.to_owned()
    }
}

/// So many tasks that fail one like the other are no accident. One alone may have met a bad node.
const SEVERAL: usize = 3;

/// Whether the tasks that ended are several, or all, and none did anything but fail.
pub fn all_failed(tasks: &[AwaitedTask]) -> bool {
    let failed = TaskState::Ended("FAILED".to_owned());
    let mut ended = tasks.iter().filter(|task| task.is_lost());
    let count = ended.clone().count();
    count >= SEVERAL.min(tasks.len()) && ended.all(|task| task.state == failed)
}

/// How far the tasks of an array are.
pub fn counted(tasks: &[AwaitedTask], jobs: &SweepJobs) -> SweepJobs {
    let of = |is: &dyn Fn(&AwaitedTask) -> bool| tasks.iter().filter(|task| is(task)).count();
    let is_open = |task: &AwaitedTask| !task.is_done() && !task.is_over;
    let pending = of(&|task| is_open(task) && task.state == TaskState::Pending);
    SweepJobs {
        pending,
        running: of(&is_open) - pending,
        done: of(&AwaitedTask::is_done),
        lost: of(&AwaitedTask::is_lost),
        ..jobs.clone()
    }
}

/// Says how the tasks of a job ended that did not record all of their points.
pub fn what_was_lost(job: &str, tasks: &[AwaitedTask], files: &Root) -> String {
    let mut kinds: BTreeMap<&str, Vec<&AwaitedTask>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.is_lost()) {
        if let TaskState::Ended(word) = &task.state {
            kinds.entry(word).or_default().push(task);
        }
    }
    let missing: usize = tasks.iter().map(|task| task.left.len()).sum();
    let kinds = kinds.into_iter().map(|(word, tasks)| {
        let why = tasks[0].why(word, files);
        match tasks.len() {
            1 => format!("a task ended as {word} ({why})"),
            count => format!("{count} tasks ended as {word} ({why})"),
        }
    });
    let kinds: Vec<String> = kinds.collect();
    let kinds = kinds.join("; ");
    format!("Slurm job {job} ended without {missing} of its points: {kinds}")
}

/// The last line with words, cleaned.
fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(lab_text::sanitise::words(line))
}
