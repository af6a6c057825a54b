//! What the judge hands to a problem, and what it asks of a kernel that is set up for timed launches:
//! [`Timed`].

use crate::measure::TimingSummary;
use crate::outcome::Result;
use crate::probe::DeviceFigures;
use crate::probe::bounds::Demand;
use crate::worker::{JudgeMemory, ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_protocol::Language;
use lab_protocol::report::{Measure, Writer};
use lab_stats::aggregate::Aggregate;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a problem needs of the build.
#[derive(Clone, Debug, Default)]
pub struct BuildNeeds {
    /// The text of `lab_problem.h`.
    pub problem_header: String,
    /// Architectures that the kernel is built for beside the run's own.
    pub targets: Vec<String>,
}

/// What a problem may use in every stage.
pub struct ProblemContext<'a> {
    /// The device that the run uses.
    pub device: &'a DeviceInfo,
    /// What the device can do; `None` if it was not probed.
    pub figures: Option<DeviceFigures>,
    /// Folder for what outlives a run, as references and weights.
    pub cache_dir: &'a Path,
    /// The seed of inputs, start states and launch orders. It differs in every run, unless the user
    /// fixed it.
    pub seed: u64,
    /// Whether the user fixed the seed, to repeat a run.
    pub seed_is_fixed: bool,
    /// Further candidates are judged on the same inputs.
    pub is_swept: bool,
    /// Set once nothing more need be measured of the candidate.
    pub is_enough: &'a AtomicBool,
    /// The judge's own worker, which holds inputs and results on the device; `None` where the judge
    /// has them in its own memory.
    pub memory: Option<&'a Arc<JudgeMemory>>,
    /// Takes the result lines.
    pub out: &'a mut Writer,
    /// Starts a further worker on the same device.
    pub spawn_worker: &'a mut dyn FnMut(WorkerFor) -> Result<Worker>,
    /// Builds a second source, as a `reference.cu`, with this `lab_problem.h`.
    pub build: &'a mut dyn FnMut(&Path, &str) -> Result<PathBuf>,
}

/// What a further worker is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerFor {
    /// The candidate.
    Candidate,
    /// A reference in this language. One that computes `on_host` runs on the cpu device.
    Reference { language: Language, on_host: bool },
}

/// What the timed launches need of a problem.
pub trait SetsUp {
    /// Sets a kernel up for its timed launches. Several kernels may be set up at the same time.
    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>>;

    /// Whether the device has ample room for what is timed in two workers.
    fn fits_twice(&self, _: &DeviceInfo) -> bool {
        false
    }
}

/// A workload in one of its types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemCase {
    /// As in `rows=3 cols=257 T=f16`.
    pub label: String,
    /// It is checked and never timed.
    pub is_held_out: bool,
    /// It has an extent that no workload of problem.toml has.
    pub is_ragged: bool,
}

/// A workload that an implementation does not compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub label: String,
    pub why: String,
}

/// What a run does with the stock of sealed inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockUse {
    /// It makes some while it waits.
    Makes,
    /// It is the check before a keep, which uses some up.
    Takes,
}

/// Which worker a kernel is set up in for its timed launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerRole {
    /// The candidate's worker, which [`Problem::prepare`](super::Problem::prepare) and `Prepared::verify` have used.
    Verified,
    /// A further worker of the candidate, with its number from 1. It has launched nothing yet.
    Fresh(u64),
    /// The incumbent's own worker.
    Incumbent,
    /// The worker of one of the problem's peers.
    Peer,
}

impl WorkerRole {
    /// The kernel of another worker is judged, and this one is what it is compared with.
    pub fn is_beside(self) -> bool {
        matches!(self, WorkerRole::Incumbent | WorkerRole::Peer)
    }

    /// A number that gives each further worker another order of inputs.
    pub fn salt(self) -> u64 {
        match self {
            WorkerRole::Verified | WorkerRole::Incumbent | WorkerRole::Peer => 0,
            WorkerRole::Fresh(number) => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }
}

/// Launches that `Prepared::verify` makes in the candidate's worker, at least. They count as
/// warm-up.
pub const CHECKED_LAUNCHES: usize = 2;

/// A kernel that is set up in a worker for its timed launches. A *turn* has a window of launches of
/// every timed workload, which are timed together.
pub trait Timed {
    /// The number of a further turn's inputs. The numbers follow from the run's seed.
    fn next_inputs(&mut self) -> u64;
    /// Times a turn and returns the seconds of a launch of each workload. `inputs` selects the same
    /// inputs for every kernel. `left` limits the launches of each workload, and loses those that
    /// were made; a workload of which none is left has no window, and NaN seconds. Checks that the
    /// turn wrote its outputs and nothing else, with `left` in some of the turns. Returns
    /// [`Stop::Wrong`](crate::outcome::Stop::Wrong) after writing what was wrong to `out`.
    fn turn(
        &mut self,
        worker: &mut Worker,
        inputs: u64,
        left: Option<&mut [usize]>,
        out: &mut Writer,
    ) -> Result<Vec<f64>>;
    /// Sets up another kernel's image in the same worker, with the same buffers. The place of the
    /// buffers in memory makes a kernel that exchanges words faster or slower by a percent; with
    /// the same buffers this is no difference between two kernels.
    fn in_same_worker(&self, worker: &mut Worker, image: &Path) -> Result<Box<dyn Timed>>;
    /// Checks what the turns so far left behind.
    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result;
    /// Samples per second over these turns, with the 95 % interval if there are enough.
    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure>;
    /// The seconds that stand for a whole turn: if those of one kernel are half of another's, it is
    /// twice as good.
    fn seconds_of_turn(&self, turn: &[f64]) -> Option<f64>;
    /// What each launch of a turn must do, for the bounds.
    fn demands(&self) -> Vec<Demand>;
    /// How the times of several launches become one, for the bounds.
    fn aggregate(&self) -> Aggregate;
    /// The figures of each workload over these turns, for the lines `workload:`.
    fn workloads(&self, turns: &[Vec<f64>]) -> Vec<WorkloadFigures>;
    /// The keys of the lines that [`Timed::write`] writes.
    fn measures(&self) -> Vec<&'static str>;
    /// Writes the lines that do not depend on the turns. Called once, after the last turn.
    fn write_once(&self, out: &mut Writer) -> Result;
    /// Writes the lines of the measures over these turns.
    fn write(&self, turns: &[Vec<f64>], out: &mut Writer) -> Result;
}

/// What was measured of one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadFigures {
    /// As in `rows=3 cols=257 T=f16`.
    pub label: String,
    /// Seconds of a launch.
    pub seconds: TimingSummary,
    /// Further figures as `key=value` words, each with a blank before it.
    pub words: String,
}

/// Formats `value low= high=` with `digits` digits after the point. The caller may add attributes.
pub fn in_digits(measure: &Measure, digits: usize) -> String {
    let Measure { value, low, high } = measure;
    match (low, high) {
        (Some(low), Some(high)) => {
            format!("{value:.digits$} low={low:.digits$} high={high:.digits$}")
        }
        _ => format!("{value:.digits$}"),
    }
}
