//! The judge: `lab harness`. Takes a snapshot of kernel.cu, has it built and run by two children,
//! lets the problem compare, and alone writes result lines.

use super::child::{Forward, Program};
use super::compiler::Compiler;
use super::sink::Shared;
use super::worker::{Starting, Worker};
use super::{Exit, leash};
use crate::device::{BuildRequest, Built, DeviceInfo, Image, Target};
use crate::problem::{self, BuildNeeds, Context, Correctness, Problem, Stop};
use crate::report::{Stage, Writer};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is judged, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The problem's folder.
    pub folder: PathBuf,
    /// The bytes to judge; `None` is `folder/kernel.cu`.
    pub kernel: Option<PathBuf>,
    /// The path that diagnostics show; `None` is the kernel's own.
    pub shown_as: Option<String>,
    /// Where the kernel's `#include "…"` is looked up, after the kernel's own folder and `folder`.
    pub include_dirs: Vec<PathBuf>,
    pub device: Target,
    /// Further options for the compiler.
    pub compile_options: Vec<String>,
    /// Architecture to build for; `None` is the device's own.
    pub arch: Option<String>,
    /// For what outlives a run; `None` is the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// Where to write every tensor as .npy.
    pub dump: Option<PathBuf>,
    /// For the build, and for each launch.
    pub time_limit: Duration,
    /// Fixes what the run draws, to repeat one; `None` draws anew.
    pub seed: Option<u64>,
    pub compiler: Program,
    pub worker: Program,
}

impl Options {
    /// Everything but the folder as it is without a lab.toml.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Options {
            folder: folder.into(),
            kernel: None,
            shown_as: None,
            include_dirs: Vec::new(),
            device: Target::Auto,
            compile_options: Vec::new(),
            arch: None,
            cache_dir: None,
            dump: None,
            time_limit: Duration::from_secs(60),
            seed: None,
            compiler: Program::this(&["harness-compiler"]),
            worker: Program::this(&["harness-worker"]),
        }
    }
}

/// The judge process: dies with what started it, and ends its children when told to end.
pub fn main(options: Options) -> Exit {
    let leashed =
        leash::end_children_on_signals().and_then(|()| leash::die_with_parent(rustix::process::Signal::TERM));
    if let Err(error) = leashed {
        eprintln!("lab harness: {error}");
        return Exit::Crashed;
    }
    judge(options, io::stdout())
}

/// Judges once and writes run.log's lines to `sink`.
pub fn judge(options: Options, sink: impl Write + Send + 'static) -> Exit {
    let shared = Shared::new(sink);
    let mut out = shared.writer();
    let verdict = run(&options, &shared, &mut out);
    let written = match &verdict {
        Ok(Correctness::Pass) => out.line("correctness", "pass"),
        Ok(Correctness::Fail) => out.line("correctness", "fail"),
        Err(stop) => stopped(&mut out, &stop.to_string()),
    };
    if written.and_then(|()| out.stage(Stage::Done)).is_err() {
        // Nobody reads any more; the exit code still tells.
        return Exit::Crashed;
    }
    match verdict {
        Ok(Correctness::Pass) => Exit::Passed,
        Ok(Correctness::Fail) => Exit::Wrong,
        Err(Stop::Problem(_)) => Exit::Usage,
        Err(Stop::Build(_)) => Exit::NotBuilt,
        Err(Stop::Crash(_) | Stop::Lab(_)) => Exit::Crashed,
    }
}

/// One sentence as a result line; what has more lines is text before it.
fn stopped(out: &mut Writer, why: &str) -> io::Result<()> {
    let first = why.lines().next().unwrap_or("");
    if first != why {
        out.text(why)?;
    }
    out.line("stopped", first.trim_end_matches(':'))
}

