//! The resources of a process, seen from outside: memory, threads, descriptors, children.

use rustix::process::Pid;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How much more memory the last fifth of the time may use, at its median, than the first two
/// fifths at their highest.
///
/// `heaptrack` (its massif output) showed the program's own memory over 210 s and a thousand runs:
/// 4.5 MB at first and 5.2 MB at the end, less than 1 kB for the data of each run, and up to 2 MB
/// more while a flood's 20,000 lines are in the log, or frozen. The rest of the growth is in
/// malloc: each of twelve threads has an arena that keeps freed memory. Over ten minutes and 4,500
/// runs the memory grows from 21 MB to between 30 and 33 MB, with steps of some MB up and down, and
/// stays there: hence the limit. A loss of a kilobyte for each of 30,000 keys would be 20 MB from
/// the second fifth to the last.
const GROWTH_KB: u64 = 12_000;

/// The resources of a process other than memory.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    threads: usize,
    descriptors: usize,
    children: usize,
}

impl Held {
    pub fn by(pid: Pid) -> Self {
        let folder = format!("/proc/{}", pid.as_raw_nonzero());
        let entries = |name: &str| fs::read_dir(format!("{folder}/{name}")).unwrap();
        let children = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children"));
        let children = entries("task")
            .flatten()
            .filter_map(|thread| children(thread).ok());
        Held {
            threads: entries("task").count(),
            descriptors: entries("fd").count(),
            children: children.map(|pids| pids.split_whitespace().count()).sum(),
        }
    }

    fn fits(&self, most: &Held) -> bool {
        self.threads <= most.threads
            && self.descriptors <= most.descriptors
            && self.children <= most.children
    }

    /// Once all reading has ended.
    pub fn is_no_more_than(mut self, most: &Held, look: impl Fn() -> Held) {
        let began = Instant::now();
        while !self.fits(most) {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{self:?} at the end, {most:?} at first"
            );
            std::thread::sleep(Duration::from_millis(10));
            self = look();
        }
        println!("{self:?} at the end, {most:?} at first");
    }
}

/// The memory of a process over time.
pub struct Memory {
    pid: Pid,
    began: Instant,
    seen: Vec<(Duration, u64)>,
}

impl Memory {
    pub fn of(pid: Pid) -> Self {
        Memory {
            pid,
            began: Instant::now(),
            seen: Vec::new(),
        }
    }

    pub fn time(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn look(&mut self) {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.pid.as_raw_nonzero())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let kb = line.split_whitespace().next().unwrap().parse().unwrap();
        self.seen.push((self.began.elapsed(), kb));
    }

    /// The samples of the `n`th fifth of the time, in ascending order.
    fn fifth(&self, n: u32) -> Vec<u64> {
        let whole = self.seen.last().map_or(Duration::ZERO, |(at, _)| *at);
        let part = self
            .seen
            .iter()
            .filter(|(at, _)| (whole / 5 * (n - 1)..=whole / 5 * n).contains(at));
        let mut part: Vec<u64> = part.map(|(_, kb)| *kb).collect();
        part.sort_unstable();
        part
    }

    pub fn see_no_leak(&self) {
        let (first, second, last) = (self.fifth(1), self.fifth(2), self.fifth(5));
        let most = first.last().max(second.last()).copied().unwrap_or(0);
        let median = last.get(last.len() / 2).copied().unwrap_or(0);
        let peak = self.seen.iter().map(|(_, kb)| *kb).max().unwrap_or(0);
        println!(
            "resident: {most} kB at most in the first two fifths, {median} kB at the median of the last, {peak} kB ever"
        );
        assert!(
            median <= most + GROWTH_KB,
            "{median} kB at the end, {most} kB in the first two fifths: a leak"
        );
    }
}

/// Every process that works in this folder, by its command line.
pub fn processes_in(folder: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let inside =
        |path: &Path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    let words = |path: &Path| {
        fs::read_to_string(path.join("cmdline"))
            .unwrap_or_default()
            .replace('\0', " ")
    };
    all.filter(|path| inside(path))
        .map(|path| words(&path))
        .collect()
}
