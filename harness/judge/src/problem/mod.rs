//! What is to be computed, and how to tell that a kernel computes it.
//!
//! A problem is a folder with a `problem.toml`. `kind = "wavegru"` is the one that is written in
//! Rust ([`wavegru`]); every other is declarative ([`tensor`]). A problem drives the candidate
//! through a [`Worker`], which holds the device in another process and never sees what is expected.

pub mod tensor;
pub mod wavegru;

use crate::device::DeviceInfo;
use crate::probe::Figures;
use crate::probe::bounds::Demand;
use crate::process::worker::{ModuleId, Worker};
use crate::report::{Measure, Writer};
use std::path::{Path, PathBuf};

/// What a problem wants of the build.
#[derive(Clone, Debug, Default)]
pub struct BuildNeeds {
    pub defines: Vec<(String, String)>,
    /// Text of `lab_problem.h`.
    pub problem_header: String,
}

/// What every stage may use.
pub struct Context<'a> {
    pub device: &'a DeviceInfo,
    /// What it can do, where that was measured.
    pub figures: Option<Figures>,
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
    pub build: &'a mut dyn FnMut(&Path, &str) -> Result<crate::device::Image, Stop>,
}

/// Why judging ended early. Each becomes a verdict and an exit code.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The problem folder itself is wrong: named file, place, remedy. Exit 64.
    #[error("{0}")]
    Problem(String),
    /// The candidate does not build, or lacks its entry. Exit 2.
    #[error("{0}")]
    Build(String),
    /// The kernel crashed, hung, or its launch failed. Exit 3.
    #[error("{0}")]
    Crash(String),
    /// The lab's own side failed (disk, device, process). Exit 3.
    #[error("{0}")]
    Lab(String),
}

/// Result lines are the only thing that problems write.
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Lab(format!("writing the result lines: {error}"))
    }
}

/// A verdict on correctness. The gates themselves were written as result lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correctness {
    Pass,
    Fail,
}

/// One thing to compute. The judge calls the methods in this order, once a run each. A judge on
/// standby calls [`Problem::prepare`] before the candidate is known, else it comes after the build.
pub trait Problem {
    fn name(&self) -> &str;
    fn build_needs(&self, device: &DeviceInfo) -> BuildNeeds;
    /// Makes or loads what is expected, and gives the worker what every candidate is given; writes
    /// `progress:` where it takes long.
    fn prepare(&mut self, cx: &mut Context, worker: &mut Worker) -> Result<(), Stop>;
    /// From now on it is all about what no run has shown: [`Problem::prepare`] makes that, and [`Problem::verify`] checks
    /// it; nothing is measured. Called first of all, where it is.
    fn hold_out(&mut self, seed: u64) -> Result<(), Stop>;
    /// Does ahead, while `nobody_waits`, what the checks would have to do first. Only a judge on standby
    /// calls it, after [`Problem::prepare`].
    fn warm(&mut self, _cx: &mut Context, _nobody_waits: &mut dyn FnMut() -> bool) -> Result<(), Stop> {
        Ok(())
    }
    /// Makes ahead, while `nobody_waits`, what a check of what is held out will take, unless it is there. Comes after all
    /// that the next run waits for.
    fn look_ahead(&mut self, _cx: &mut Context, _nobody_waits: &mut dyn FnMut() -> bool) -> Result<(), Stop> {
        Ok(())
    }
    /// Runs every gate and writes its lines.
    fn verify(
        &mut self,
        cx: &mut Context,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop>;
    /// Whether [`Problem::set_up`] finds everything at hand: only then may it be called before the order
    /// to judge.
    fn at_hand(&self) -> bool {
        true
    }
    /// Sets a kernel up for its timed launches. After [`Problem::prepare`]; several may be set up at once.
    fn set_up(
        &mut self,
        cx: &mut Context,
        worker: &mut Worker,
        module: ModuleId,
        place: Place,
    ) -> Result<Box<dyn Timed>, Stop>;
    /// Makes the problem as small as a tool that watches every access can bear, and says in words what is left of it. Comes
    /// before all other methods; nothing but [`Problem::build_needs`] and [`Problem::exercise`] is called afterwards.
    fn shrink(&mut self, device: &DeviceInfo) -> Result<String, Stop>;
    /// Launches what there is to launch, once each, and looks at no result: somebody else watches. What a launch writes
    /// was never written before it.
    fn exercise(&mut self, cx: &mut Context, worker: &mut Worker, module: ModuleId) -> Result<(), Stop>;
    /// `--dump`: writes every tensor of one run as .npy into `folder`, which is there. Called
    /// between `verify` and `measure`, whatever the verdict.
    fn dump(
        &mut self,
        cx: &mut Context,
        worker: &mut Worker,
        module: ModuleId,
        folder: &Path,
    ) -> Result<(), Stop>;
}

/// Which worker a kernel is set up on for its timed launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The candidate's, that [`Problem::prepare`] and [`Problem::verify`] were given.
    Checked,
    /// A further one of the candidate's, by its number from 1: it has seen nothing yet.
    Fresh(u64),
    /// The incumbent's.
    Incumbent,
}

impl Place {
    /// Makes the order of a further worker's inputs another one.
    pub fn salt(self) -> u64 {
        match self {
            Place::Checked | Place::Incumbent => 0,
            Place::Fresh(number) => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
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
    fn spent(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Another kernel's image in the same worker, with the same buffers: where they lie in memory makes a kernel that
    /// exchanges words faster or slower by a percent, and is then no difference between the two. `None` where a kernel has
    /// to have a worker of its own.
    fn beside(&self, _worker: &mut Worker, _image: &Path) -> Result<Option<Box<dyn Timed>>, Stop> {
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

/// Reads `problem.toml` in `folder`. An error names the file and the place in it.
pub fn open(folder: &Path) -> Result<Box<dyn Problem>, Stop> {
    let path: PathBuf = folder.join("problem.toml");
    let text =
        std::fs::read_to_string(&path).map_err(|e| Stop::Problem(format!("{}: {e}", path.display())))?;
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(default)]
        kind: Option<String>,
    }
    let head: Head = toml::from_str(&text).map_err(|e| toml_error(&path, &text, &e))?;
    match head.kind.as_deref() {
        Some("wavegru") => wavegru::open(&path, &text),
        None | Some("tensor") => tensor::open(&path, &text),
        Some(other) => Err(Stop::Problem(format!(
            "{}: unknown kind '{other}': it is \"tensor\" (the default) or \"wavegru\"",
            path.display()
        ))),
    }
}

/// A TOML error in the form of a compiler's, so that the lab finds its place.
fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> Stop {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    Stop::Problem(format!("{}:{line}:{column}: error: {}", path.display(), error.message()))
}
