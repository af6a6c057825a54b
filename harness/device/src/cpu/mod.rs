//! The emulated device: the host C++ compiler builds `kernel.cu` against a small header that
//! speaks CUDA, and every CUDA thread is a coroutine scheduled here.
//!
//! # From source to image ([`build`])
//! [`lex`] and [`rewrite`] turn what no header can express into C++, in place and line by line: static `__shared__`
//! declarations become references into the block's storage, each `extern "C" __global__` function is registered
//! after its body together with its parameter types, and what this device cannot run (inline PTX, tensor cores,
//! asynchronous copies, clusters, textures) becomes an error at its own line, which the preprocessor drops where the code is
//! guarded by `#ifndef LAB_CPU`. Local includes go the same way. The compiler then makes a shared object, with everything in
//! `include/cpu` precompiled in the cache folder; warm, a build takes a few tenths of a second.
//!
//! # From launch to values ([`driver`], [`scheduler`])
//! Memory is host memory, an address a host pointer. Blocks are spread over the cores, one OS thread ([`scheduler::Worker`]) each. A block
//! never changes its worker, so within a block nothing races and a barrier is a counter. A cooperative launch has all its
//! blocks alive at once, and only its grid-wide barrier ([`launch`]) crosses OS threads.
//! A thread runs until it must wait, picks who goes on, and switches. `__syncthreads` waits for all threads of the block; a
//! warp intrinsic is one rendezvous of the lanes in its mask, where each lane leaves a value and then reads all of them (`scheduler/calls.rs`).
//! Threads that have no one to wait for share a coroutine, one after the other.
//!
//! The order between two barriers is the launch's [`ExecutionOrder`](crate::ExecutionOrder): blocks, warps and lanes forward, in reverse, or
//! drawn from a seed, the same on any number of cores as long as blocks do not talk to each other. Shared
//! memory is poisoned when a block begins. Together they make a missing barrier show.
//!
//! # What ends a launch with an error in words (`scheduler/report.rs`)
//! A barrier or rendezvous that some thread can never scope, with its file and line, who waits and who has returned; different barriers
//! at once; a lane outside its own mask; `assert`, `__trap`; too much shared memory, a write past its end; a stack overflow. Wild
//! accesses kill the process, after a line on stderr that names kernel, block and thread ([`signal`]).
//!
//! # Where it differs from a GPU
//! - A thread that has returned is missed at `__syncthreads`, although GPUs let the others pass: it is a mistake
//!   that works by luck. Lanes that have returned do not count in a warp's mask, as on a GPU.
//! - Nothing interrupts a thread. A loop that waits for memory must poll through an atomic, `__ldcg`, `__ldcv`, `__nanosleep`,
//!   `clock64`, `cuda::atomic_ref` or `lab_cpu_poll`, which let the others run; a plain `volatile` load in a loop
//!   never does, and ends only when the judge ends the process at its time limit.
//! - A thread has 64 KiB of stack, checked by a canary when the thread ends: there are too many stacks for guard pages. A
//!   frame that jumps over the canary without writing to it is not seen.
//! - The fast intrinsics (`__expf`, `__fdividef`) are the accurate functions. FMA contraction is off, where nvcc has it on.
//! - `__activemask` and `coalesced_threads` gather the lanes that wait at the same line when no other can go on.
//! - A `__global__` or `__shared__` that comes out of a user's macro is not seen; the latter is a build error.
//! - Times say nothing about a GPU.

mod abi;
mod asan;
mod build;
mod coroutines;
mod driver;
mod headers;
mod launch;
mod lex;
mod order;
mod races;
mod rewrite;
mod scheduler;
mod shared;
mod signal;
mod stacks;
#[cfg(test)]
mod tests;

pub use build::{ADDRESS_SANITIZER, THREAD_SANITIZER};
pub use races::{BarrierScope, LOG_VARIABLE as RACE_LOG_VARIABLE, MemorySpace, Race, RacingAccess};

use crate::api::{Builder, DeviceError, Driver};

/// The host compiler, `$CXX` or the first of `g++`, `clang++`, `c++` on the path.
pub fn builder() -> Result<Box<dyn Builder>, DeviceError> {
    Ok(Box::new(build::HostCompiler::find(std::env::var_os("CXX"))?))
}

/// A device of as many threads as there are cores. `LAB_CPU_SMS` sets how many multiprocessors it pretends to have.
pub fn open() -> Result<Box<dyn Driver>, DeviceError> {
    Ok(Box::new(driver::CpuDriver::open()?))
}
