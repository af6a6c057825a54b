//! Where a kernel runs: `cuda` (NVRTC and the driver) or `cpu` (the same `kernel.cu`, emulated).
//!
//! Two small traits are all that the rest of the crate sees of a device: a [`Builder`] turns
//! source into an [`Image`] (in the compiler process), a [`Driver`] holds memory and launches (in
//! the worker process). Memory is named by raw device addresses; canary zones, poison and input
//! comparison are built on top, once for both devices, in [`crate::process::worker`].

pub mod cpu;
pub mod cuda;
pub mod gauge;
pub mod images;

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What the user asks for: `auto`, `cpu`, `cuda`, `cuda:1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// The first CUDA device where a driver and a device are there, else the cpu.
    #[default]
    Auto,
    Cpu,
    /// The ordinal of the CUDA device.
    Cuda(u32),
}

impl std::str::FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let ordinal = |n: &str| n.parse().map(Target::Cuda).map_err(|_| ());
        match text {
            "auto" => Ok(Target::Auto),
            "cpu" => Ok(Target::Cpu),
            "cuda" => Ok(Target::Cuda(0)),
            other => other.strip_prefix("cuda:").ok_or(()).and_then(ordinal).map_err(|()| {
                format!("unknown device '{text}': it is one of auto, cpu, cuda, cuda:1 (any ordinal)")
            }),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Auto => write!(f, "auto"),
            Target::Cpu => write!(f, "cpu"),
            Target::Cuda(0) => write!(f, "cuda"),
            Target::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.to_string()
    }
}

impl Target {
    /// `auto` made concrete: what [`open`] and [`builder`] of this target will really use.
    pub fn resolve(self) -> Target {
        match self {
            Target::Auto if cuda::available() => Target::Cuda(0),
            Target::Auto => Target::Cpu,
            other => other,
        }
    }
}

/// What is to be built, and for what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuildRequest {
    /// The bytes to build lie here (a snapshot, which nobody edits).
    pub source: PathBuf,
    /// The path that diagnostics show, and that the user knows the file by.
    pub shown_as: String,
    /// Where `#include "…"` is looked up after the source's own folder.
    pub include_dirs: Vec<PathBuf>,
    /// Macros, name and value.
    pub defines: Vec<(String, String)>,
    /// Further options from lab.toml, passed to the compiler as they are.
    pub options: Vec<String>,
    /// Text of the generated header `lab_problem.h`, which `lab.h` includes: the struct `LabDims`.
    pub problem_header: String,
    /// Compute capability to build for, as in `sm_90`; empty on the cpu device.
    pub arch: String,
    /// Folder for the image and for what the compiler keeps between builds.
    pub cache_dir: PathBuf,
}

/// A built module: a cubin or a shared object, in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    pub path: PathBuf,
}

/// What came of a build. `log` holds the compiler's diagnostics as it printed them, warnings
/// also where the build succeeded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Built {
    pub image: Option<Image>,
    pub log: String,
    pub seconds: f64,
    /// The image was built before, from the same bytes ([`images`]).
    #[serde(default)]
    pub reused: bool,
    /// As the compiler reported them: the largest over the entries, where known.
    pub registers: Option<u32>,
    pub spill_bytes: Option<u32>,
    pub shared_bytes: Option<u32>,
}

impl Built {
    /// No image came of it; begun at `started`.
    fn failed(log: String, started: Instant) -> Self {
        Built {
            image: None,
            log,
            seconds: started.elapsed().as_secs_f64(),
            reused: false,
            registers: None,
            spill_bytes: None,
            shared_bytes: None,
        }
    }
}

/// Turns source into an image. Lives in the compiler process.
pub trait Builder {
    /// Compiler and version, as in `NVRTC 13.0` or `g++ 12.2.0`.
    fn version(&self) -> String;
    /// What tells this compiler from any other that might make another image of the same request.
    fn identity(&self) -> String;
    /// Gets ready for builds like this one (precompiles its headers), and says whether that did
    /// anything for them. What goes wrong here the build itself will say.
    fn warm(&mut self, request: &BuildRequest) -> bool;
    /// A build that fails is an `Ok` with no image: the log says why. `Err` means the compiler
    /// itself could not be run, with the remedy.
    fn build(&mut self, request: &BuildRequest) -> Result<Built, DeviceError>;
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// `NVIDIA H200`, or `cpu (emulated, 2 threads)`.
    pub name: String,
    pub emulated: bool,
    /// Streaming multiprocessors; on the cpu device the number of them that it pretends to have.
    pub sms: u32,
    /// `sm_90`; empty on the cpu device.
    pub arch: String,
    /// Shared memory that one block may ask for, in bytes.
    pub max_shared_bytes: u32,
    /// Level-2 cache; 0 on the cpu device, whose memory has no cache of its own.
    pub l2_bytes: u64,
    /// `GPU-` and 16 bytes in hex, whatever CUDA_VISIBLE_DEVICES makes of its ordinal; empty where
    /// the device has none.
    pub uuid: String,
    pub driver: String,
}

