//! The worker process, which holds the device and runs the kernel, and the judge's client for it,
//! [`Worker`].
//!
//! A worker that runs a kernel of the user knows no problem and no expected value. It offers
//! buffers between guard zones, poison, copies of inputs, and launches. Its answers are untrusted,
//! because on the cpu device the kernel shares its memory. The judge has the buffers of all workers
//! ([`JudgeMemory`]): on a GPU in a worker of its own, which runs no kernel of the user and also
//! holds expected values.

pub mod cell_work;
pub mod cells;
mod client;
pub mod compile_ahead;
mod content;
mod images;
mod judge_memory;
mod launch_checks;
mod launch_statement;
mod launching;
mod left_behind;
mod link;
mod memory;
mod messages;
mod python;
mod scratch;
mod scratch_room;
mod server;
mod starting;
mod stated_launches;
mod tensor_maps;
#[cfg(test)]
mod tests;
mod windows;

#[cfg(test)]
pub use launch_statement::{SHAPE_BYTES, encoding as statement_encoding};

pub use client::{LentInputs, Worker};
pub use judge_memory::{Cells, JudgeMemory};
pub use memory::{BACK, BACK_OF_LAST, FRONT, guarded_bytes};
pub use messages::{NO_KERNEL, NO_STATEMENT, Passed, TWO_STATEMENTS, Window};
pub use python::{Interpreter, NO_SANDBOX};
pub use server::serve;
pub use starting::{StartingWorker, WorkerProgram};

use crate::dtype::Dtype;
use crate::process::framing::FrameError;
use crate::process::{child, child_exit, exec_wrapper};
use lab_device::{Arg, Driver, ExecutionOrder, Occupancy, Resources, Result, Shape, Submission};
use lab_protocol::Target;
use lab_system::descendants;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// A tool that watches a worker.
#[derive(Clone, Debug)]
pub struct WatchingTool {
    /// Further environment variables for the worker.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder that the findings are written to.
    pub folder: PathBuf,
    /// The tool is not the lab's own, and makes system calls that a kernel may not.
    pub is_foreign: bool,
    /// The tool reads counters, for which it locks files and changes their modes.
    pub is_profiler: bool,
}

/// A module that a worker has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleId(pub u32);

/// A buffer of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BufferId(pub u32);

/// An argument of a launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LaunchArg {
    /// The device address of a buffer.
    Buffer(BufferId),
    /// The device address so many bytes behind the beginning of a buffer.
    Part(BufferId, u64),
    /// The bytes of a value.
    Value(Arg),
}

impl LaunchArg {
    /// The buffer, and the bytes before the address; `None` for a value.
    pub fn place(&self) -> Option<(BufferId, u64)> {
        match self {
            LaunchArg::Buffer(id) => Some((*id, 0)),
            LaunchArg::Part(id, offset) => Some((*id, *offset)),
            LaunchArg::Value(_) => None,
        }
    }
}

/// What an argument of a launch is: a kernel in Python gets its arguments by name, as tensors and
/// numbers, and a launch statement may ask for a tensor map of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchParameter {
    /// The name in problem.toml.
    pub name: String,
    /// The type of its cells, or of the number.
    pub dtype: Dtype,
    /// The extents of a tensor, the outermost first; `None` for a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// Of a view: the cells from each cell of an extent to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strides: Option<Vec<u64>>,
    /// A tensor that the kernel only reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_input: bool,
}

impl LaunchParameter {
    /// The bytes from the first cell of a tensor to the end of its last one.
    pub fn bytes(&self) -> u64 {
        let extents = self.shape.iter().flatten();
        let cells = match &self.strides {
            None => extents.product(),
            Some(strides) => {
                let last = extents.zip(strides);
                1 + last
                    .map(|(extent, stride)| (extent - 1) * stride)
                    .sum::<u64>()
            }
        };
        cells * self.dtype.size() as u64
    }
}

/// What messages call the scratch buffer of a list where no case owns it.
pub const SCRATCH_NAME: &str = "the scratch buffer";

/// How the text of a failure begins that is not the kernel's but that of a launch statement. The
/// name of the entry follows.
pub const STATEMENT_OF: &str = "the launch statement of";

/// One launch, or a list of launches. Shapes come from the entry's own launch statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The module that holds the kernel.
    pub module: ModuleId,
    /// The kernel's name.
    pub entry: String,
    /// In the order of the kernel's parameters.
    pub args: Vec<LaunchArg>,
    /// The bytes of the `LabDims` that the launch statement gets.
    pub dims: Vec<u8>,
    /// The order of blocks and threads on the cpu device; a GPU has its own.
    pub order: ExecutionOrder,
    /// What each argument is, in the order of the arguments: at least of the tensors, which come
    /// first. Empty for the lab's own kernels.
    pub parameters: Vec<LaunchParameter>,
    /// What messages call the scratch buffer of a list.
    pub scratch: String,
}

