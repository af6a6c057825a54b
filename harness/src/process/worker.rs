//! The worker process (holds the device, runs the kernel) and its client, [`Worker`].
//!
//! The worker knows no problem and no expected value: it is a device at the end of a pipe, with
//! canary zones around every buffer, poison, and digests of inputs.

use crate::device::{Arg, DeviceInfo, Order, Shape};
use crate::problem::Stop;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ModuleId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BufferId(pub u32);

/// An argument of a launch.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum LaunchArg {
    Buffer(BufferId),
    Value(Arg),
}

/// One launch: the entry's own launch statement decides the shape.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Launch {
    pub module: ModuleId,
    pub entry: String,
    pub args: Vec<LaunchArg>,
    /// Bytes of the `LabDims` that the launch statement is asked with.
    pub dims: Vec<u8>,
    pub order: Order,
}

/// A rule that a launch broke, found afterwards.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Breach {
    /// A canary byte changed: `offset` is relative to the buffer's first byte, negative before it.
    OutOfBounds { buffer: String, offset: i64 },
    /// A buffer sealed as input changed; the first byte that did.
    InputChanged { buffer: String, offset: u64 },
}

/// The judge's end of a worker process.
pub struct Worker {
    _private: (),
}

#[allow(unused_variables)]
impl Worker {
    pub fn info(&self) -> &DeviceInfo {
        todo_elsewhere()
    }
    pub fn load(&mut self, image: &Path) -> Result<ModuleId, Stop> {
        todo_elsewhere()
    }
    /// Whether the module has this kernel and its launch statement.
    pub fn has_entry(&mut self, module: ModuleId, entry: &str) -> Result<bool, Stop> {
        todo_elsewhere()
    }
    /// A named buffer with canary zones before and after it; its content is poison.
    pub fn buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId, Stop> {
        todo_elsewhere()
    }
    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        todo_elsewhere()
    }
    pub fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, Stop> {
        todo_elsewhere()
    }
    /// Fills a buffer with [`POISON`], so that a cell nobody wrote shows.
    pub fn poison(&mut self, buffer: BufferId) -> Result<(), Stop> {
        todo_elsewhere()
    }
    /// Declares the present content of a buffer an input: [`Worker::breaches`] reports if it changes.
    pub fn seal(&mut self, buffer: BufferId) -> Result<(), Stop> {
        todo_elsewhere()
    }
    pub fn free(&mut self, buffer: BufferId) -> Result<(), Stop> {
        todo_elsewhere()
    }
    /// Launches, waits; seconds between device events around the launch.
    pub fn launch(&mut self, launch: &Launch) -> Result<f64, Stop> {
        todo_elsewhere()
    }
    /// The shape that the launch statement of the last launch gave.
    pub fn shape(&self) -> Option<Shape> {
        todo_elsewhere()
    }
    /// Checks every canary and every sealed buffer.
    pub fn breaches(&mut self) -> Result<Vec<Breach>, Stop> {
        todo_elsewhere()
    }
}

/// The 32-bit pattern of unwritten memory: a NaN as f32, and twice a NaN as f16 or bf16.
pub const POISON: u32 = 0x7fff_7fff;

fn todo_elsewhere<T>() -> T {
    unreachable!("replaced by the real worker in the same change")
}
