//! The layouts shared with `include/cpu/lab_cpu/runtime.h`, and the table of functions that device code calls.

use std::ffi::{c_char, c_void};

/// One emulated CUDA thread, in one cache line. Device code knows the first six fields.
#[repr(C, align(64))]
pub struct Thread {
    pub index: [u32; 3],
    pub lane: u32,
    pub block: *mut BlockHead,
    pub polls: u32,
    /// Lanes that took part in the last rendezvous.
    pub participants: u32,

    /// Where it waits, for the report when nobody comes.
    pub site: Site,
    pub warp: u32,
    /// The coroutine that carries it; [`FRESH`] until it first ran.
    pub carrier: u32,
}

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// A thread that no coroutine has taken up yet.
pub const FRESH: u32 = u32::MAX;

/// The part of a block that device code knows.
#[repr(C)]
pub struct BlockHead {
    pub index: [u32; 3],
    pub dim: [u32; 3],
    pub grid: [u32; 3],
    pub count: u32,
    pub any: u32,
    pub all: u32,
    pub dynamic: *mut u8,
    pub slots: *mut *mut u8,
}

/// A place in the user's source, and what the thread does there.
#[derive(Clone, Copy)]
pub struct Site {
    pub what: *const c_char,
    pub file: *const c_char,
    pub line: u32,
}

impl Site {
    pub const NONE: Site = Site { what: std::ptr::null(), file: std::ptr::null(), line: 0 };
}

#[repr(C)]
pub struct Runtime {
    pub gather: unsafe extern "C" fn(*mut Thread, u32, u64, *const c_char, *const c_char, u32) -> *const u64,
    pub warp_sum: unsafe extern "C" fn(*mut Thread, u32, f32, *const c_char, u32) -> f32,
    pub active: unsafe extern "C" fn(*mut Thread, *const c_char, u32) -> u32,
    pub block_barrier: unsafe extern "C" fn(*mut Thread, u32, *const c_char, *const c_char, u32),
    pub grid_barrier: unsafe extern "C" fn(*mut Thread, *const c_char, *const c_char, u32),
    pub yield_now: unsafe extern "C" fn(*mut Thread),
    pub shared: unsafe extern "C" fn(*mut Thread, u32, usize, usize) -> *mut c_void,
    pub fail: unsafe extern "C" fn(*mut Thread, *const c_char, *const c_char, u32) -> !,
}

/// A kernel as its module registered it.
#[repr(C)]
pub struct EntryRecord {
    pub name: *const c_char,
    pub call: Call,
    pub sizes: *const u32,
    pub arguments: u32,
    pub next: *const EntryRecord,
}

/// Calls a kernel with the addresses of its arguments, for the current thread.
pub type Call = unsafe extern "C" fn(*mut *mut c_void);