impl Launch {
    /// A launch of one of the lab's own kernels.
    pub fn of(module: ModuleId, entry: &str, args: Vec<LaunchArg>, dims: Vec<u8>) -> Self {
        Launch {
            module,
            entry: entry.to_owned(),
            args,
            dims,
            order: ExecutionOrder::Forward,
            parameters: Vec::new(),
            scratch: SCRATCH_NAME.to_owned(),
        }
    }
}

/// A launch, and further ones that differ from it in their arguments only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repeated {
    /// The first one.
    pub launch: Launch,
    /// The arguments of each further one.
    pub further: Vec<Vec<LaunchArg>>,
}

impl Repeated {
    /// The arguments of each launch.
    pub fn args(&self) -> impl Iterator<Item = &Vec<LaunchArg>> {
        std::iter::once(&self.launch.args).chain(&self.further)
    }
}

impl From<Launch> for Repeated {
    fn from(launch: Launch) -> Self {
        Repeated {
            launch,
            further: Vec::new(),
        }
    }
}

/// What a launch statement asked for, or what a launch of Python code did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Launched {
    /// Launches that differ, in the order in which they first come; one unless it is a list. Empty for
    /// Python code, which starts what it wants.
    pub kernels: Vec<LaunchedKernel>,
    /// Whether it is a list, `LAB_LAUNCHES`.
    pub is_list: bool,
    /// Bytes of the list's scratch buffer.
    pub scratch_bytes: u64,
    /// Whether the scratch buffer is zeroed at the beginning of the list.
    pub zeroed: bool,
    /// What the kernels that Python code has compiled need, as far as their compiler tells. Empty
    /// for CUDA C++.
    pub resources: Vec<KernelResources>,
}

/// What a compiled kernel needs of a multiprocessor. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelResources {
    /// The kernel's name.
    pub name: String,
    #[serde(flatten)]
    pub needs: Resources,
}

/// A window of launches, as a worker has timed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// From the first launch's begin to the last one's end. NaN where a later window broke the
    /// device before the time was read.
    pub seconds: f64,
    /// Of the buffers that were asked for.
    pub digests: Vec<u64>,
    /// How the launches got to the device.
    pub submission: Submission,
    /// Why they are no graph although one was asked for. `None` if they are, or if none was asked
    /// for.
    pub uncaptured: Option<String>,
}

impl Launched {
    /// How many launches there are.
    pub fn launches(&self) -> usize {
        self.kernels.iter().map(|kernel| kernel.times).sum()
    }
}

/// One launch of a statement, or several that differ in their arguments only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchedKernel {
    /// The kernel's name.
    pub entry: String,
    /// Its shape.
    pub shape: Shape,
    /// How many such launches there are.
    pub times: usize,
    /// How it fills a multiprocessor, if the device knows that.
    pub occupancy: Option<Occupancy>,
    /// Its tensor maps.
    pub maps: usize,
}

/// A rule that a launch broke, found after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Breach {
    /// A byte of a guard zone changed. `offset` counts in bytes from the buffer's first byte, and
    /// is negative before it.
    OutOfBounds {
        /// The buffer's name.
        buffer: String,
        /// In bytes.
        offset: i64,
    },
    /// A buffer changed that no launch since was given.
    StrayStore {
        /// The buffer's name.
        buffer: String,
        /// The first byte that changed, if that is known.
        offset: Option<u64>,
    },
    /// Results changed when their launch was over, before any other launch: code in Python may
    /// leave a thread or a process that works on.
    LateStore {
        /// The buffer's name.
        buffer: String,
        /// The first byte that changed, if that is known.
        offset: Option<u64>,
    },
    /// A buffer that was sealed as an input changed. `offset` is the first byte that changed.
    InputChanged {
        /// The buffer's name.
        buffer: String,
        /// In bytes.
        offset: u64,
    },
}

/// Runs the worker process: serves the judge that started it, until the judge ends.
pub fn main() -> ExitCode {
    main_with(lab_device::open)
}

/// [`main`] with a device that the caller opens.
pub fn main_with(open: impl FnOnce(Target) -> Result<Box<dyn Driver>>) -> ExitCode {
    let served = exec_wrapper::exec_if_asked()
        .map_err(FrameError::Io)
        .and_then(|()| {
            // What the kernel starts stays below this process, so the judge finds it.
            descendants::adopt_orphans().map_err(FrameError::Io)?;
            let stream = child::adopt(rustix::process::Signal::KILL).map_err(FrameError::Io)?;
            // The folder of the repository tells a kernel which run this is. Every path that a
            // worker gets is absolute.
            std::env::set_current_dir("/").map_err(FrameError::Io)?;
            serve(stream, open)
        });
    child_exit("lab harness-worker", served)
}
