//! Threads and processes that a kernel of the cpu device has started and left running. A kernel on a GPU cannot start any.

use lab_system::descendants;
use rustix::process::Pid;
use std::time::{Duration, Instant};

/// How long a thread may take to end after its work is done. A busy machine ends it late.
const ENDING: Duration = Duration::from_secs(2);

/// A worker's process as it was before it loaded a kernel.
#[derive(Clone, Copy, Debug)]
pub struct WorkerTasks {
    process: Pid,
    threads: usize,
}

impl WorkerTasks {
    /// `None` if there is no such process.
    pub fn of(process: u32) -> Option<WorkerTasks> {
        let process = Pid::from_raw(process.try_into().ok()?)?;
        Some(WorkerTasks { process, threads: descendants::threads(process) })
            .filter(|tasks| tasks.threads > 0)
    }

    /// What runs besides the worker's own threads, as in `2 threads and 1 process`. `None` if nothing does. The worker is between
    /// two requests.
    pub fn left_behind(&self) -> Option<String> {
        let deadline = Instant::now() + ENDING;
        loop {
            let threads = descendants::threads(self.process).saturating_sub(self.threads);
            let has_children = descendants::has_children(self.process);
            if threads == 0 && !has_children {
                return None;
            }
            // A process that was started is one too many, whether or not it ends.
            if has_children || Instant::now() >= deadline {
                return Some(describe(threads, descendants::of(self.process).len()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn describe(threads: usize, processes: usize) -> String {
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {many}")),
    };
    let parts = [count(threads, "thread", "threads"), count(processes, "process", "processes")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "a process that has ended".into() } else { parts.join(" and ") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_written_with_their_words() {
        assert_eq!(describe(1, 2), "1 thread and 2 processes");
        assert_eq!(describe(3, 0), "3 threads");
        assert_eq!(describe(0, 0), "a process that has ended");
        assert!(WorkerTasks::of(u32::MAX).is_none());
    }
}
