//! What the judge asks of a problem: [`Problem`] up to the gates, [`Timed`] for the timed launches.

use super::peer::PeerSpec;
use crate::measure::TimingSummary;
use crate::outcome::{Correctness, Stop};
use crate::probe::DeviceFigures;
use crate::probe::bounds::Demand;
use crate::profile::workload::ProfileCase;
use crate::worker::compile_ahead::Call;
use crate::worker::{JudgeMemory, ModuleId, Worker};
use lab_device::DeviceInfo;
use lab_protocol::report::{JudgedWorkloads, Measure, Writer};
use lab_protocol::{Language, When};
use lab_stats::aggregate::{Aggregate, Better};
use std::path::Path;
use std::sync::Arc;

/// What a problem needs of the build.
#[derive(Clone, Debug, Default)]
pub struct BuildNeeds {
    /// Macros that the compiler defines, with their values.
    pub defines: Vec<(String, String)>,
    /// The text of `lab_problem.h`.
    pub problem_header: String,
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
    /// The judge's own worker, which holds inputs and results on the device; `None` where the judge
    /// has them in its own memory.
    pub memory: Option<&'a Arc<JudgeMemory>>,
    /// Takes the result lines.
    pub out: &'a mut Writer,
    /// Starts a further worker on the same device.
    pub spawn_worker: &'a mut dyn FnMut(WorkerFor) -> Result<Worker, Stop>,
    /// Builds a second source, as a `reference.cu`, with this `lab_problem.h`.
    pub build: &'a mut dyn FnMut(&Path, &str) -> Result<lab_device::Image, Stop>,
}

/// What a further worker is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerFor {
    /// The candidate.
    Candidate,
    /// A reference in this language.
    Reference(Language),
}

