//! Building a kernel: the request, its result, and [`Builder`], which each device implements.

use crate::api::error::Result;
use lab_protocol::CompileOptions;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Instant;

/// What a [`Builder`] compiles, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuildRequest {
    /// The file to compile: a snapshot that nobody edits.
    pub source: PathBuf,
    /// The path that diagnostics show: the path of the user's own file.
    pub shown_as: String,
    /// Folders in which `#include "…"` is looked up, after the source's own folder.
    pub include_dirs: Vec<PathBuf>,
    /// Macros: name and value.
    pub defines: Vec<(String, String)>,
    /// Further compiler options, from lab.toml. Each compiler gets those that it knows.
    pub options: CompileOptions,
    /// The instrumentation that a tool needs, on the cpu device.
    pub sanitizer: Option<Sanitizer>,
    /// Text of the generated header `lab_problem.h`, which `lab.h` includes: the struct `LabDims`.
    pub problem_header: String,
    /// Architecture to build for, such as `sm_90`; empty on the cpu device.
    pub arch: String,
    /// Folder for the image and for files that the compiler keeps between builds.
    pub cache_dir: PathBuf,
}

impl BuildRequest {
    /// Whether the source is a `.cpp`. It is written for the host as a whole, and only its entry is
    /// called as a kernel.
    pub fn is_host(&self) -> bool {
        let ending = self.source.extension();
        ending.is_some_and(|ending| ending == "cpp")
    }
}

/// Whether the user trusts the current folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FolderTrust {
    /// Libraries in it may be loaded.
    Trusted,
    /// It may be a stranger's.
    Untrusted,
}

impl FolderTrust {
    /// Whether the user trusts it.
    pub fn of(is_trusted: bool) -> Self {
        if is_trusted {
            FolderTrust::Trusted
        } else {
            FolderTrust::Untrusted
        }
    }
}

/// How the cpu device instruments a module, so that a tool sees each memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sanitizer {
    /// AddressSanitizer.
    Address,
    /// ThreadSanitizer's instrumentation, with the lab's own runtime instead of `libtsan`.
    Thread,
}

/// The result of a build.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Built {
    /// The file with the built module: a cubin for a CUDA device, a shared object for the cpu device.
    /// `None` where the build failed.
    pub image: Option<PathBuf>,
    /// The compiler's diagnostics, as it printed them. Holds the warnings of a build that
    /// succeeded, too.
    pub log: String,
    /// Wall time of the build, in seconds.
    pub seconds: f64,
    /// Whether the image was found in the build cache.
    pub reused: bool,
    /// Where the source is other code on a GPU, as in `kernel.cu:26 is other code there`, or asks
    /// its compiler a question; only on the cpu device, which then runs another path than a GPU.
    pub device_branch: Option<String>,
    /// The largest needs over the module's functions.
    pub resources: Resources,
}

/// What a kernel needs, or the largest need for each resource over the functions of a module,
/// launch statements left out. `None` where the compiler does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes that a thread keeps in memory because it has too few registers: spill stores and loads
    /// together.
    pub spill_bytes: Option<u32>,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: Option<u32>,
}

impl Resources {
    /// What is known, under its name in result lines.
    pub fn known(self) -> impl Iterator<Item = (&'static str, u32)> {
        let all = [
            ("registers", self.registers),
            ("spill_bytes", self.spill_bytes),
            ("shared_bytes", self.shared_bytes),
        ];
        all.into_iter()
            .filter_map(|(name, needed)| Some((name, needed?)))
    }
}

impl Built {
    /// The result of a build that failed, and that began at `started`.
    pub fn failed(log: String, started: Instant) -> Self {
        Built {
            image: None,
            log,
            seconds: started.elapsed().as_secs_f64(),
            reused: false,
            device_branch: None,
            resources: Resources::default(),
        }
    }
}

/// What a source needs on an architecture for which no image is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetBuild {
    /// As in `sm_90a`.
    pub arch: String,
    /// Why it does not build: the compiler's first error.
    pub refused: Option<String>,
    /// As of [`Built`].
    pub resources: Resources,
}

/// Makes the files that all builds of a compiler share, from the lab's own sources, if they are not
/// there yet.
pub type SharedFiles = Box<dyn Fn(&BuildRequest) -> Result + Send>;

/// Compiles source into an image. Lives in the compiler process.
pub trait Builder {
    /// Compiler and version, such as `NVRTC 13.0` or `g++ 12.2.0`.
    fn version(&self) -> String;
    /// The compiler's own folders: it starts programs from them, and reads headers and libraries in
    /// them.
    fn own_files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Returns what makes the shared files. A confined builder calls it outside the sandbox, before
    /// a build.
    fn shared_files(&self) -> SharedFiles {
        Box::new(|_| Ok(()))
    }
    /// The key of a build in the build cache, in hex. `None` where the image
    /// may depend on more than can be hashed.
    fn key(&self, request: &BuildRequest) -> Option<String>;
    /// Prepares for builds like this one: precompiles its headers. Returns whether they are ready.
    /// A failure is not reported here: the build itself meets it again and reports it.
    fn warm(&mut self, request: &BuildRequest) -> bool {
        (self.shared_files())(request).is_ok()
    }
    /// Builds. A source with errors is an `Ok` without an image: the log holds the errors. An `Err`
    /// means that the compiler itself could not run; its text ends with the remedy.
    fn build(&mut self, request: &BuildRequest) -> Result<Built>;
    /// Builds for each of these architectures too, and keeps no image. `None` where the compiler builds
    /// for no GPU.
    fn build_for(
        &mut self,
        _request: &BuildRequest,
        _archs: &[String],
    ) -> Result<Option<Vec<TargetBuild>>> {
        Ok(None)
    }
}
