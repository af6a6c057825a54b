//! The layouts that this device shares with `include/cpu/lab_cpu/runtime.h`, and the table of
//! functions that device code calls.

use std::ffi::{c_char, c_void};

/// One emulated CUDA thread, in one cache line. Device code uses the first six fields.
#[repr(C, align(64))]
pub struct Thread {
    /// `threadIdx`.
    pub index: [u32; 3],
    /// Index in the warp.
    pub lane: u32,
    pub block: *mut BlockHead,
    /// Counts polling loads, so that one in many yields.
    pub polls: u32,
    /// The lanes, a bit each, that took part in the last rendezvous.
    pub participants: u32,

    /// Where the thread waits, for the report of a barrier that is never completed.
    pub site: CallSite,
    /// Index of the warp in the block.
    pub warp: u32,
    /// The coroutine that runs the thread; [`NOT_STARTED`] until the thread first runs.
    pub coroutine: u32,
}

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// The `coroutine` of a thread that has not run yet.
pub const NOT_STARTED: u32 = u32::MAX;

/// The part of a block that device code uses.
#[repr(C)]
pub struct BlockHead {
    /// `blockIdx`.
    pub index: [u32; 3],
    /// `blockDim`.
    pub dim: [u32; 3],
    /// `gridDim`.
    pub grid: [u32; 3],
    /// How many predicates were true at the last barrier, whether any was, and whether all were.
    pub count: u32,
    pub any: u32,
    pub all: u32,
    /// Dynamic shared memory.
    pub dynamic: *mut u8,
    /// The memory of each static `__shared__` declaration. Null until the declaration is first used
    /// in this block.
    pub slots: *mut *mut u8,
}

/// What a thread calls, and where in the user's source.
#[derive(Clone, Copy)]
pub struct CallSite {
    /// Such as `__syncthreads()`. A string of the module, or null.
    pub what: *const c_char,
    /// A string of the module, or null.
    pub file: *const c_char,
    pub line: u32,
}

impl CallSite {
    pub const NONE: CallSite = CallSite {
        what: std::ptr::null(),
        file: std::ptr::null(),
        line: 0,
    };
}

/// The functions that device code calls. `scheduler/runtime.rs` implements them.
#[repr(C)]
pub struct Runtime {
    pub gather: unsafe extern "C" fn(
        *mut Thread,
        u32,
        u64,
        *const c_char,
        *const c_char,
        u32,
    ) -> *const u64,
    pub warp_sum: unsafe extern "C" fn(*mut Thread, u32, f32, *const c_char, u32) -> f32,
    pub active: unsafe extern "C" fn(*mut Thread, *const c_char, u32) -> u32,
    pub block_barrier: unsafe extern "C" fn(*mut Thread, u32, *const c_char, *const c_char, u32),
    pub grid_barrier: unsafe extern "C" fn(*mut Thread, *const c_char, *const c_char, u32),
    pub yield_now: unsafe extern "C" fn(*mut Thread),
    pub shared: unsafe extern "C" fn(*mut Thread, u32, usize, usize) -> *mut c_void,
    pub fail: unsafe extern "C" fn(*mut Thread, *const c_char, *const c_char, u32) -> !,
    pub is_shared: unsafe extern "C" fn(*mut Thread, *const c_void) -> u32,
    pub is_local: unsafe extern "C" fn(*mut Thread, *const c_void) -> u32,
}

/// A kernel, as its module registered it.
#[repr(C)]
pub struct EntryRecord {
    pub name: *const c_char,
    pub call: KernelCall,
    /// The size of each parameter in bytes.
    pub sizes: *const u32,
    /// Number of parameters.
    pub arguments: u32,
    /// The threads of a block that `__launch_bounds__` allows; 0 without it.
    pub most_threads: u32,
    pub next: *const EntryRecord,
}

/// Calls a kernel for the current thread, with the addresses of its arguments.
pub type KernelCall = unsafe extern "C" fn(*mut *mut c_void);
