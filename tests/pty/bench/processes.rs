//! Processes that a test looks for: children by their command line, and whether one is gone.

use lab_testing::patience;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::time::{Duration, Instant};

/// Waits until a process is gone.
pub fn wait_until_gone(pid: &str) {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // No descriptor: it is gone already.
    let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let timeout = Timespec {
        tv_sec: patience().as_secs() as i64,
        tv_nsec: 0,
    };
    let ready = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).unwrap();
    assert_eq!(ready, 1, "process {pid:?} is still there");
}

/// The children of a process whose command line holds this word.
pub fn children(parent: &str, word: &str) -> Vec<String> {
    let is_wanted = |pid: &String| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_child = stat
            .rsplit(')')
            .next()
            .and_then(|r| r.split_whitespace().nth(1))
            == Some(parent.trim());
        is_child
            && fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.contains(word))
    };
    let names = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok());
    names
        .filter(|name| name.parse::<u32>().is_ok())
        .filter(is_wanted)
        .collect()
}

/// The one child with this word, once it exists: a program that was just started has no command
/// line for a moment, and no event announces the end of that.
pub fn child(parent: &str, word: &str) -> String {
    let deadline = Instant::now() + patience();
    loop {
        match children(parent, word).as_slice() {
            [only] => return only.clone(),
            others => assert!(
                Instant::now() < deadline,
                "children of {parent} with '{word}': {others:?}"
            ),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The letter of a process's state; `None` if it is gone.
fn state(pid: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// Whether a process exists and is not a zombie.
pub fn is_alive(pid: &str) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// Whether a signal has stopped a process.
#[allow(dead_code, reason = "soak uses this file too")]
pub fn is_stopped(pid: &str) -> bool {
    state(pid) == Some('T')
}
