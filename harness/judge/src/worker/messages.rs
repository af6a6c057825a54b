//! What the judge asks of a worker, and what a worker answers.

use super::{Breach, BufferId, Launch, LaunchParameter, Launched, ModuleId};
use crate::outcome::Stop;
use lab_device::sandbox::{FileAccess, SandboxState};
use lab_device::{DeviceError, DeviceInfo, Submission};
use lab_protocol::Target;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a worker is to confine itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct SandboxRequest {
    /// What it may use beside what every worker needs.
    pub files: FileAccess,
    /// A tool that is not the lab's own runs in the worker's process or around it.
    pub for_foreign_tool: bool,
    /// That tool is a profiler.
    pub for_profiler: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerRequest {
    /// Opens the device. `parent` is the process id of the judge, if the worker is its child.
    /// `under_tool` selects [`Memory::under_tool`](super::memory::Memory::under_tool). `sandbox`
    /// confines the worker once the device is open; `None` is for a worker on a thread of the
    /// judge.
    Open {
        target: Target,
        parent: Option<i32>,
        under_tool: bool,
        sandbox: Option<SandboxRequest>,
    },
    /// Loads an image, or a source of a worker that is Python.
    Load {
        image: PathBuf,
        /// Pairs of an entry and the function of the source that it calls, where their names
        /// differ.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        functions: Vec<(String, String)>,
    },
    /// Loads a module anew.
    Reload { module: ModuleId },
    /// Runs the launch statement of a launch that follows, which then needs to run none. A failure
    /// is the statement's.
    State(Launch),
    /// Asks for the name that a module lacks to launch `entry`. A function in Python must also take
    /// these parameters, if any are given: else the failure says at which line it does not.
    MissingEntry {
        module: ModuleId,
        entry: String,
        parameters: Vec<LaunchParameter>,
    },
    /// Allocates a buffer of so many bytes.
    Allocate { name: String, bytes: usize },
    /// Allocates several buffers: names and bytes.
    AllocateAll { buffers: Vec<(String, usize)> },
    /// Writes the body into a buffer.
    Write { buffer: BufferId },
    /// Writes the body into a buffer and declares it an input.
    WriteInput { buffer: BufferId },
    /// As `WriteInput` for several buffers, whose contents follow one another in the body.
    WriteInputs { buffers: Vec<BufferId> },
    /// Reads a whole buffer.
    Read { buffer: BufferId },
    /// Fills a buffer with a repeated 32-bit pattern.
    Fill { buffer: BufferId, pattern: u32 },
    /// As `Fill`, and nothing that was in the L2 cache is there afterwards.
    FlushCache { buffer: BufferId, pattern: u32 },
    /// Declares the content of a buffer an input.
    Seal { buffer: BufferId },
    /// Frees a buffer.
    Free { buffer: BufferId },
    /// Launches and waits.
    Launch(Launch),
    /// Fills buffers, each with a repeated 32-bit pattern, then launches and waits.
    FillAndLaunch {
        fills: Vec<(BufferId, u32)>,
        launch: Launch,
    },
    /// Launches these one after the other, and waits. With `flush`, first fills this buffer with a
    /// pattern, as `FlushCache` does.
    Replay {
        launches: Vec<Launch>,
        flush: Option<(BufferId, u32)>,
        submission: Submission,
    },
    /// Fills several buffers with a repeated 32-bit pattern.
    FillAll {
        buffers: Vec<BufferId>,
        pattern: u32,
    },
    /// Asks for the digest of each buffer.
    Digests { buffers: Vec<BufferId>, key: u64 },
    /// Asks for the rules that launches have broken; with `of_given` only in the buffers that they
    /// were given.
    Breaches { of_given: bool },
    /// Asks for the packages that loaded sources use, and their versions.
    Versions,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerReply {
    Done,
    Opened {
        info: DeviceInfo,
        /// Whether launches can run as one graph.
        has_graphs: bool,
        /// Whether launches have statements, which [`WorkerRequest::State`] runs.
        #[serde(default)]
        has_statements: bool,
        /// What holds the worker back; `None` if nothing was asked for.
        sandbox: Option<SandboxState>,
    },
    Module(ModuleId),
    /// The name that the module lacks, if any.
    MissingEntry(Option<String>),
    Buffer(BufferId),
    /// In the order in which they were asked for.
    Buffers(Vec<BufferId>),
    /// The scratch that a launch statement asks for, and the line of the statement.
    Stated {
        scratch_bytes: u64,
        line: u32,
    },
    Launched {
        seconds: f64,
        launched: Launched,
    },
    Replayed {
        seconds: f64,
        /// Why the launches were submitted one after the other although a graph was asked for.
        /// `None` if they were submitted as they were asked for.
        #[serde(default)]
        uncaptured: Option<String>,
    },
    Digests(Vec<u64>),
    Breaches(Vec<Breach>),
    /// Names and versions, in order of the names.
    Versions(Vec<(String, String)>),
}

pub type WorkerAnswer = Result<WorkerReply, WorkerFailure>;

/// A [`Stop`] as it is sent to the judge.
#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerFailure {
    Build(String),
    Crash(String),
    Lab(String),
}

impl From<DeviceError> for WorkerFailure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Kernel(text) => WorkerFailure::Crash(text),
            DeviceError::Driver(text) | DeviceError::Unavailable(text) => WorkerFailure::Lab(text),
        }
    }
}

impl From<WorkerFailure> for Stop {
    fn from(failure: WorkerFailure) -> Self {
        match failure {
            WorkerFailure::Build(text) => Stop::Build(text),
            WorkerFailure::Crash(text) => Stop::Crash(text),
            WorkerFailure::Lab(text) => Stop::Lab(text),
        }
    }
}

/// How the errors of a source begin that lacks a kernel, that lacks its launch statement, and that
/// has two of them. The entry and a colon follow.
pub const NO_KERNEL: &str = "there is no kernel ";
pub const NO_STATEMENT: &str = "there is no launch statement for ";
pub const TWO_STATEMENTS: &str = "there are two launch statements for ";

/// The error text for a source that lacks `missing`, which is the kernel `entry` or its launch
/// statement.
pub fn missing_text(entry: &str, missing: &str) -> String {
    if missing == entry {
        format!(
            "{NO_KERNEL}{entry}: the source must define extern \"C\" __global__ void {entry}(…)"
        )
    } else {
        format!("{NO_STATEMENT}{entry}: the source must contain LAB_LAUNCH({entry}) {{ … }}")
    }
}
