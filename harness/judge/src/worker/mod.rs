//! The worker process (holds the device, runs the kernel), what it can be asked, and its client, [`Worker`].
//!
//! The worker knows no problem and no expected value: it is a device at the end of a pipe, with
//! canary zones around every buffer, poison, and copies of inputs. Whatever it answers is
//! untrusted, because on the cpu device the kernel shares its memory.

mod client;
mod memory;
mod server;
#[cfg(test)]
mod tests;

pub use client::{LaunchShape, StartingWorker, Worker};
pub use memory::CANARY;
pub use server::serve;

use crate::outcome::Stop;
use crate::process::framing::FrameError;
use crate::process::{child, child_exit, exec_wrapper};
use lab_device::{Arg, DeviceError, DeviceInfo, Driver, ExecutionOrder, Occupancy, Shape};
use lab_protocol::Target;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BufferId(pub u32);

/// An argument of a launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LaunchArg {
    Buffer(BufferId),
    Value(Arg),
}

/// One launch: the entry's own launch statement decides the shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    pub module: ModuleId,
    pub entry: String,
    pub args: Vec<LaunchArg>,
    /// Bytes of the `LabDims` that the launch statement is asked with.
    pub dims: Vec<u8>,
    pub order: ExecutionOrder,
}

/// A rule that a launch broke, found afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Breach {
    /// A canary byte changed: `offset` is relative to the buffer's first byte, negative before it.
    OutOfBounds { buffer: String, offset: i64 },
    /// A buffer sealed as input changed; the first byte that did.
    InputChanged { buffer: String, offset: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
enum WorkerRequest {
    /// `parent`: process id of the judge, where the worker is a process of its own.
    /// `watched`: memory is left as a tool wants to see it, see [`memory::Memory::watched`].
    Open {
        target: Target,
        parent: Option<i32>,
        watched: bool,
    },
    Load {
        image: PathBuf,
    },
    Renew {
        module: ModuleId,
    },
    Lacks {
        module: ModuleId,
        entry: String,
    },
    Buffer {
        name: String,
        bytes: usize,
    },
    Write {
        buffer: BufferId,
    },
    Read {
        buffer: BufferId,
    },
    Fill {
        buffer: BufferId,
        pattern: u32,
    },
    Seal {
        buffer: BufferId,
    },
    Free {
        buffer: BufferId,
    },
    Launch(Launch),
    Breaches,
}

#[derive(Debug, Serialize, Deserialize)]
enum WorkerReply {
    Done,
    Opened(DeviceInfo),
    Module(ModuleId),
    /// The name that the module lacks, if any.
    Lacks(Option<String>),
    Buffer(BufferId),
    Launched {
        seconds: f64,
        shape: Shape,
        occupancy: Option<Occupancy>,
    },
    Breaches(Vec<Breach>),
}

type WorkerAnswer = Result<WorkerReply, Failure>;

/// A [`Stop`] on the wire.
#[derive(Debug, Serialize, Deserialize)]
enum Failure {
    Build(String),
    Crash(String),
    Lab(String),
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Kernel(text) => Failure::Crash(text),
            DeviceError::Driver(text) | DeviceError::Unavailable(text) => Failure::Lab(text),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Build(text) => Stop::Build(text),
            Failure::Crash(text) => Stop::Crash(text),
            Failure::Lab(text) => Stop::Lab(text),
        }
    }
}

/// What a kernel's source must contain, said when it does not.
fn missing(entry: &str, missing: &str) -> String {
    if missing == entry {
        format!("there is no kernel {entry}: the source must define extern \"C\" __global__ void {entry}(…)")
    } else {
        format!(
            "there is no launch statement for {entry}: the source must contain LAB_LAUNCH({entry}) {{ … }}"
        )
    }
}

/// The worker process: serves the judge that started it until that ends.
pub fn main() -> std::process::ExitCode {
    main_with(lab_device::open)
}

/// [`main`] with a device of the caller's.
pub fn main_with(
    open: impl FnOnce(Target) -> Result<Box<dyn Driver>, DeviceError>,
) -> std::process::ExitCode {
    let served = exec_wrapper::exec_if_asked().map_err(FrameError::Io).and_then(|()| {
        child::adopt(rustix::process::Signal::KILL).map_err(FrameError::Io).and_then(|s| serve(s, open))
    });
    child_exit("lab harness-worker", served)
}
