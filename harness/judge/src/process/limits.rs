//! Limits of the compiler process and of what it starts. A source can ask a compiler for any amount
//! of memory, time and disk space: by an include that never ends, or by a macro or a template that
//! doubles itself.

use lab_protocol::Target;
use lab_system::lifetime::limit;
use rustix::process::Resource;

/// Address space of the host's compiler, in bytes. It takes half a GiB for a large kernel.
const HOST_COMPILER_MEMORY: u64 = 3 << 30;

/// Address space of a process with NVRTC in it, which also maps the toolkit's libraries.
const NVRTC_MEMORY: u64 = 24 << 30;

/// Bytes of a file that a compiler writes. A precompiled header has 100 MiB.
const FILE: u64 = 1 << 30;

/// Seconds of processor time of one process. The judge ends a build at its time limit, which is
/// sooner.
const PROCESSOR_TIME: u64 = 3600;

/// Files that are open at once.
const OPEN_FILES: u64 = 512;

/// Limits this process and those that it starts from now on: a compiler for `target`. A limit that
/// is lower already stays.
pub fn limit_compiler(target: Target) {
    let memory = match target {
        Target::Cpu => HOST_COMPILER_MEMORY,
        Target::Cuda(_) | Target::Auto => NVRTC_MEMORY,
    };
    // Without a limit a build is still ended at its time limit.
    limit(Resource::As, memory);
    limit(Resource::Fsize, FILE);
    limit(Resource::Cpu, PROCESSOR_TIME);
    limit(Resource::Nofile, OPEN_FILES);
}
