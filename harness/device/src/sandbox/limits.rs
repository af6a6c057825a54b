//! Limits of the process. Failing to set one leaves the limit as it was: the other parts of the
//! sandbox do not depend on it.

use super::Policy;
use lab_system::lifetime::limit;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Open files. A worker needs its pipes and one image at a time.
const OPEN_FILES: u64 = 256;

/// Threads and processes of the user that may be added, beside all that run on the machine now.
const MORE_TASKS: u64 = 1024;

/// Bytes of a file of findings.
const FINDINGS: u64 = 64 << 20;

/// Sets the limits of a policy. `writes` says whether the process may write a file.
pub fn apply(policy: Policy, writes: bool) {
    match policy {
        Policy::CpuKernel => {
            // Linux ends this process, rather than another one, where memory runs out.
            let _ = std::fs::write("/proc/self/oom_score_adj", "800");
            limit(Resource::Fsize, if writes { FINDINGS } else { 0 });
            limit(Resource::Nofile, OPEN_FILES);
            limit(Resource::Data, memory());
            tasks();
        }
        // The judge's compiler process has limits for memory and files.
        Policy::Compiler => tasks(),
        Policy::CpuTool | Policy::GpuKernel | Policy::GpuTool | Policy::GpuProfiler => {}
    }
    limit(Resource::Core, 0);
}

/// Limits the memory of a worker that the caller has just started to that of the machine, and lets
/// Linux end it first where memory runs out.
pub fn limit_worker(child: u32) {
    let most = memory();
    let _ = std::fs::write(format!("/proc/{child}/oom_score_adj"), "800");
    if let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        let _ = prlimit(
            Some(child),
            Resource::Data,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        );
    }
}

/// Keeps other processes of the user out of this one's memory, which holds what a kernel must not
/// know. Debuggers cannot attach to it any more, unless they have the rights of root.
pub fn hide_memory() {
    let hidden = rustix::process::DumpableBehavior::NotDumpable;
    let _ = rustix::process::set_dumpable_behavior(hidden);
}

/// Limits the user's threads and processes. Linux counts all of the user's, so the limit depends on
/// how many there are now.
fn tasks() {
    // The fourth word is as in `2/345`: runnable and all tasks of the machine.
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all = loads
        .split(' ')
        .nth(3)
        .and_then(|word| word.split('/').nth(1)?.parse::<u64>().ok());
    if let Some(all) = all {
        limit(Resource::Nproc, all + MORE_TASKS);
    }
}

/// Bytes of memory of this machine.
pub(crate) fn memory() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}
