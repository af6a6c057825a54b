//! What the detector reports: the races of a launch, and the file that `lab check` reads them from.

use crate::api::{DeviceError, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};

/// The environment variable that names the file to which a process appends what it finds, one line
/// of JSON for each [`RaceLogLine`].
pub const LOG_VARIABLE: &str = "LAB_RACES";

/// The environment variable that says how many accesses of a launch are looked at; all without it.
/// The blocks run in an order of chance, so these are the accesses of some blocks.
pub const MOST_VARIABLE: &str = "LAB_RACES_MOST";

/// Whether this process is watched by the race detector.
pub fn is_on() -> bool {
    std::env::var_os(LOG_VARIABLE).is_some()
}

/// What [`MOST_VARIABLE`] says.
pub fn most_accesses() -> u64 {
    let named = std::env::var(MOST_VARIABLE).ok();
    named.and_then(|most| most.parse().ok()).unwrap_or(u64::MAX)
}

/// A read of memory around a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideRead {
    /// Who reads, and where in the code.
    pub read: RacingAccess,
    /// The name of the buffer.
    pub buffer: String,
    /// The first byte outside that is read, from the start of the buffer. Negative before it.
    pub offset: i64,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RaceLogLine {
    /// A race.
    Race(Race),
    /// A read outside of the launch's buffers.
    Outside(OutsideRead),
    /// What one launch executed.
    Executed(Executed),
}

/// The instructions of a launch that access memory. An instruction is named as in
/// [`RacingAccess::pc`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Those of which the detector looked at an access, or that only access a thread's own stack.
    pub watched: Vec<u64>,
    /// Those that ran only after the detector had looked at as many accesses as [`MOST_VARIABLE`]
    /// says.
    pub unwatched: Vec<u64>,
}

/// Two accesses to the same bytes that race. At least one of them writes.
///
/// ```
/// use lab_device::cpu::{BarrierScope, MemorySpace, Race, RaceKind, RacingAccess};
///
/// let write = RacingAccess { block: [0, 0, 0], thread: [31, 0, 0], writes: true, pc: 0x1200, warp: 0 };
/// let read = RacingAccess { thread: [32, 0, 0], writes: false, warp: 1, ..write.clone() };
/// let (kind, memory) = (RaceKind::Unordered, MemorySpace::Shared);
/// let race = Race { kind, memory, accesses: [write, read] };
/// // The threads are in two warps of one block: `__syncthreads()` would order them.
/// assert_eq!(BarrierScope::of(&race.accesses), BarrierScope::Block);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Race {
    /// What is wrong.
    pub kind: RaceKind,
    /// The memory that holds the bytes.
    pub memory: MemorySpace,
    /// In the order in which they ran.
    pub accesses: [RacingAccess; 2],
}

/// What is wrong with two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaceKind {
    /// Nothing orders them.
    Unordered,
    /// An atomic has the scope of one block, and the other access is of another block.
    BlockScope,
    /// The second one stores past the caches what may be made of a value that is no longer there.
    LostUpdate,
    /// The second one loads by `__ldg` what the first one has stored.
    ReadOnly,
    /// Both are one access to the local memory of another thread.
    Local,
}

/// The memory in which two threads race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemorySpace {
    /// Global memory, which all blocks share.
    Global,
    /// The block's shared memory.
    Shared,
    /// The memory of one thread.
    Local,
}

/// One of the two accesses of a [`Race`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RacingAccess {
    /// `blockIdx`.
    pub block: [u32; 3],
    /// `threadIdx`.
    pub thread: [u32; 3],
    /// Whether it writes; otherwise it reads.
    pub writes: bool,
    /// Address of the instruction after the access, in bytes from the start of the module's image.
    pub pc: u64,
    /// Index of the thread's warp within its block.
    pub warp: u32,
}

/// The narrowest barrier that brings two threads together. The variants are in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarrierScope {
    /// `__syncwarp()`
    Warp,
    /// `__syncthreads()`
    Block,
    /// `this_grid().sync()`
    Grid,
}

impl BarrierScope {
    /// The narrowest barrier that would order the two accesses.
    pub fn of([a, b]: &[RacingAccess; 2]) -> BarrierScope {
        match (a.block == b.block, a.warp == b.warp) {
            (true, true) => BarrierScope::Warp,
            (true, false) => BarrierScope::Block,
            (false, _) => BarrierScope::Grid,
        }
    }
}

/// Appends lines to the file that [`LOG_VARIABLE`] names. Does nothing without the variable.
pub fn append(lines: &[RaceLogLine]) -> Result {
    let Some(path) = std::env::var_os(LOG_VARIABLE) else {
        return Ok(());
    };
    let write = || -> io::Result<()> {
        let mut text = String::new();
        for line in lines {
            text += &format!("{}\n", serde_json::to_string(line)?);
        }
        let mut file = File::options().append(true).create(true).open(&path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|e| {
        DeviceError::Driver(format!(
            "cannot write what the race detector saw to {}: {e}. Make the folder writable or free disk space.",
            path.display()
        ))
    })
}
