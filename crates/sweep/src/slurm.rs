//! The commands of Slurm: sending an array of tasks, asking how far they are, and ending them. Slurm
//! decides where and when a task runs, and starts it again after it lost its node.

use anyhow::Context;
use itertools::Itertools;
use lab_project::config::Executor;
use lab_project::{Project, trust};
use lab_protocol::{Exit, Target};
use lab_runner::execute::NotRun;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::process::Command;

/// The variable in which a task finds its number.
pub const TASK: &str = "SLURM_ARRAY_TASK_ID";

/// Where a task is, as far as Slurm said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    Pending,
    Running,
    /// It will not run again. The word is Slurm's, as in `NODE_FAIL`, or [`UNKNOWN`].
    Ended(String),
}

/// The word of a task of which Slurm says nothing.
pub const UNKNOWN: &str = "unknown";

/// Slurm's words for a task that will not run again.
const ENDED: [&str; 10] = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

impl TaskState {
    /// `CANCELLED by 1000` and `COMPLETING` are such words.
    fn of(words: &str) -> TaskState {
        match words.split_whitespace().next().unwrap_or_default() {
            word if ENDED.contains(&word) => TaskState::Ended(word.to_owned()),
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => TaskState::Pending,
            _ => TaskState::Running,
        }
    }
}

/// How jobs of a sweep are sent.
pub struct Cluster {
    /// Options of `sbatch`.
    pub options: Vec<String>,
    /// Words of the task's command after its own.
    pub words: Vec<String>,
}

/// What an array is sent with.
pub struct Sent<'a> {
    /// The name of the job: no other job of the user has it.
    pub name: &'a str,
    pub tasks: usize,
    /// The pattern of the tasks' logs.
    pub logs: &'a str,
    /// The line for the shell that each task runs.
    pub line: &'a str,
}

/// The options of `sbatch` and `srun` for jobs on these devices: a GPU for each, and those of
/// lab.toml. `None` where lab.toml or the caller says that judges run on this machine. An error if
/// they need trust.
pub fn options(project: &Project, devices: &[Target]) -> Result<Option<Vec<String>>, NotRun> {
    if project.config.executor == Executor::Local {
        return Ok(None);
    }
    let given = &project.config.slurm.options;
    // Without a place to remember trust, nothing is trusted.
    if !given.is_empty() && !trust::is_granted(project) {
        return Err(NotRun::Refused(format!(
            "lab.toml has options for Slurm ({}), and you have not trusted it yet: read them, then `lab trust`",
            lab_text::sanitise::text(&given.join(" "))
        )));
    }
    let gpus = match devices {
        [] => usize::from(project.config.device != Target::Cpu),
        some => some.iter().filter(|device| **device != Target::Cpu).count(),
    };
    let gres = (gpus > 0).then(|| format!("--gres=gpu:{gpus}"));
    Ok(Some(
        gres.into_iter().chain(given.iter().cloned()).collect(),
    ))
}

/// Checks that this machine can send jobs.
pub fn check() -> Result<(), String> {
    printed("sbatch", &["--version".to_owned()]).map(drop)
}

/// The command by which Slurm starts `lab` on a node, with the words that are added to it, as a job of
/// this name; `None` as [`options`] says.
pub fn job(
    project: &Project,
    name: &str,
    device: Option<Target>,
) -> Result<Option<Command>, NotRun> {
    let Some(options) = options(project, device.as_slice())? else {
        return Ok(None);
    };
    let program = std::env::current_exe().context("cannot find the program of this process")?;
    let mut command = Command::new("srun");
    // One Ctrl-C ends it, as without Slurm.
    command.args(["--quit-on-interrupt", &format!("--job-name={name}")]);
    // Without it, what Slurm refuses ends with 1, as a wrong kernel does.
    command.env("SLURM_EXIT_ERROR", (Exit::NOT_JUDGED as u8).to_string());
    command.args(options).arg(program);
    Ok(Some(command))
}

/// Sends an array, and returns the id of its job. The error is what Slurm said.
pub fn send(project: &Project, options: &[String], sent: &Sent) -> Result<String, String> {
    let at_once = match project.config.slurm.tasks_at_once {
        0 => String::new(),
        most => format!("%{most}"),
    };
    let mut words = vec![
        "--parsable".to_owned(),
        format!("--job-name={}", sent.name),
        format!("--array=0-{}{at_once}", sent.tasks - 1),
        // After a lost node or for another job's sake a task starts again, and keeps its log.
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--output={}", sent.logs),
        format!("--chdir={}", project.root.display()),
    ];
    words.extend_from_slice(options);
    words.push(format!("--wrap={}", sent.line));
    let said = printed("sbatch", &words)?;
    // In a federation the cluster's name follows.
    let id = said.split([';', '\n']).next().unwrap_or_default().trim();
    match id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Err(format!("`sbatch` printed no job id but: {}", said.trim())),
        false => Ok(id.to_owned()),
    }
}

