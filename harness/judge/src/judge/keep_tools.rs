//! NVIDIA's tools for races in shared memory and for barriers, on a kernel that a keep asks about. A
//! GPU hides many races: its warps run in the order in which they are usually right.

use super::processes::no_output;
use super::session::Session;
use crate::check::{self, ToolFinding, ToolRun, sanitizer};
use crate::device_lock::{DeviceUse, LockGuard};
use crate::outcome::{OrLab, Result, unless_wrong, verdict_of};
use crate::problem;
use lab_protocol::report::Writer;
use lab_protocol::{Language, Tool};
use lab_system::threads;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

const TOOLS: [Tool; 2] = [Tool::Racecheck, Tool::Synccheck];

/// Words of what orders accesses to shared memory without the tools' knowing: they would report
/// races where there are none. racecheck 2025.3 follows a full barrier, a named one too, but reports
/// what full barriers order where a `bar.sync` of some warps lies between them, and a `bar.arrive` in
/// both directions.
const NOT_FOLLOWED: [&str; 12] = [
    "bar.sync",
    "bar.arrive",
    "barrier.cta",
    "barrier.sync",
    "mbarrier",
    "cp.async",
    "cuda::barrier",
    "cuda::pipeline",
    "__pipeline",
    "__threadfence",
    "fence.",
    "::atomic",
];

/// What a tool found, or why it did not finish.
type Found = Result<Vec<ToolFinding>>;

/// The tools at work on a candidate, while the judge checks its results.
pub struct KeepTools {
    running: Vec<(Tool, JoinHandle<Found>)>,
    /// Nobody measures on the device meanwhile.
    _access: Option<LockGuard>,
}

impl KeepTools {
    /// Starts the tools side by side, each on one small workload of each entry: a launch under a tool
    /// takes 0.3 s and more. `None` where this machine has no compute-sanitizer, and for a kernel
    /// that they cannot follow.
    pub fn start(session: &mut Session, source: &Path, image: &Path) -> Result<Option<KeepTools>> {
        let is_cuda = session.request.language() == Language::Cuda;
        let is_watched = is_cuda && !session.device.emulated;
        if !is_watched || !can_follow(&std::fs::read(source).unwrap_or_default()) {
            return Ok(None);
        }
        let Some(sanitizer) = sanitizer::find() else {
            return Ok(None);
        };
        let access = session.wait(DeviceUse::Launching)?;
        let start = |tool: Tool| {
            let (device, cache_dir) = (session.device.clone(), session.cache_dir.clone());
            let (request, target) = (Arc::clone(&session.request), session.target);
            let (image, sanitizer) = (image.to_owned(), sanitizer.clone());
            let seed = session.seed;
            let find = move || {
                let problem = problem::open(&request.folder)?.watched_briefly(&device);
                let run = ToolRun::new(tool, &request, &image, Some(&sanitizer), &cache_dir)?;
                let worker = run.start(target, check::time_limit(&request), no_output())?;
                run.find_beside(&problem, &device, seed, worker)
            };
            let started = threads::start(tool.name(), find);
            let running = started.or_lab(|| format!("{} cannot be started", tool.name()))?;
            Ok((tool, running))
        };
        Ok(Some(KeepTools {
            running: TOOLS.into_iter().map(start).collect::<Result<_>>()?,
            _access: access,
        }))
    }

    /// Waits for the tools, and writes what they found. A tool that does not finish is a caveat.
    pub fn write(self, out: &mut Writer) -> Result {
        let mut right = true;
        for (tool, running) in self.running {
            match running.join().unwrap_or_else(|panic| resume_unwind(panic)) {
                Ok(findings) => {
                    right &= unless_wrong(check::write_verdict(tool, &findings, out))?.is_some();
                }
                Err(stop) => {
                    let (name, why) = (tool.name(), stop.first_line());
                    out.caveat(format_args!("{name} did not watch the kernel: {why}"))?;
                }
            }
        }
        verdict_of(right)
    }
}

/// Whether a source has shared memory, and nothing orders its accesses that the tools do not know.
fn can_follow(source: &[u8]) -> bool {
    let text = String::from_utf8_lossy(source);
    text.contains("__shared__") && !NOT_FOLLOWED.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_with_shared_memory_is_watched_unless_the_tools_do_not_know_what_orders_it() {
        assert!(can_follow(b"__shared__ float tile[32];"));
        assert!(!can_follow(b"float x = y[0];"));
        for other in [
            "asm(\"cp.async.ca.shared.global ...\");",
            "__threadfence_block();",
            "asm volatile(\"bar.arrive 1, 64;\");",
        ] {
            let source = format!("__shared__ float tile[32]; {other}");
            assert!(!can_follow(source.as_bytes()), "{source}");
        }
    }
}
