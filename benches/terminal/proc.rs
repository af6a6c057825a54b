//! The resources of a process, as Linux counts them.

use std::fs;
use std::time::Duration;

/// Memory of one process, in MB (10⁶ bytes).
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Its present memory.
    pub resident: f64,
    /// Its highest memory.
    pub peak: f64,
    /// Its proportional share of memory, together with all its descendants.
    pub share_with_children: f64,
}

pub fn memory(pid: u32) -> Memory {
    let of = |file: &str, key: &str, pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap_or("0");
        let kib: f64 = line
            .split_whitespace()
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(0.0);
        kib * 1024.0 / 1e6
    };
    Memory {
        resident: of("status", "VmRSS:", pid),
        peak: of("status", "VmHWM:", pid),
        share_with_children: family(pid)
            .into_iter()
            .map(|pid| of("smaps_rollup", "Pss:", pid))
            .sum(),
    }
}

/// Time on a processor so far, of a process with all its threads and living descendants.
pub fn cpu(pid: u32) -> Duration {
    let threads = family(pid).into_iter().flat_map(|pid| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        tasks.map(|task| task.path().join("schedstat"))
    });
    let nanos = threads.filter_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// The process and its descendants.
fn family(pid: u32) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(u32, u32)> = numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(of) = found.get(at).copied() {
        found.extend(
            all.iter()
                .filter(|(_, parent)| *parent == of)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold any character, so the fields after its closing bracket count.
    stat.rsplit(')')
        .next()?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}
