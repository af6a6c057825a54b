//! Building a kernel: the request, its result, and [`Builder`], which each device implements.

use crate::api::error::DeviceError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Instant;

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
    /// The image was built before, from the same bytes ([`crate::build_cache`]).
    #[serde(default)]
    pub reused: bool,
    /// As the compiler reported them: the largest over the entries, where known.
    pub registers: Option<u32>,
    pub spill_bytes: Option<u32>,
    pub shared_bytes: Option<u32>,
}

impl Built {
    /// No image came of it; begun at `started`.
    pub fn failed(log: String, started: Instant) -> Self {
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
