//! What the judge asks of a problem: [`Problem`] up to the gates, [`Timed`] for the timed launches.

use crate::outcome::{Correctness, Stop};
use crate::probe::DeviceFigures;
use crate::probe::bounds::Demand;
use crate::worker::{ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_protocol::report::{Measure, Writer};
use std::path::Path;

/// What a problem wants of the build.
#[derive(Clone, Debug, Default)]
pub struct BuildNeeds {
    pub defines: Vec<(String, String)>,
    /// Text of `lab_problem.h`.
    pub problem_header: String,
}

/// What every stage may use.
pub struct ProblemContext<'a> {
    pub device: &'a DeviceInfo,
    /// What it can do, where that was measured.
    pub figures: Option<DeviceFigures>,
    /// Folder for what outlives a run: references, weights.
    pub cache_dir: &'a Path,
    /// What this run draws its inputs, start states and orders from; another one in every run
    /// unless the user fixed it.
    pub seed: u64,
    /// Where the result lines go.
    pub out: &'a mut Writer,
    /// Starts a further worker on the same device, for a reference that runs there.
    pub spawn_worker: &'a mut dyn FnMut() -> Result<Worker, Stop>,
    /// Builds a second source (a `reference.cu`) for the same device.
    pub build: &'a mut dyn FnMut(&Path, &str) -> Result<lab_device::Image, Stop>,
}

/// One thing to compute. The judge calls the methods in this order, once a run each. A judge on
/// standby calls [`Problem::prepare`] before the candidate is known, else it comes after the build.
pub trait Problem {
    fn name(&self) -> &str;
    fn build_needs(&self, device: &DeviceInfo) -> BuildNeeds;
    /// Makes or loads what is expected, and gives the worker what every candidate is given; writes
    /// `progress:` where it takes long.
    fn prepare(&mut self, cx: &mut ProblemContext, worker: &mut Worker) -> Result<(), Stop>;
    /// From now on it is all about what no run has shown: [`Problem::prepare`] makes that, and [`Problem::verify`] checks
    /// it; nothing is measured. Called first of all, where it is.
    fn use_held_out_inputs(&mut self, seed: u64) -> Result<(), Stop>;
    /// Does ahead, while `is_idle`, what the checks would have to do first. Only a judge on standby
    /// calls it, after [`Problem::prepare`].
    fn draw_ahead(
        &mut self,
        _cx: &mut ProblemContext,
        _nobody_waits: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        Ok(())
    }
    /// Makes ahead, while `is_idle`, what a check of what is held out will take, unless it is there. Comes after all
    /// that the next run waits for.
    fn prepare_held_out(
        &mut self,
        _cx: &mut ProblemContext,
        _nobody_waits: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        Ok(())
    }
    /// Runs every gate and writes its lines.
    fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop>;
    /// Whether [`Problem::set_up`] finds everything at hand: only then may it be called before the order
    /// to judge.
    fn can_set_up_early(&self) -> bool {
        true
    }
    /// Sets a kernel up for its timed launches. After [`Problem::prepare`]; several may be set up at once.
    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>, Stop>;
    /// Makes the problem as small as a tool that watches every access can bear, and says in words what is left of it. Comes
    /// before all other methods; nothing but [`Problem::build_needs`] and [`Problem::launch_for_check`] is called afterwards.
    fn shrink_for_check(&mut self, device: &DeviceInfo) -> Result<String, Stop>;
    /// Launches what there is to launch, once each, and looks at no result: somebody else watches. What a launch writes
    /// was never written before it.
    fn launch_for_check(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop>;
    /// `--dump`: writes every tensor of one run as .npy into `folder`, which is there. Called
    /// between `verify` and `measure`, whatever the verdict.
    fn dump(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop>;
}

/// Which worker a kernel is set up on for its timed launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerRole {
    /// The candidate's, that [`Problem::prepare`] and [`Problem::verify`] were given.
    Verified,
    /// A further one of the candidate's, by its number from 1: it has seen nothing yet.
    Fresh(u64),
    /// The incumbent's.
    Incumbent,
}

impl WorkerRole {
    /// Makes the order of a further worker's inputs another one.
    pub fn salt(self) -> u64 {
        match self {
            WorkerRole::Verified | WorkerRole::Incumbent => 0,
            WorkerRole::Fresh(number) => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }
}

/// Launches that [`Problem::verify`] made in the candidate's worker, at least: they warm it up too.
pub const CHECKED_LAUNCHES: usize = 2;

/// A kernel on a worker, set up for its timed launches. A *turn* launches every workload that is timed
/// once.
pub trait Timed {
    /// Numbers of the inputs that turns in this worker may have, in an order that the run's seed decides:
    /// each may be used once, so that nothing a kernel remembers is of use to it.
    fn inputs(&self) -> Box<dyn Iterator<Item = u64>>;
    /// Seconds of each workload's launch, on the inputs of this number, which are the same for every
    /// kernel. What must be checked before the next turn is: `None` where something was wrong, and `out`
    /// was told what.
    fn turn(&mut self, worker: &mut Worker, inputs: u64, out: &mut Writer) -> Result<Option<Vec<f64>>, Stop>;
    /// Numbers of inputs that this worker had launched before any turn.
    fn used_inputs(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Another kernel's image in the same worker, with the same buffers: where they lie in memory makes a kernel that
    /// exchanges words faster or slower by a percent, and is then no difference between the two. `None` where a kernel has
    /// to have a worker of its own.
    fn in_same_worker(&self, _worker: &mut Worker, _image: &Path) -> Result<Option<Box<dyn Timed>>, Stop> {
        Ok(None)
    }
    /// Checks what the turns so far left behind.
    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result<Correctness, Stop>;
    /// Samples per second over some turns, with an interval where they give one.
    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure>;
    /// What each launch of a turn must do.
    fn demands(&self) -> Vec<Demand>;
    /// The measures' lines; `last`: also what is written once.
    fn write(&self, turns: &[Vec<f64>], last: bool, out: &mut Writer) -> Result<(), Stop>;
}

/// `value low= high=` with so many digits after the point; more attributes may follow.
pub fn in_digits(measure: &Measure, digits: usize) -> String {
    let Measure { value, low, high } = measure;
    match (low, high) {
        (Some(low), Some(high)) => format!("{value:.digits$} low={low:.digits$} high={high:.digits$}"),
        _ => format!("{value:.digits$}"),
    }
}

/// A TOML error in the form of a compiler's, so that the lab finds its place.
pub fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> Stop {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    Stop::Problem(format!("{}:{line}:{column}: error: {}", path.display(), error.message()))
}
