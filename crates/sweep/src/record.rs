//! What is stored of a sweep and of each of its points.

use itertools::Itertools;
use jiff::Timestamp;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::Measure;
use lab_run::Fingerprint;
use lab_run::inputs::Inputs;
use lab_run::record::{Origin, VERSION};
pub use lab_run::sweep::PointOutcome;
use lab_run::verdict::{Change, Figure};
pub use lab_store::series::SeriesId as SweepId;
use lab_text::figures::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a sweep tries: `sweep.json`, written once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepStart {
    pub version: u32,
    /// Version of the lab that wrote it.
    pub lab: String,
    /// Known once it is read; stands in no file.
    #[serde(skip)]
    pub origin: Origin,
    pub sweep: SweepId,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Hash of everything that a verdict on any point depends on, but for the point's values.
    pub fingerprint: Fingerprint,
    /// Whether all tracked files were as in HEAD; see [`lab_git::is_clean`]. `None` if that is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_tree: Option<bool>,
    /// The devices that were asked for: `auto`, `cpu`, `cuda:0,cuda:1`; on a cluster `slurm auto`.
    pub target: String,
    pub parameters: Vec<SweepParameter>,
    /// The texts of the `lab: require` lines.
    pub requires: Vec<String>,
    /// See [`lab_source::tune::Space::excluded_pairs`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded: BTreeSet<((usize, usize), (usize, usize))>,
    /// How many points these leave.
    pub points: usize,
    /// What random orders follow from.
    pub seed: u64,
    pub started: Timestamp,
}

/// How the devices of a sweep on a cluster begin in [`SweepStart::target`].
pub const SLURM: &str = "slurm ";

impl SweepStart {
    /// The option with which `lab sweep` goes on with it, with a blank before it; empty of a sweep on
    /// this machine.
    pub fn executor_option(&self) -> &'static str {
        match self.target.starts_with(SLURM) {
            true => " --executor slurm",
            false => "",
        }
    }

    /// The name of the job of an array in Slurm: another sweep has another seed.
    pub fn job_name(&self, array: u32) -> String {
        format!("lab-sweep-{:016x}-{array}", self.seed)
    }

    /// The version and the lab of a sweep that begins now.
    pub fn written_by() -> (u32, String) {
        (VERSION, env!("CARGO_PKG_VERSION").to_owned())
    }
}

/// A constant, and the values that are tried.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SweepParameter {
    pub name: String,
    pub values: Vec<String>,
}

/// A point that was measured, or was found to be of no use: a line of `points.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Known once it is read; stands in no file.
    #[serde(skip)]
    pub origin: Origin,
    pub sweep: SweepId,
    /// That of the sweep: a line of another sweep counts for nothing here.
    pub fingerprint: Fingerprint,
    /// From 1, in the order in which the points were begun.
    pub number: u32,
    /// The number of the combination, from 0.
    pub point: usize,
    /// The value of each parameter.
    pub values: Vec<String>,
    /// Whether the kernel on disk had these values when the sweep began.
    pub written: bool,
    /// Git blob id of the point's bytes, hex.
    pub blob: String,
    pub outcome: PointOutcome,
    /// The reason, if it did not pass.
    pub why: String,
    /// The figure; only of a correct point.
    pub figure: Option<Figure>,
    /// Which of two figures is better.
    pub goal: Goal,
    /// The change against the incumbent, if the two were timed in turns.
    pub change: Option<Change>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    pub driver: Option<String>,
    pub compiler: Option<String>,
    /// Clocks, temperature, throttling and foreign processes while it was measured.
    pub device_state: Option<String>,
    /// The times are of an emulated device and say nothing about a GPU.
    pub emulated: bool,
    pub caveats: Vec<String>,
    pub started: Timestamp,
    /// How long its judge took. 0 of a point that was only built.
    pub seconds: f64,
    /// How long the sweep had gone on when it was recorded, over all its processes.
    pub elapsed_s: f64,
}

impl SweepPoint {
    /// The change with growth as the better direction.
    pub fn improvement(&self) -> Option<Change> {
        self.change.map(|change| change.improvement(self.goal))
    }

    /// The ratio of its speed to the incumbent's: 1.02 is 2 % faster.
    pub fn ratio(&self) -> Option<Measure> {
        let improvement = self.improvement()?;
        Some(improvement.as_ratio(&Objective::Throughput, Goal::Maximize))
    }
}

