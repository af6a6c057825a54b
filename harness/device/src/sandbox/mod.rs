//! The sandbox: what a process with foreign code may ask of the operating system.
//!
//! Native kernels of the cpu device, and everything that a source makes a compiler do, run with the
//! user's rights. [`enter`] takes most of these rights away, for good:
//!
//! | part | what it holds back | file |
//! |---|---|---|
//! | Landlock | files and folders, TCP, signals to processes outside, reading the memory of processes outside | `files` |
//! | seccomp | system calls: sockets, new programs and processes, `ptrace`, changes of modes and owners | `system_calls` |
//! | limits | memory, file size, open files, number of processes | `limits` |
//!
//! Landlock restricts the calling thread and the threads and processes that it starts later. So
//! [`enter`] is called before a worker starts its pool of threads, and a compiler runs on a thread
//! of its own ([`crate::confined`]).
//!
//! Linux has had Landlock since 5.13, where it is switched on. Without it files are not held back,
//! which is [`SandboxState::None`]; seccomp and the limits hold all the same.

mod descriptors;
mod files;
mod folders;
mod limits;
mod system_calls;

pub use descriptors::keep_descriptors;
pub use folders::{include_entries, toolchain_folders};
pub(crate) use limits::memory as machine_memory;
pub use limits::{hide_memory, limit_worker};

use lab_system::threads;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

pub use system_calls::WITH_SIGNALS;
pub(crate) use system_calls::name_of;

/// Environment variable that switches the sandbox off with the value `none`, as on a machine
/// without Landlock.
pub const VARIABLE: &str = "LAB_SANDBOX";

/// What kind of process is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// A worker of the cpu device: native code that computes, and the lab's own race detector,
    /// which writes a file where [`FileAccess::write`] has a folder.
    CpuKernel,
    /// A worker of a GPU: its driver asks for more memory and reads the state of the device; a
    /// kernel on a GPU makes no system calls.
    GpuKernel,
    /// A worker of the cpu device whose memory accesses a tool in the same process watches. The
    /// tool writes a file.
    CpuTool,
    /// A worker of a GPU under compute-sanitizer, which talks to helper processes and writes files.
    GpuTool,
    /// A worker of a GPU under a profiler, which also sets modes of the files that it locks, and
    /// reads the counters of the system.
    GpuProfiler,
    /// A compiler: starts its own parts, reads headers, writes its output folder.
    Compiler,
}

/// The files that a confined process may use, beside those that its [`Policy`] always needs. A path
/// that does not exist is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccess {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Files and folders to read, and to start programs from.
    pub execute: Vec<PathBuf>,
    /// Folders to read, to write and to make files in.
    pub write: Vec<PathBuf>,
}

/// What holds a process back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxState {
    /// Landlock and seccomp.
    Enforced {
        /// The version of Landlock's interface.
        landlock: u32,
    },
    /// Files are not held back.
    None {
        /// The reason, as a sentence without its end.
        why: String,
    },
}

impl SandboxState {
    /// Why there is no sandbox. `None` where there is one.
    pub fn missing(&self) -> Option<&str> {
        match self {
            SandboxState::Enforced { .. } => None,
            SandboxState::None { why } => Some(why),
        }
    }

    /// The weaker of two states.
    #[must_use]
    pub fn and(self, other: SandboxState) -> SandboxState {
        let strength = |state: &SandboxState| match state {
            SandboxState::Enforced { landlock } => *landlock,
            SandboxState::None { .. } => 0,
        };
        std::cmp::min_by_key(self, other, strength)
    }
}

impl fmt::Display for SandboxState {
    /// `landlock 7 + seccomp`, or `none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SandboxState::Enforced { landlock } => write!(f, "landlock {landlock} + seccomp"),
            SandboxState::None { .. } => f.write_str("none"),
        }
    }
}

/// Confines the calling process, or with [`Policy::Compiler`] the calling thread and the processes
/// that it starts.
///
/// Nothing can be given back. Takes about a millisecond.
pub fn enter(policy: Policy, files: &FileAccess) -> SandboxState {
    let writes = !files.write.is_empty();
    if let Some(off) = switched_off() {
        return off;
    }
    limits::apply(policy, writes);
    hold(policy, files, writes)
}

fn switched_off() -> Option<SandboxState> {
    std::env::var_os(VARIABLE)
        .is_some_and(|value| value == "none")
        .then(|| SandboxState::None {
            why: format!("{VARIABLE} is none"),
        })
}

fn hold(policy: Policy, files: &FileAccess, writes: bool) -> SandboxState {
    let landlock = files::restrict(policy, files);
    // After Landlock, whose system calls this forbids. It also holds where Landlock is missing.
    let seccomp = system_calls::restrict(policy, writes, landlock.as_ref().copied().unwrap_or(0));
    match (landlock, seccomp) {
        (Ok(landlock), Ok(())) => SandboxState::Enforced { landlock },
        (Err(why), _) | (Ok(_), Err(why)) => SandboxState::None { why },
    }
}

/// What [`enter`] can hold back on this machine, tried on a thread that ends at once.
pub fn support() -> SandboxState {
    let hold = || hold(Policy::Compiler, &FileAccess::default(), true);
    let none = |why: String| SandboxState::None { why };
    match threads::start("sandbox", move || switched_off().unwrap_or_else(hold)) {
        Ok(tried) => tried
            .join()
            .unwrap_or_else(|_| none("trying the sandbox failed".into())),
        Err(error) => none(format!("the sandbox cannot be tried: {error}")),
    }
}

#[cfg(test)]
mod tests;