/// A kernel in a loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    pub module: u32,
    pub index: u32,
}

/// How a kernel is launched, as its launch statement in kernel.cu said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub cooperative: bool,
}

/// How a launch of this shape fills a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// Blocks that live on one at once.
    pub blocks_per_sm: u32,
    /// Threads that one can hold.
    pub threads_per_sm: u32,
}

/// In which order the cpu device runs blocks, warps and threads between two barriers. A CUDA
/// device ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    #[default]
    Forward,
    Reverse,
    Shuffled(u64),
}

/// One argument of a kernel, as the bytes that the parameter takes (a pointer is 8 bytes).
pub type Arg = Vec<u8>;

/// Bytes that [`Driver::first_difference`] takes at a time.
pub const COMPARED: usize = 1 << 20;

/// Memory and launches. Lives in the worker process. Addresses are the device's own.
pub trait Driver {
    fn info(&self) -> DeviceInfo;
    fn load(&mut self, image: &Path) -> Result<u32, DeviceError>;
    fn unload(&mut self, module: u32) -> Result<(), DeviceError>;
    /// `None` where the module has no such kernel.
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError>;
    /// Blocks of this shape that fit on one multiprocessor at once.
    fn blocks_per_sm(&mut self, entry: Entry, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError>;
    /// `None` on a device whose multiprocessors are made up.
    fn residency(&mut self, _: Entry, _: &Shape) -> Result<Option<Residency>, DeviceError> {
        Ok(None)
    }
    /// 256-byte aligned.
    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError>;
    fn free(&mut self, address: u64) -> Result<(), DeviceError>;
    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    /// Where memory first differs from `right`.
    fn first_difference(&mut self, address: u64, right: &[u8]) -> Result<Option<usize>, DeviceError> {
        // A little at a time, as fresh pages of a host take longer than the copy.
        let mut now = vec![0; right.len().min(COMPARED)];
        for (at, right) in (0..).step_by(COMPARED).zip(right.chunks(COMPARED)) {
            let now = &mut now[..right.len()];
            self.download(address + at as u64, now)?;
            if now != right {
                return Ok(now.iter().zip(right).position(|(a, b)| a != b).map(|i| at + i));
            }
        }
        Ok(None)
    }
    /// Fills with a repeated 32-bit pattern; `bytes` is a multiple of 4.
    fn fill(&mut self, address: u64, bytes: usize, pattern: u32) -> Result<(), DeviceError>;
    /// Overwrites what a kernel may have left in memory of this device that is nobody's buffer, as far as the driver
    /// can reach it.
    fn forget(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    /// Launches once, waits, and returns the seconds between device events around the launch
    /// (wall clock on the cpu device).
    fn launch(&mut self, entry: Entry, shape: &Shape, args: &[Arg], order: Order)
    -> Result<f64, DeviceError>;
}

/// What went wrong on a device, in words that a person can act on.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum DeviceError {
    /// The device, its driver or its compiler cannot be used here; the text ends with the remedy.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel did something that ends the run: illegal address, a barrier not all reach, a
    /// launch that cannot be made. The device must be taken for dirty.
    #[error("{0}")]
    Kernel(String),
    /// Out of device memory, or a call that should not fail did.
    #[error("{0}")]
    Driver(String),
}

/// The compiler for a resolved target.
pub fn builder(target: Target) -> Result<Box<dyn Builder>, DeviceError> {
    match target.resolve() {
        Target::Cuda(_) => cuda::builder(),
        _ => cpu::builder(),
    }
}

/// Opens a resolved target.
pub fn open(target: Target) -> Result<Box<dyn Driver>, DeviceError> {
    match target.resolve() {
        Target::Cuda(ordinal) => cuda::open(ordinal),
        _ => cpu::open(),
    }
}

/// One thing that `lab doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub what: String,
    pub ok: bool,
    pub says: String,
    /// What to do; `None` where nothing is to be done, or where `says` ends with it.
    pub remedy: Option<String>,
}

/// What this machine has for the devices, and what is missing.
pub fn findings() -> Vec<Finding> {
    cuda::findings()
}
