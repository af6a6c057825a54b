//! Threads and processes that a kernel of the cpu device has started and left running. A kernel on
//! a GPU cannot start any.

use lab_system::descendants;
use rustix::process::Pid;
use std::time::{Duration, Instant};

/// How long a thread may take to end after its work is done. A busy machine ends it late.
const ENDING: Duration = Duration::from_secs(2);

/// Which threads must not be there after a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Every further one.
    All,
    /// Further ones that compute. Libraries that Python code uses keep threads for their next call,
    /// which wait meanwhile.
    Busy,
}

/// A worker's process as it was before it loaded a kernel.
#[derive(Clone, Copy, Debug)]
pub struct WorkerTasks {
    process: Pid,
    counted: Threads,
    threads: usize,
}

impl WorkerTasks {
    /// `None` if there is no such process.
    pub fn of(process: u32, counted: Threads) -> Option<WorkerTasks> {
        let process = Pid::from_raw(process.try_into().ok()?)?;
        Some(WorkerTasks {
            process,
            counted,
            threads: descendants::threads(process),
        })
        .filter(|tasks| tasks.threads > 0)
    }

    /// Further threads that count.
    fn threads_left(&self) -> usize {
        match self.counted {
            Threads::All => descendants::threads(self.process).saturating_sub(self.threads),
            Threads::Busy => descendants::busy_threads(self.process),
        }
    }

    /// What runs besides the worker's own threads, as in `2 threads and 1 process`. `None` if
    /// nothing does. The worker is between two requests.
    pub fn left_behind(&self) -> Option<String> {
        let deadline = Instant::now() + ENDING;
        loop {
            let threads = self.threads_left();
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
    let parts = [
        count(threads, "thread", "threads"),
        count(processes, "process", "processes"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "a process that has ended".into()
    } else {
        parts.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The sandbox forbids a kernel to start a process, so no kernel shows this where there is one.
    #[test]
    fn a_process_that_was_started_is_found_and_ends_with_its_parent() {
        use lab_system::child_group::ChildGroup;
        use std::io::Write;
        use std::process::{Command, Stdio};
        let script = "read go; setsid sleep 600 & read end";
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (mut own, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        let mut shell = ChildGroup::spawn(&mut command).unwrap();
        let id = shell.leader();
        let tasks = WorkerTasks::of(id.as_raw_pid().unsigned_abs(), Threads::All).unwrap();
        assert_eq!(tasks.left_behind(), None);
        writeln!(own, "go").unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !descendants::has_children(id) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(tasks.left_behind().as_deref(), Some("1 process"));
        let started = descendants::of(id);
        shell.kill();
        shell.wait().unwrap();
        let is_gone = |id: Pid| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_pid()));
            stat.map_or(true, |stat| stat.contains(") Z "))
        };
        while !started.iter().all(|process| is_gone(process.id)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(started.len() == 1 && is_gone(started[0].id));
    }

    #[test]
    fn numbers_are_written_with_their_words() {
        assert_eq!(describe(1, 2), "1 thread and 2 processes");
        assert_eq!(describe(3, 0), "3 threads");
        assert_eq!(describe(0, 0), "a process that has ended");
        assert!(WorkerTasks::of(u32::MAX, Threads::Busy).is_none());
    }
}