/// A sweep and its points, in the order in which they were recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub start: SweepStart,
    pub points: Vec<SweepPoint>,
}

impl Sweep {
    /// Whether all of it is this user's.
    pub fn is_own(&self) -> bool {
        let is_own = |origin| origin == Origin::Own;
        is_own(self.start.origin) && self.points.iter().all(|point| is_own(point.origin))
    }

    /// Whether a point was on an emulated device.
    pub fn is_emulated(&self) -> bool {
        self.points.iter().any(|point| point.emulated)
    }

    /// `NVIDIA H200`, and of a sweep on several devices `NVIDIA H200, 2 lanes: cuda:0, cuda:1`.
    pub fn devices(&self) -> String {
        let mut names = self.points.iter().filter_map(|it| it.device.clone());
        let lanes: Vec<&str> = self.start.target.split(',').collect();
        let count = lanes.len();
        let lanes = (count > 1).then(|| format!("{count} lanes: {}", lanes.join(", ")));
        names.next().into_iter().chain(lanes).join(", ")
    }

    /// Seconds that the sweep has gone on.
    pub fn elapsed_s(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.elapsed_s)
    }
}

/// Most tasks of an array: Slurm's default limit (`MaxArraySize`) is 1,001.
const MOST_TASKS: usize = 1000;

/// What an array judges: `array.json`, written once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Array {
    pub sweep: SweepId,
    pub fingerprint: Fingerprint,
    /// From 1 within the sweep.
    pub array: u32,
    /// The numbers of the combinations, in the order in which they are tried.
    pub points: Vec<usize>,
    /// How many of them a task judges; the last one may have fewer.
    pub each: usize,
    /// The files when the sweep began, without their bytes.
    pub inputs: Inputs,
}

/// The points of a sweep that were written into the kernel: `applied.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedPoints {
    pub sweep: SweepId,
    /// Their numbers.
    pub points: BTreeSet<u32>,
}

/// How far the newest array of a sweep is: `jobs.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SweepJobs {
    /// Known once it is read; stands in no file.
    #[serde(skip)]
    #[schemars(skip)]
    pub origin: Origin,
    /// The number of the array within the sweep, from 1.
    pub array: u32,
    /// The id of its job in Slurm.
    pub job: String,
    pub tasks: usize,
    pub pending: usize,
    pub running: usize,
    /// Tasks whose points are all recorded.
    pub done: usize,
    /// Tasks that ended without all of their points.
    pub lost: usize,
    /// Why Slurm could not say how far the silent tasks are when it was asked last; null if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
}

impl SweepJobs {
    /// Whether Slurm still has tasks of it, as far as is known.
    pub fn is_alive(&self) -> bool {
        self.pending + self.running > 0
    }

    /// `Slurm job 123: 20 tasks: 4 running, 12 pending, 3 done, 1 lost`, and that Slurm does not
    /// answer; without an id of the job, that the tasks are being sent.
    pub fn in_words(&self) -> String {
        let tasks = counted(self.tasks, "task");
        if self.job.is_empty() {
            return format!(
                "`sbatch` sends {tasks} to Slurm, and waits where Slurm does not answer"
            );
        }
        let counts = [
            (self.running, "running"),
            (self.pending, "pending"),
            (self.done, "done"),
            (self.lost, "lost"),
        ];
        let some = counts.into_iter().filter(|(count, _)| *count > 0);
        let words = some
            .map(|(count, word)| format!("{count} {word}"))
            .join(", ");
        let silent = self.unanswered.as_ref();
        let silent = silent.map(|why| format!(", when it answered last; now it does not: {why}"));
        format!(
            "Slurm job {}: {tasks}: {words}{}",
            self.job,
            silent.unwrap_or_default()
        )
    }
}

impl Array {
    /// How many points a task judges, if there are so many in all.
    pub fn size_of_tasks(wanted: usize, points: usize) -> usize {
        wanted.max(points.div_ceil(MOST_TASKS)).max(1)
    }

    /// The points of each task.
    pub fn tasks(&self) -> impl Iterator<Item = &[usize]> {
        self.points.chunks(self.each.max(1))
    }

    /// The folder of an array, relative to that of its sweep.
    pub fn folder(number: u32) -> String {
        format!("tasks/{number}")
    }

    /// The name of the array's file, relative to the folder of its sweep.
    pub fn file(number: u32) -> String {
        format!("tasks/{number}/array.json")
    }
}
