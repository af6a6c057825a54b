//! The memory that this process may use: that of the machine, or less where control groups limit
//! it.
//!
//! In a container, and for a service or a session with `MemoryMax`, `/proc/meminfo` tells of the
//! machine alone. The process is ended when its group reaches the group's limit, whatever the
//! machine has free.

use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBytes {
    /// What this process may hold at most, with the others of its group.
    pub all: u64,
    /// What of it is free now, or can be freed without a loss.
    pub free: u64,
}

/// A number of bytes as a person reads it: `3.2 GiB`, `640 MiB`, `12 KiB`.
pub fn in_words(bytes: u64) -> String {
    const MIB: f64 = (1u64 << 20) as f64;
    match bytes as f64 {
        b if b >= 1024.0 * MIB => format!("{:.1} GiB", b / 1024.0 / MIB),
        b if b >= MIB => format!("{:.0} MiB", b / MIB),
        b => format!("{:.0} KiB", (b / 1024.0).ceil()),
    }
}

/// The stack that a command needs, in bytes. The largest use that was measured is 0.6 MiB.
const STACK: u64 = 1 << 20;

/// Says why the stack of this process is too small for a command, and what to do; `None` if it is not.
/// Raises the limit first where that is allowed: Linux looks at it whenever the stack grows.
pub fn small_stack() -> Option<String> {
    let mut limit = getrlimit(Resource::Stack);
    let is_small = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes < STACK);
    if !is_small(limit.current) {
        return None;
    }
    limit.current = Some(STACK);
    limit.maximum = limit.maximum.map(|most| most.max(STACK));
    if setrlimit(Resource::Stack, limit).is_ok() {
        return None;
    }
    let now = in_words(getrlimit(Resource::Stack).current.unwrap_or(STACK));
    let least = STACK / 1024;
    Some(format!(
        "the stack of this process is limited to {now}, and lab needs {}: raise the limit (`ulimit -s {least}`), and try again",
        in_words(STACK)
    ))
}

/// Returns the memory that this process may use now; `None` if Linux does not tell.
pub fn usable() -> Option<MemoryBytes> {
    usable_below(Path::new("/"))
}

/// [`usable`] with the files of `/proc` and `/sys` below another folder.
fn usable_below(root: &Path) -> Option<MemoryBytes> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kib = |name: &str| number_after(&meminfo, name).map(|kib| kib.saturating_mul(1024));
    let all = kib("MemTotal:")?;
    let machine = MemoryBytes {
        all,
        free: kib("MemAvailable:").unwrap_or(all).min(all),
    };
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups
        .lines()
        .flat_map(|line| Group::of(line, root))
        .filter_map(|group| group.memory());
    Some(limits.fold(machine, |least, limit| MemoryBytes {
        all: least.all.min(limit.all),
        free: least.free.min(limit.free),
    }))
}

/// A control group with its memory, or one that it is in.
struct Group {
    folder: PathBuf,
    /// The names of the files that hold the limit and the use, and what comes before the names in
    /// `memory.stat`.
    limit: &'static str,
    used: &'static str,
    prefix: &'static str,
}

impl Group {
    /// Returns the groups that a line of `/proc/self/cgroup` names and that count memory: the group
    /// of the process, and the groups around it.
    fn of(line: &str, root: &Path) -> Vec<Group> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            return Vec::new();
        };
        let (mounts, limit, used, prefix): (&[&str], _, _, _) = match controllers {
            "" => (
                &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
                "memory.max",
                "memory.current",
                "",
            ),
            all if all.split(',').any(|one| one == "memory") => (
                &["sys/fs/cgroup/memory"],
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_",
            ),
            _ => return Vec::new(),
        };
        // In a container the path may be that outside of it: then only the top folder is there.
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        let folders =
            groups.flat_map(|group| mounts.iter().map(move |mount| root.join(mount).join(group)));
        folders
            .map(|folder| Group {
                folder,
                limit,
                used,
                prefix,
            })
            .collect()
    }

    /// Its limit, and what is free below it; `None` if it has none.
    fn memory(&self) -> Option<MemoryBytes> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let all = number(self.limit)?;
        let stat = read("memory.stat").unwrap_or_default();
        // Linux takes the pages of files back before it ends a process.
        let files = ["inactive_file", "active_file"].map(|name| format!("{}{name}", self.prefix));
        let files: u64 = files
            .iter()
            .filter_map(|name| number_after(&stat, name))
            .sum();
        let held = number(self.used).unwrap_or(0).saturating_sub(files);
        Some(MemoryBytes {
            all,
            free: all.saturating_sub(held),
        })
    }
}

/// The number behind a word at the beginning of a line.
fn number_after(text: &str, word: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    lines.find_map(|mut parts| (parts.next() == Some(word)).then(|| parts.next()?.parse().ok())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MIB: u64 = 1 << 20;

    /// The memory that files with these paths and contents tell of.
    fn usable_with(files: &[(&str, &str)]) -> Option<(u64, u64)> {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        usable_below(root.path()).map(|memory| (memory.all / MIB, memory.free / MIB))
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:        4096000 kB\nMemFree: 1024 kB\nMemAvailable:    3072000 kB\n",
    );

    #[test]
    fn without_a_limit_it_is_the_machines() {
        assert_eq!(usable_with(&[]), None);
        assert_eq!(usable_with(&[MEMINFO]), Some((4000, 3000)));
        let none = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "104857600\n"),
        ];
        assert_eq!(usable_with(&none), Some((4000, 3000)));
        let memory = usable().unwrap();
        assert!(
            memory.all > 64 * MIB && memory.free <= memory.all,
            "{memory:?}"
        );
    }

    #[test]
    fn the_least_of_the_limits_of_a_group_and_those_that_it_is_in_holds() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user.slice/lab.service\n"),
            (
                "sys/fs/cgroup/user.slice/lab.service/memory.max",
                "2097152000\n",
            ),
            (
                "sys/fs/cgroup/user.slice/lab.service/memory.current",
                "10485760\n",
            ),
            ("sys/fs/cgroup/user.slice/memory.max", "1048576000\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "629145600\n"),
            // 500 of the 600 MiB are pages of files, which are given back.
            (
                "sys/fs/cgroup/user.slice/memory.stat",
                "anon 1\ninactive_file 419430400\nactive_file 104857600\n",
            ),
        ];
        assert_eq!(usable_with(&files), Some((1000, 900)));
    }

    #[test]
    fn the_top_folder_counts_where_a_container_does_not_show_the_groups_path() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/../outside\n"),
            ("sys/fs/cgroup/memory.max", "524288000\n"),
            ("sys/fs/cgroup/memory.current", "104857600\n"),
        ];
        assert_eq!(usable_with(&files), Some((500, 400)));
    }

    #[test]
    fn groups_of_the_first_version_count_too() {
        let files = [
            MEMINFO,
            (
                "proc/self/cgroup",
                "9:name=systemd:/\n4:cpu,memory:/docker/x\n0::/\n",
            ),
            (
                "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
                "1048576000\n",
            ),
            (
                "sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes",
                "209715200\n",
            ),
            (
                "sys/fs/cgroup/memory/docker/x/memory.stat",
                "inactive_file 0\ntotal_inactive_file 104857600\n",
            ),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ];
        assert_eq!(usable_with(&files), Some((1000, 900)));
    }
}