/// Ends all tasks of a job of this name.
pub fn cancel(name: &str) -> Result<(), String> {
    printed("scancel", &[format!("--name={name}")]).map(drop)
}

/// Where these tasks of a job are. An error if nobody can say now.
pub fn ask(job: &str, tasks: &[usize]) -> Result<HashMap<usize, TaskState>, String> {
    let ids = tasks.iter().map(|task| format!("{job}_{task}")).join(",");
    let queued = [
        "--noheader".to_owned(),
        "--array".to_owned(),
        "--states=all".to_owned(),
        format!("--jobs={ids}"),
        "--format=%K %T".to_owned(),
    ];
    let queued = match printed("squeue", &queued) {
        // Slurm has forgotten all of them.
        Err(why) if why.contains("Invalid job id") => String::new(),
        said => said?,
    };
    let mut states = HashMap::new();
    let pairs = queued
        .lines()
        .filter_map(|line| line.trim().split_once(' '));
    let pairs = pairs.filter_map(|(task, words)| Some((task.parse().ok()?, words)));
    states.extend(pairs.map(|(task, words)| (task, TaskState::of(words))));
    let gone = |task: &&usize| !states.contains_key(*task);
    let gone: Vec<usize> = tasks.iter().filter(gone).copied().collect();
    if gone.is_empty() {
        return Ok(states);
    }
    // It finds a task that never began only by the job.
    let recorded = [
        "--noheader".to_owned(),
        "--parsable2".to_owned(),
        "--allocations".to_owned(),
        format!("--jobs={job}"),
        "--format=JobID,State".to_owned(),
    ];
    // Without accounting there is no answer.
    let recorded = printed("sacct", &recorded).unwrap_or_default();
    let prefix = format!("{job}_");
    for (id, words) in recorded.lines().filter_map(|line| line.split_once('|')) {
        let tasks = id.strip_prefix(&prefix).into_iter().flat_map(named);
        for task in tasks.filter(|task| gone.contains(task)) {
            states.insert(task, TaskState::of(words));
        }
    }
    for task in gone {
        let unknown = || TaskState::Ended(UNKNOWN.to_owned());
        states.entry(task).or_insert_with(unknown);
    }
    Ok(states)
}

/// The tasks that `sacct` names: `7`, or together those that never began, as in `[2-5,9%3]`.
fn named(tasks: &str) -> impl Iterator<Item = usize> {
    let list = tasks.trim_matches(['[', ']']).split('%').next();
    let parts = list.unwrap_or_default().split(',');
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    parts.filter_map(range).flatten()
}

/// What a command of Slurm prints. The error is what it complains of.
fn printed(program: &str, words: &[String]) -> Result<String, String> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| not_started(program, &error))?;
    let text = |bytes: &[u8]| lab_text::sanitise::text(String::from_utf8_lossy(bytes).trim());
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{program}` refused: {}", text(&output.stderr))),
    }
}

/// Why a program of Slurm could not be started.
pub fn not_started(program: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!(
            "there is no Slurm here (`{program}` is not in PATH): go to a machine from which jobs are sent, or choose \
             `--executor local`"
        ),
        _ => format!("`{program}` could not be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_slurm_tell_which_tasks_will_not_run_again() {
        for (words, ended) in [
            ("CANCELLED by 1000", true),
            ("NODE_FAIL", true),
            ("COMPLETING", false),
            ("REQUEUED", false),
            ("PENDING", false),
        ] {
            let is_ended = matches!(TaskState::of(words), TaskState::Ended(_));
            assert_eq!(is_ended, ended, "{words}");
        }
    }

    #[test]
    fn tasks_that_never_began_are_named_together() {
        let of = |text| named(text).collect::<Vec<_>>();
        assert_eq!(of("7"), [7]);
        assert_eq!(of("[2-5,9%3]"), [2, 3, 4, 5, 9]);
        assert_eq!(of("[2"), [2]);
        assert_eq!(of("batch"), [0; 0]);
    }
}