fn run(options: &Options, shared: &Shared, out: &mut Writer) -> Result<Correctness, Stop> {
    out.stage(Stage::Build)?;
    let mut problem = problem::open(&options.folder)?;
    out.line("problem", problem.name())?;
    let cache_dir = cache_dir(options)?;
    let snapshot = Snapshot::take(options, &cache_dir.join("snapshots"))?;
    let target = options.device.resolve();

    // Side by side: the one loads its compiler while the other opens its device.
    let compiler =
        Compiler::start(&options.compiler, target, options.time_limit, text_of_compiler(shared.writer()))?;
    let mut worker = start_worker(options, target, shared)?.ready()?;
    let device = worker.info().clone();
    let mut build = Build { compiler, options, cache_dir: &cache_dir, arch: arch(options, &device) };
    out.line("device", &device.name)?;
    if !device.driver.is_empty() {
        out.line("driver", &device.driver)?;
    }
    out.line("compiler", build.compiler.version()?)?;
    let seed = options.seed.unwrap_or_else(fresh_seed);
    out.line("seed", seed)?;
    let needs = problem.build_needs(&device);
    let image = candidate(&mut build, &snapshot, &needs, out)?;

    let mut spawn_worker = || start_worker(options, target, shared)?.ready();
    let mut build_reference = |source: &Path, header: &str| build.reference(source, header);
    let mut cx = Context {
        device: &device,
        cache_dir: &cache_dir,
        seed,
        out,
        spawn_worker: &mut spawn_worker,
        build: &mut build_reference,
    };
    cx.out.stage(Stage::Reference)?;
    problem.prepare(&mut cx)?;
    cx.out.stage(Stage::Verify)?;
    let module = worker.load(&image.path)?;
    let mut verdict = problem.verify(&mut cx, &mut worker, module)?;
    if let Some(folder) = &options.dump {
        dump(&mut *problem, &mut cx, &mut worker, module, folder)?;
    }
    if verdict == Correctness::Pass {
        cx.out.stage(Stage::Measure)?;
        let _turn = my_turn(target, cx.cache_dir, cx.out)?;
        verdict = problem.measure(&mut cx, &mut worker, module)?;
    }
    Ok(verdict)
}

/// The standard library's source of unpredictable hashes is one of unpredictable numbers.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed")
}

/// Two measurements on one GPU would slow each other: a lock on a file, free again when it is
/// dropped or its process dies. The emulated device's times mean nothing, so it needs none.
fn my_turn(target: Target, cache_dir: &Path, out: &mut Writer) -> Result<Option<File>, Stop> {
    let Target::Cuda(ordinal) = target else { return Ok(None) };
    let path = cache_dir.join(format!("measuring-cuda-{ordinal}"));
    let failed = |e: io::Error| Stop::Lab(format!("the lock {}: {e}", path.display()));
    let lock = File::create(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => return Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => out.text("another run measures on this device: waiting for it")?,
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    lock.lock().map_err(failed)?;
    Ok(Some(lock))
}

fn dump(
    problem: &mut dyn Problem,
    cx: &mut Context,
    worker: &mut Worker,
    module: super::worker::ModuleId,
    folder: &Path,
) -> Result<(), Stop> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Stop::Lab(format!("the dump folder {}: {e}", folder.display())))?;
    problem.dump(cx, worker, module, folder)
}

/// The judged bytes, where nobody edits them.
struct Snapshot {
    folder: tempfile::TempDir,
    shown_as: String,
    include_dirs: Vec<PathBuf>,
}

impl Snapshot {
    /// Copies the kernel into a new folder under `place`.
    fn take(options: &Options, place: &Path) -> Result<Self, Stop> {
        let kernel = options.kernel.clone().unwrap_or_else(|| options.folder.join("kernel.cu"));
        let shown_as = options.shown_as.clone().unwrap_or_else(|| kernel.display().to_string());
        // Compared with a file's size first: a source is small, and 50 MB of anything is a mistake.
        const LIMIT: u64 = 8 << 20;
        let unreadable = |e: io::Error| Stop::Build(format!("{shown_as} cannot be read: {e}"));
        let meta = std::fs::metadata(&kernel).map_err(unreadable)?;
        if !meta.is_file() {
            return Err(Stop::Build(format!("{shown_as} is no file")));
        }
        if meta.len() > LIMIT {
            return Err(Stop::Build(format!(
                "{shown_as} has {} bytes; a kernel has at most {LIMIT}",
                meta.len()
            )));
        }
        let bytes = std::fs::read(&kernel).map_err(unreadable)?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Stop::Build(format!("{shown_as} is empty")));
        }
        let lab = |e: io::Error| Stop::Lab(format!("the snapshot in {}: {e}", place.display()));
        std::fs::create_dir_all(place).map_err(lab)?;
        forget_old(place);
        let folder = tempfile::tempdir_in(place).map_err(lab)?;
        std::fs::write(folder.path().join("kernel.cu"), bytes).map_err(lab)?;
        let own = kernel.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut include_dirs = vec![own.to_owned(), options.folder.clone()];
        include_dirs.extend(options.include_dirs.iter().cloned());
        include_dirs.dedup();
        Ok(Snapshot { folder, shown_as, include_dirs })
    }
}

