//! What the judge asks of a worker. Each request says what the reply is; without a word it is `()`,
//! and a failure is a [`Stop`].

use super::cell_work::CellWork;
use super::memory::{BufferUse, Filling, OWN, SharedBlock};
use super::{BufferId, Launch, LaunchParameter, Launched, ModuleId, Repeated};
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

/// What a problem passes to a kernel that is launched alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct Passed {
    /// The bytes of each argument.
    pub sizes: Vec<usize>,
    /// The bytes of the `LabDims` of one of its workloads. The launch statement may add arguments
    /// for it.
    pub dims: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerRequest {
    /// Opens the device. `parent` is the process id of the judge, if the worker is its child.
    /// `under_tool` says that a tool watches the memory. `sandbox` confines the worker once the device is open; `None` is for a worker on a thread of the
    /// judge.
    Open {
        target: Target,
        parent: Option<i32>,
        under_tool: bool,
        sandbox: Option<SandboxRequest>,
    },
    /// Loads an image, or a source of a worker that is Python. The reply is its [`ModuleId`].
    Load {
        image: PathBuf,
        /// Pairs of an entry and the function of the source that it calls, where their names
        /// differ.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        functions: Vec<(String, String)>,
    },
    /// Loads a module again.
    Reload { module: ModuleId },
    /// Unloads all modules of a worker that is not Python, and wipes shared memory.
    UnloadAll,
    /// Runs the launch statement of launches that follow, which then need to run none. They are of
    /// one entry. A failure is the statement's. The reply is for each the bytes of scratch that it
    /// asks for, and its line.
    State(Vec<Launch>),
    /// Asks for the name that a module lacks to launch `entry`. A function in Python must also take
    /// these parameters, if any are given: else the failure says at which line it does not. A
    /// kernel must take what the problem passes, if that is given.
    MissingEntry {
        module: ModuleId,
        entry: String,
        parameters: Vec<LaunchParameter>,
        passed: Option<Passed>,
    },
    /// Allocates buffers: names and bytes. The reply is a [`BufferId`] for each, in this order.
    Allocate {
        buffers: Vec<(String, usize)>,
        used: BufferUse,
    },
    /// Writes whole buffers, whose contents follow one another in the body. `are_inputs` declares
    /// them inputs.
    Write {
        buffers: Vec<BufferId>,
        are_inputs: bool,
    },
    /// Reads a whole buffer, which is the body of the reply.
    Read { buffer: BufferId },
    /// Fills buffers, each with a repeated 32-bit pattern.
    Fill {
        fills: Vec<(BufferId, u32)>,
        how: Filling,
    },
    /// Frees a buffer.
    Free { buffer: BufferId },
    /// Fills buffers ahead, then makes each of these launches and waits for it; with `wiped` after
    /// wiping shared memory. The reply is a [`LaunchedEach`].
    Launch {
        fills: Vec<(BufferId, u32)>,
        launches: Vec<Launch>,
        wiped: bool,
    },
    /// Runs these windows one after the other. With `flush`, the launches of each begin after this
    /// buffer was filled with a pattern, which flushes the cache. The digests are under `key`. The
    /// reply is a [`ReplayedEach`].
    Replay {
        windows: Vec<Window>,
        flush: Option<(BufferId, u32)>,
        submission: Submission,
        key: u64,
    },
    /// Asks for the digest of each buffer.
    Digests { buffers: Vec<BufferId>, key: u64 },
    /// Asks for the rules that launches of `owner` have broken, each a [`Breach`](super::Breach);
    /// with `of_given` only in the buffers that they were given.
    Breaches {
        of_given: bool,
        #[serde(default, skip_serializing_if = "is_own")]
        owner: u32,
    },
    /// Asks for memory, which another worker maps; see [`ForWorkers`].
    ForWorkers(ForWorkers),
    /// Maps memory of the judge's own worker, whose descriptor follows.
    Map(SharedBlock),
    /// Ends the mapping of buffers, so that no kernel has the memory's next content.
    Unmap { buffers: Vec<BufferId> },
    /// Computes with cells that the judge holds; see [`CellWork`].
    Cells { module: ModuleId, work: CellWork },
    /// Asks for the packages that loaded sources use, and their versions, in order of the names.
    Versions,
}

/// What the judge asks of its own worker for another worker, whose number is `owner`.
#[derive(Debug, Serialize, Deserialize)]
pub enum ForWorkers {
    /// Allocates buffers: names and bytes. The reply is a [`SharedBlock`], and its descriptor
    /// follows.
    Allocate {
        owner: u32,
        buffers: Vec<(String, usize)>,
        used: BufferUse,
    },
    /// A launch with these buffers follows, once these are filled.
    Prepare {
        owner: u32,
        fills: Vec<(BufferId, u32)>,
        given: Vec<BufferId>,
    },
    /// Looks for broken rules and keeps them for [`WorkerRequest::Breaches`].
    Check { owner: u32 },
    /// Frees everything that these workers had, and these buffers.
    Free {
        owners: Vec<u32>,
        buffers: Vec<BufferId>,
    },
    /// Holds the body. The reply is a [`BufferId`].
    Hold,
    /// Holds copies of these buffers. The reply is a [`BufferId`] for each.
    HoldCopies { buffers: Vec<BufferId> },
    /// Copies held buffers into others: pairs of the two.
    Copy {
        pairs: Vec<(BufferId, BufferId)>,
        are_inputs: bool,
    },
}

/// Launches that are timed together, and what surrounds them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Window {
    /// Filled before.
    pub fills: Vec<(BufferId, u32)>,
    /// Read before, which brings it into the cache.
    pub read: Vec<BufferId>,
    pub launches: Repeated,
    /// Digested afterwards.
    pub digested: Vec<BufferId>,
}

/// What became of windows that follow one another.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ReplayedEach {
    /// The seconds of each window that ended well, and its digests. `None` where a later window
    /// broke the device before the time was read.
    pub windows: Vec<(Option<f64>, Vec<u64>)>,
    /// Why launches were submitted one after the other although a graph was asked for.
    pub uncaptured: Option<String>,
    /// Why the next window failed; it is the last that ran.
    pub failure: Option<Stop>,
}

/// What became of launches that follow one another.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LaunchedEach {
    /// Of each launch that ended well.
    pub seconds: Vec<f64>,
    /// What the last of them was.
    pub launched: Option<Launched>,
    /// Why the next one failed; it is the last that was made.
    pub failure: Option<Stop>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_own(owner: &u32) -> bool {
    *owner == OWN
}

/// What a worker says of its device: the reply to [`WorkerRequest::Open`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Opened {
    pub info: DeviceInfo,
    /// Whether launches can run as one graph.
    pub has_graphs: bool,
    /// Whether launches have statements, which [`WorkerRequest::State`] runs.
    #[serde(default)]
    pub has_statements: bool,
    /// Whether it can map memory of another process, and another process its memory.
    #[serde(default)]
    pub shares_memory: bool,
    /// What holds the worker back; `None` if nothing was asked for.
    pub sandbox: Option<SandboxState>,
}

impl From<DeviceError> for Stop {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Kernel(text) => Stop::Crash(text),
            DeviceError::Driver(text) | DeviceError::Unavailable(text) => Stop::Lab(text),
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
