//! What is to be computed, and how to tell that a kernel computes it.
//!
//! A problem is a folder with a `problem.toml`. `kind = "wavegru"` is the one that is written in
//! Rust ([`wavegru`]); every other is declarative ([`tensor`]). A problem drives the candidate
//! through a [`Worker`], which holds the device in another process and never sees what is expected.

pub mod tensor;
pub mod wavegru;

use crate::device::DeviceInfo;
use crate::process::worker::{ModuleId, Worker};
use crate::report::Writer;
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
    /// Does ahead, while `nobody_waits`, what the checks would have to do first. Only a judge on standby
    /// calls it, after [`Problem::prepare`].
    fn warm(&mut self, _cx: &mut Context, _nobody_waits: &mut dyn FnMut() -> bool) -> Result<(), Stop> {
        Ok(())
    }
    /// Runs every gate and writes its lines.
    fn verify(
        &mut self,
        cx: &mut Context,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop>;
    /// Times the kernel and writes the measures. What was timed is checked too: `Fail` where a
    /// timed launch was wrong, and then no measure was written.
    fn measure(
        &mut self,
        cx: &mut Context,
        worker: &mut Worker,
        module: ModuleId,
    ) -> Result<Correctness, Stop>;
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