/// A judge that is killed, as one is by every newer save, leaves its snapshot: it goes with a later
/// run. What cannot be removed is no harm.
fn forget_old(place: &Path) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|m| m.modified());
        if made.is_ok_and(|t| t.elapsed().is_ok_and(|age| age > DAY)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn cache_dir(options: &Options) -> Result<PathBuf, Stop> {
    use etcetera::BaseStrategy;
    let folder = match &options.cache_dir {
        Some(folder) => folder.clone(),
        None => etcetera::choose_base_strategy()
            .map_err(|e| Stop::Lab(format!("no home folder, so no cache folder: {e}")))?
            .cache_dir()
            .join("lab"),
    };
    std::fs::create_dir_all(&folder)
        .map_err(|e| Stop::Lab(format!("the cache folder {}: {e}", folder.display())))?;
    // Children have their own idea of the current folder only by accident: make it absolute.
    folder.canonicalize().map_err(|e| Stop::Lab(format!("the cache folder {}: {e}", folder.display())))
}

fn arch(options: &Options, device: &DeviceInfo) -> String {
    options.arch.clone().unwrap_or_else(|| device.arch.clone())
}

fn start_worker(options: &Options, target: Target, shared: &Shared) -> Result<Starting, Stop> {
    Worker::start(&options.worker, target, options.time_limit, kernel_output(shared.writer()))
}

/// What a worker prints is the kernel's: behind `| ` it can never begin a result line.
fn kernel_output(out: Writer) -> Forward {
    let out = Mutex::new(out);
    Arc::new(move |line| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        // Where nobody reads run.log any more, the judge's own next line finds out.
        let _ = out.kernel_output(line.as_bytes());
    })
}

fn text_of_compiler(out: Writer) -> Forward {
    let out = Mutex::new(out);
    Arc::new(move |line| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.text(line);
    })
}

/// Builds for the run's device.
struct Build<'a> {
    compiler: Compiler,
    options: &'a Options,
    cache_dir: &'a Path,
    arch: String,
}

impl Build<'_> {
    fn request(&self, source: &Path, shown_as: &str, needs: &BuildNeeds) -> BuildRequest {
        BuildRequest {
            source: source.to_owned(),
            shown_as: shown_as.to_owned(),
            include_dirs: Vec::new(),
            defines: needs.defines.clone(),
            options: Vec::new(),
            problem_header: needs.problem_header.clone(),
            arch: self.arch.clone(),
            cache_dir: self.cache_dir.to_owned(),
        }
    }

    /// A trusted source. It comes without the user's options, which are for the candidate.
    fn reference(&mut self, source: &Path, header: &str) -> Result<Image, Stop> {
        let shown_as = source.display().to_string();
        let needs = BuildNeeds { problem_header: header.to_owned(), ..BuildNeeds::default() };
        let mut request = self.request(source, &shown_as, &needs);
        request.include_dirs = source.parent().map(Path::to_owned).into_iter().collect();
        let built = self.compiler.build(&request)?;
        built
            .image
            .ok_or_else(|| Stop::Problem(format!("{shown_as} does not build:\n{}", built.log.trim_end())))
    }
}

fn candidate(
    build: &mut Build,
    snapshot: &Snapshot,
    needs: &BuildNeeds,
    out: &mut Writer,
) -> Result<Image, Stop> {
    let mut request = build.request(&snapshot.folder.path().join("kernel.cu"), &snapshot.shown_as, needs);
    request.include_dirs = snapshot.include_dirs.clone();
    request.options = build.options.compile_options.clone();
    let Built { image, log, seconds, registers, spill_bytes, shared_bytes } =
        build.compiler.build(&request)?;
    out.text(&log)?;
    out.line("build_s", format_args!("{seconds:.2}"))?;
    for (key, value) in
        [("registers", registers), ("spill_bytes", spill_bytes), ("shared_bytes", shared_bytes)]
    {
        if let Some(value) = value {
            out.line(key, value)?;
        }
    }
    image.ok_or_else(|| Stop::Build(format!("{} does not build", snapshot.shown_as)))
}
