//! The standby judge between saves: it uses no processor time, and it ends with the screen.

use super::bench::{Bench, is_alive};
use lab_testing::until;
use rustix::process::{Pid, Signal};
use std::fs;

/// All processes below this one, by number.
fn descendants(of: &str) -> Vec<String> {
    let parent = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(
            stat.rsplit(')')
                .next()?
                .split_whitespace()
                .nth(1)?
                .to_owned(),
        )
    };
    let all: Vec<(String, String)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|pid| Some((parent(&pid)?, pid)))
        .collect();
    let mut found = vec![of.to_owned()];
    let mut next = 0;
    while let Some(pid) = found.get(next).cloned() {
        found.extend(
            all.iter()
                .filter(|(parent, _)| *parent == pid)
                .map(|(_, child)| child.clone()),
        );
        next += 1;
    }
    found.split_off(1)
}

fn pid(pid: Pid) -> String {
    pid.as_raw_pid().to_string()
}

/// The judge, its compilers (the run's and the race detector's), its worker and the worker of the
/// reference; and the process that watches the terminal.
fn stands_by(below: &str) -> Vec<String> {
    let mut all = Vec::new();
    until("a judge stands by with its children", || {
        all = descendants(below);
        let count = |end: &str| {
            let is_one = |pid: &&String| {
                fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line.ends_with(end.as_bytes()))
            };
            all.iter().filter(is_one).count()
        };
        count("--request\0") == 1
            && count("harness-compiler\0") == 2
            && count("harness-worker\0") == 2
    });
    all
}

#[test]
fn it_ends_with_the_screen_however_that_ends() {
    for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let bench = Bench::rmsnorm();
        let mut lab = bench.open();
        lab.see("run 1 · opened").see_verdict("● PASS");
        let all = stands_by(&pid(lab.pid()));
        match signal {
            Some(signal) => lab.signal(signal),
            None => drop(lab.press("q")),
        }
        until("all of them are gone", || {
            !all.iter().any(|pid| is_alive(pid))
        });
    }
}