/// Something to compute. The judge calls the methods in this order, each once in a run. On standby,
/// the judge calls [`Problem::prepare`] before the candidate is known; otherwise after the
/// candidate was built.
pub trait Problem {
    /// The problem's name, for the line `problem:`.
    fn name(&self) -> &str;
    /// Selects the workloads of this occasion and of the ones before it. Called before every other
    /// method that judges, or not at all: then the problem judges those of a save.
    fn use_workloads(&mut self, _when: When) {}
    /// How many workloads [`Problem::verify`] judged. `None` if the problem has no workloads to
    /// choose from, or the check ended before its last one.
    fn judged_workloads(&self) -> Option<JudgedWorkloads> {
        None
    }
    /// Other implementations of the problem that the candidate may be timed beside.
    fn peers(&self) -> &[PeerSpec] {
        &[]
    }
    /// Its workloads, each in each of its types.
    fn cases(&self) -> Vec<ProblemCase> {
        Vec::new()
    }
    /// Leaves out the workloads with these labels, as if problem.toml did not have them. Called
    /// before [`Problem::prepare`].
    fn leave_out(&mut self, _labels: &[String]) {}
    /// The calls that [`Problem::verify`] makes of a kernel in Python, one for each workload of
    /// this occasion.
    fn calls(&self, _device: &DeviceInfo) -> Vec<Call> {
        Vec::new()
    }
    /// Launches each workload once, without looking at the results, and returns those whose launch
    /// failed. Ends with a failure after which the worker is not what it was. Called after
    /// [`Problem::prepare`].
    fn launch_each(
        &mut self,
        _cx: &mut ProblemContext,
        _worker: &mut Worker,
        _module: ModuleId,
    ) -> Result<Vec<LeftOut>, Stop> {
        Ok(Vec::new())
    }
    /// Returns [`Stop::Build`] if a loaded source lacks a kernel of [`Problem::cases`], or has it
    /// with other parameters where that is known before a launch.
    fn require_entries(&self, _worker: &mut Worker, _module: ModuleId) -> Result<(), Stop> {
        Ok(())
    }
    /// Makes the timed launches run as one CUDA graph, or one after the other. Called before every
    /// method that times.
    fn use_graph(&mut self, _graph: bool) {}
    /// The language of the problem's reference; `None` if the lab itself computes what is expected.
    fn reference(&self) -> Option<Language> {
        None
    }
    /// Why the problem judges no kernel in this language; `None` if it does.
    fn refuses(&self, _language: Language) -> Option<String> {
        None
    }
    /// What the compiler needs besides the source.
    fn build_needs(&self, device: &DeviceInfo) -> BuildNeeds;
    /// Computes or loads what is expected, and uploads what every candidate gets. Writes
    /// `progress:` if that takes long.
    fn prepare(&mut self, cx: &mut ProblemContext, worker: &mut Worker) -> Result<(), Stop>;
    /// Selects inputs that no run has launched, for a check that must pass `sealed` sets of them.
    /// [`Problem::prepare`] makes them, [`Problem::verify`] checks them. Called before every other
    /// method, or not at all.
    fn use_held_out_inputs(&mut self, seed: u64, sealed: usize) -> Result<HeldOutUse, Stop>;
    /// Lets the problem keep inputs that no run has launched in the cache folder, which the kernel
    /// cannot read. Called before [`Problem::prepare`], or not at all.
    fn use_stock(&mut self, _stock: StockUse) {}
    /// Whether [`Problem::prepare`] took its sealed inputs out of the stock. `None` if the problem
    /// has no stock, or counts them itself.
    fn is_from_stock(&self) -> Option<bool> {
        None
    }
    /// Whether [`Problem::prepare_held_out`] launches something on the device.
    fn launches_for_stock(&self) -> bool {
        false
    }
    /// Prepares on standby what the checks need, in the candidate's worker too, as long as
    /// `is_idle` returns true. Only a judge on standby calls it, after [`Problem::prepare`].
    fn draw_ahead(
        &mut self,
        _cx: &mut ProblemContext,
        _worker: &mut Worker,
        _nobody_waits: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        Ok(())
    }
    /// Prepares what the next check on held-out inputs needs, unless it is there, as long as
    /// `is_idle` returns true. Called after everything that the next run needs.
    fn prepare_held_out(
        &mut self,
        _cx: &mut ProblemContext,
        _nobody_waits: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        Ok(())
    }
    /// Runs every gate and writes its lines. Returns whether all pass.
    fn verify(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop>;
    /// Returns whether [`Problem::set_up`] has all that it needs. Only then may it be called before
    /// the start signal.
    fn can_set_up_early(&self) -> bool {
        true
    }
    /// Sets a kernel up for its timed launches, after [`Problem::prepare`]. Several kernels may be
    /// set up at the same time.
    fn set_up(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        place: WorkerRole,
    ) -> Result<Box<dyn Timed>, Stop>;
    /// Frees what the problem holds on the worker of its check. It is not used after that.
    fn take_down(&mut self, _worker: &mut Worker) -> Result<(), Stop> {
        Ok(())
    }
    /// Makes the problem small enough for a tool that watches every access, and returns a
    /// description of what is left. Called before all other methods; after it only
    /// [`Problem::build_needs`] and [`Problem::launch_for_check`] are called.
    fn shrink_for_check(&mut self, device: &DeviceInfo) -> Result<String, Stop>;
    /// [`Problem::shrink_for_check`] for the race detector beside a run on the cpu device, which
    /// has less time than `lab check`.
    fn shrink_for_races(&mut self, device: &DeviceInfo) -> Result<String, Stop> {
        self.shrink_for_check(device)
    }
    /// Fails if the race detector would need more memory for the launches than there is, with the
    /// other things that a run holds where it watches beside one. Called after the problem was made
    /// small.
    fn require_memory_for_races(
        &self,
        _device: &DeviceInfo,
        _beside_a_run: bool,
    ) -> Result<(), Stop> {
        Ok(())
    }
    /// Makes every launch once, without looking at the results. Outputs are not written before the
    /// launch.
    fn launch_for_check(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<(), Stop>;
    /// The timed workloads that a profile may be about on this device.
    fn profile_cases(&self, _device: &DeviceInfo) -> Vec<ProfileCase> {
        Vec::new()
    }
    /// Launches the workload with this place in [`Problem::profile_cases`] once, without looking at
    /// the results, as timed launches do. May be called for several workloads.
    fn launch_for_profile(
        &mut self,
        _cx: &mut ProblemContext,
        _worker: &mut Worker,
        _module: ModuleId,
        case: usize,
    ) -> Result<(), Stop> {
        Err(Stop::Lab(format!("there is no workload {case} to profile")))
    }
    /// Writes every tensor of one run as .npy into `folder`, which exists. Called for `--dump`
    /// after `verify`, whatever its verdict.
    fn dump(
        &mut self,
        cx: &mut ProblemContext,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop>;
}

/// A workload in one of its types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemCase {
    /// As in `rows=3 cols=257 T=f16`.
    pub label: String,
    /// It is checked and never timed.
    pub is_held_out: bool,
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

/// What a check on held-out inputs covers.
#[derive(Clone, Copy, Debug)]
pub struct HeldOutUse {
    /// How many sets of inputs one [`Problem::verify`] covers. For more, the judge opens the
    /// problem again.
    pub sets_in_a_check: usize,
    /// Whether the problem writes `sealed_runs:` itself.
    pub counts_them: bool,
}

/// Which worker a kernel is set up in for its timed launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerRole {
    /// The candidate's worker, which [`Problem::prepare`] and [`Problem::verify`] have used.
    Verified,
    /// A further worker of the candidate, with its number from 1. It has launched nothing yet.
    Fresh(u64),
    /// The incumbent's own worker.
    Incumbent,
}

impl WorkerRole {
    /// A number that gives each further worker another order of inputs.
    pub fn salt(self) -> u64 {
        match self {
            WorkerRole::Verified | WorkerRole::Incumbent => 0,
            WorkerRole::Fresh(number) => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }
}

/// Launches that [`Problem::verify`] makes in the candidate's worker, at least. They count as
/// warm-up.
pub const CHECKED_LAUNCHES: usize = 2;

/// A kernel that is set up in a worker for its timed launches. A *turn* launches every timed
/// workload once.
pub trait Timed {
    /// The numbers of the inputs that turns in this worker may have, in an order that follows from
    /// the run's seed. Each is used once, so that a kernel gains nothing from remembering results.
    fn inputs(&self) -> Box<dyn Iterator<Item = u64>>;
    /// Times a turn and returns the seconds of each workload's launch. `inputs` selects the same
    /// inputs for every kernel. Checks at once what the next turn would overwrite. Returns `None`
    /// if a result was wrong, after writing what was wrong to `out`.
    fn turn(
        &mut self,
        worker: &mut Worker,
        inputs: u64,
        out: &mut Writer,
    ) -> Result<Option<Vec<f64>>, Stop>;
    /// The numbers of inputs that this worker had launched before any turn.
    fn used_inputs(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Whether a further worker may launch inputs that another worker of the same kernel had.
    /// `is_undecided` says whether the verdict on speed is *undecided* so far.
    fn fits_further_workers(&self, _is_undecided: bool) -> bool {
        true
    }
    /// Sets up another kernel's image in the same worker, with the same buffers. The place of the
    /// buffers in memory makes a kernel that exchanges words faster or slower by a percent; with
    /// the same buffers this is no difference between two kernels. `None` if every kernel needs a
    /// worker of its own.
    fn in_same_worker(
        &self,
        _worker: &mut Worker,
        _image: &Path,
    ) -> Result<Option<Box<dyn Timed>>, Stop> {
        Ok(None)
    }
    /// Returns whether a kernel that [`Timed::in_same_worker`] sets up may have inputs before this
    /// one had them, because nothing that it leaves behind can help this one.
    fn shares_inputs(&self) -> bool {
        false
    }
    /// Checks that the turn wrote nothing but its outputs. Called after each turn, so that a kernel
    /// which spoils what another one in the same worker gets next is found before that one is
    /// judged. [`Timed::turn`] may do it itself.
    fn check_memory(
        &mut self,
        _worker: &mut Worker,
        _out: &mut Writer,
    ) -> Result<Correctness, Stop> {
        Ok(Correctness::Pass)
    }
    /// Checks what the turns so far left behind.
    fn check(&mut self, worker: &mut Worker, out: &mut Writer) -> Result<Correctness, Stop>;
    /// Samples per second over these turns, with the 95 % interval if there are enough.
    fn throughput(&self, turns: &[Vec<f64>]) -> Option<Measure>;
    /// The seconds that stand for a whole turn: if those of one kernel are half of another's, it is
    /// twice as good.
    fn seconds_of_turn(&self, turn: &[f64]) -> Option<f64> {
        Aggregate::Geometric.of(turn.iter().copied(), Better::Smaller)
    }
    /// What each launch of a turn must do, for the bounds.
    fn demands(&self) -> Vec<Demand>;
    /// How the times of several launches become one, for the bounds.
    fn aggregate(&self) -> Aggregate {
        Aggregate::Geometric
    }
    /// The figures of each workload over these turns, for the lines `workload:`. Empty if a turn is
    /// not about workloads.
    fn workloads(&self, _turns: &[Vec<f64>]) -> Vec<WorkloadFigures> {
        Vec::new()
    }
    /// The keys of the lines that [`Timed::write`] writes.
    fn measures(&self) -> Vec<&'static str> {
        vec!["throughput_sps", "kernel_us"]
    }
    /// Writes the lines that do not depend on the turns. Called once, after the last turn.
    fn write_once(&self, _out: &mut Writer) -> Result<(), Stop> {
        Ok(())
    }
    /// Writes the lines of the measures over these turns.
    fn write(&self, turns: &[Vec<f64>], out: &mut Writer) -> Result<(), Stop>;
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
