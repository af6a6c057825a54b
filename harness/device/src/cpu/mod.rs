//! The cpu device, which emulates a GPU: the host's C++ compiler builds `kernel.cu` against headers
//! that provide CUDA's names, and every CUDA thread runs as a coroutine.
//!
//! # From source to image (`build`)
//! `rewrite` rewrites the constructs that no header can define, in place and line by line.
//! Static `__shared__` declarations become references into the block's shared memory. A construct
//! that this device cannot run (inline PTX, tensor cores, asynchronous copies, clusters, textures)
//! becomes an error at its line, unless the source guards it by `#ifndef LAB_CPU`. Local includes
//! are rewritten too.
//!
//! The result is preprocessed, which takes 10 ms, and scanned (`build/preprocessed`). For each
//! `extern "C" __global__` function a registration with its parameter types is appended. Then the
//! compiler makes a shared object. At the same time it looks for device code that calls functions
//! without `__device__`. The headers in `include/cpu` are precompiled in the cache folder, so a
//! build takes a few tenths of a second.
//!
//! # From launch to values (`driver`, `scheduler`)
//! Device memory is host memory, and a device address is a host pointer. The blocks of a launch are
//! spread over the cores, with one worker and one OS thread on each. A block stays on its worker,
//! so its threads run one at a time and a barrier is a counter. In a cooperative launch all blocks
//! are resident at once. Only the grid's barrier (`launch`) involves several OS threads.
//!
//! A thread runs until it must wait. Then it picks the next thread and switches to it.
//! `__syncthreads` waits for all threads of the block. A warp intrinsic is a rendezvous of the
//! lanes in its mask: each lane stores a value and then reads all values (`scheduler/runtime.rs`).
//! Threads that never wait share one coroutine and run one after another on it.
//!
//! The launch's [`ExecutionOrder`](crate::ExecutionOrder) decides in which order blocks, warps and
//! lanes run between two barriers: forward, in reverse, or shuffled by a seed. The order is the
//! same on any number of cores, unless blocks communicate. Shared memory is filled with a pattern
//! when a block begins. A missing barrier shows in this way.
//!
//! # Failures (`scheduler/report.rs`)
//! A launch fails with a message that names file, line, block and thread in these cases: some
//! thread can never reach a barrier or a rendezvous; threads of a block wait at different barriers;
//! a lane is not in its own mask; `assert` fails or `__trap` runs; a block uses too much shared
//! memory or writes past its end; a stack overflows. An access to memory that is not mapped kills
//! the process, after a line on stderr that names kernel, block and thread (`signal`).
//!
//! # Differences from a GPU
//! - As on a GPU, `__syncthreads` and the warp intrinsics do not wait for threads that have
//!   returned (CUDA C++ Programming Guide: "all non-exited threads"). The value of a lane that has
//!   returned is undefined on a GPU; here it is a NaN pattern. The grid's barrier waits for all
//!   threads.
//! - Nothing interrupts a thread. A loop that waits for memory must poll through an atomic,
//!   `__ldcg`, `__ldcv`, `__nanosleep`, `clock64`, `cuda::atomic_ref` or `lab_cpu_poll`, which let
//!   other threads run. A plain `volatile` load never does, so such a loop ends only when the judge
//!   ends the process at its time limit.
//! - A thread has 64 KiB of stack. There are too many stacks for guard pages, so a canary at the
//!   stack's end is checked when the thread ends. A frame that skips the canary without writing to
//!   it is not noticed.
//! - The fast intrinsics (`__expf`, `__fdividef`) are the accurate functions. The compiler does not
//!   contract multiplications and additions to FMAs; nvcc does.
//! - `__activemask` and `coalesced_threads` return the lanes that wait at the same line when no
//!   other lane can run.
//! - In a source whose macros declare `__shared__` memory, the columns of the compiler's messages
//!   are those of the expanded macros.
//! - Times say nothing about a GPU.

mod abi;
mod asan;
mod build;
mod coroutines;
mod division;
mod driver;
mod headers;
mod launch;
mod order;
mod races;
mod rewrite;
mod scheduler;
mod shared;
mod signal;
mod stacks;
#[cfg(test)]
mod tests;

pub(crate) use build::HostCompiler;
pub use driver::{open, open_memory};
pub use races::{
    BarrierScope, Executed, LOG_VARIABLE as RACE_LOG_VARIABLE,
    MOST_VARIABLE as MOST_RACE_ACCESSES_VARIABLE, MemorySpace, OutsideRead, Race, RaceKind,
    RaceLogLine, RacingAccess, SHADOW_PER_BYTE,
};

use crate::api::Result;

/// Returns a builder that uses the host's C++ compiler: `$CXX`, or the first of `g++`, `clang++`,
/// `c++` that runs. Fails where none runs.
pub(crate) fn builder() -> Result<HostCompiler> {
    HostCompiler::find(std::env::var_os("CXX"))
}
