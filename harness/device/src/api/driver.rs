//! Holding memory and launching kernels: [`Driver`], which each device implements, and what it is given.

use crate::api::error::DeviceError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The 32-bit pattern of unwritten memory: a NaN as f32, and twice a NaN as f16 or bf16.
pub const POISON: u32 = 0x7fff_7fff;

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
pub struct Occupancy {
    /// Blocks that live on one at once.
    pub blocks_per_sm: u32,
    /// Threads that one can hold.
    pub threads_per_sm: u32,
}

/// In which order the cpu device runs blocks, warps and threads between two barriers. A CUDA
/// device ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutionOrder {
    #[default]
    Forward,
    Reverse,
    Shuffled(u64),
}

/// One argument of a kernel, as the bytes that the parameter takes (a pointer is 8 bytes).
pub type Arg = Vec<u8>;

/// Bytes that [`Driver::first_difference`] takes at a time.
pub const COMPARE_CHUNK_BYTES: usize = 1 << 20;

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
    fn occupancy(&mut self, _: Entry, _: &Shape) -> Result<Option<Occupancy>, DeviceError> {
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
        let mut now = vec![0; right.len().min(COMPARE_CHUNK_BYTES)];
        for (at, right) in (0..).step_by(COMPARE_CHUNK_BYTES).zip(right.chunks(COMPARE_CHUNK_BYTES)) {
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
    /// Overwrites the memory between the end of each allocation and the end of its last page with zeros, where the
    /// device rounds allocations up to pages: a kernel can write there and read it back in the next launch.
    fn wipe_padding(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
    /// Launches once, waits, and returns the seconds between device events around the launch
    /// (wall clock on the cpu device).
    fn launch(
        &mut self,
        entry: Entry,
        shape: &Shape,
        args: &[Arg],
        order: ExecutionOrder,
    ) -> Result<f64, DeviceError>;
}
