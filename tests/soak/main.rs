//! The screen as somebody uses it for a long time who never looks: saves, resizes, keys and floods of output
//! at random, and now and then an experiment kept or discarded. At the end there is no leak, no process is
//! left, the terminal is as it was, and results.tsv holds what was decided and nothing else.
//!
//! In the suite it is short. `LAB_SOAK_SECONDS=600 cargo test --release --test soak -- --nocapture` is the
//! long one; `LAB_SOAK_SEED` repeats one that failed.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "../pty/bench.rs"]
mod bench;

use bench::{Bench, Lab};
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const SECONDS: u64 = 8;

/// How much more the last fifth may hold in memory, at its median, than the second fifth did at its most. The
/// first fifth fills what is bounded: the log's lines, the caches of git.
const GROWTH_KB: u64 = 8_000;

/// The kernel's first line says what the run does. The flood is 20,000 lines as fast as they go.
const HARNESS: &str = r#"
echo "device: test bench"
read -r word number < kernel.cu
case "$word" in
    flood) i=0; while [ $i -lt 20000 ]; do echo "line $i of a harness that prints and prints and prints"; i=$((i+1)); done ;;
    hangs) exec sleep 600 ;;
    wrong) echo "out_max_diff: 1 limit=1e-05"; echo "correctness: fail"; exit ;;
    broken) echo "kernel.cu(1): error: expected a ';'"; exit 1 ;;
esac
echo "out_max_diff: 1e-06 limit=1e-05"
echo "throughput_sps: $number low=$number high=$number"
echo "kernel_us: 5"
echo "correctness: pass"
"#;

/// Keys that look, and decide nothing.
const KEYS: &[&str] = &[
    "j", "k", "g", "G", "\t", "\x1b[Z", "l", "h", "z", "f", "n", "N", "<", ">", "?", "\x04", "\x15", "1",
    "2", "3", "4", "5", "r", "x", "\x0c", "\x1b", "\x1b", "/line\r", "/[", "\x1b[A", "\x1b[B", "\x1b[5~",
    "\x1b[6~",
];

const SIZES: &[(u16, u16)] =
    &[(160, 45), (200, 60), (80, 24), (100, 30), (60, 16), (40, 10), (30, 8), (250, 70)];

#[test]
fn a_long_day_ends_as_it_began() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = Duration::from_secs(number("LAB_SOAK_SECONDS").unwrap_or(SECONDS));
    let seed = number("LAB_SOAK_SEED").unwrap_or(4);
    println!("a soak of {} s, LAB_SOAK_SEED={seed}", time.as_secs());

    let bench = Bench::new();
    fs::write(bench.repo().join("harness.sh"), HARNESS).unwrap();
    bench.git(&["commit", "-q", "-a", "-m", "a harness for a long day"]);
    // A key may ask for the editor where another was meant.
    let mut lab = bench.open_with(160, 45, &[("EDITOR", Path::new("true"))]);
    lab.see("● PASS");
    let mut soak = Soak { bench: &bench, random: Random(seed), speed: 1_000, decided: Vec::new() };
    let mut memory = Vec::new();
    let mut done = [0; 5];
    let began = Instant::now();
    while began.elapsed() < time || soak.decided.len() < 2 {
        let action = soak.action(&mut lab);
        done[action] += 1;
        memory.push((began.elapsed(), resident_kb(lab.pid().as_raw_nonzero().get())));
    }
    soak.come_to_rest(&mut lab);
    lab.press("q");
    assert_eq!(lab.end(), 0);
    println!(
        "saves {}, resizes {}, keys {}, pauses {}, decisions {}",
        done[0], done[1], done[2], done[3], done[4]
    );

    see_no_leak(&memory, began.elapsed());
    assert_eq!(processes_in(bench.folder.path()), Vec::<String>::new(), "no process is left");
    see_what_was_decided(&bench, &soak.decided);
}

struct Soak<'a> {
    bench: &'a Bench,
    random: Random,
    /// Of the next kernel: no two are the same.
    speed: u64,
    /// Kept or not, and the description.
    decided: Vec<(bool, String)>,
}

impl Soak<'_> {
    /// Does something; its number.
    fn action(&mut self, lab: &mut Lab) -> usize {
        match self.random.below(100) {
            0..10 => {
                let word = *self.random.of(&["speed", "speed", "wrong", "flood", "flood", "hangs", "broken"]);
                self.save(word);
                0
            }
            10..18 => {
                let (columns, rows) = *self.random.of(SIZES);
                lab.resize(columns, rows);
                1
            }
            18..94 => {
                let key: &&str = self.random.of(KEYS);
                lab.press(key);
                std::thread::sleep(Duration::from_millis(self.random.below(20)));
                2
            }
            94..98 => {
                std::thread::sleep(Duration::from_millis(self.random.below(300)));
                3
            }
            _ => {
                self.decide(lab);
                4
            }
        }
    }

    fn save(&mut self, word: &str) -> u64 {
        self.speed += 1;
        let text = format!("{word} {}\n", self.speed);
        if self.random.below(2) == 0 {
            self.bench.save_in_place(&text);
        } else {
            self.bench.save_by_rename(&text);
        }
        self.speed
    }

    /// One experiment, kept or discarded by its keys.
    fn decide(&mut self, lab: &mut Lab) {
        self.come_to_rest(lab);
        let speed = self.save("speed");
        let verdict = format!("{},{:03} sps", speed / 1_000, speed % 1_000);
        lab.see_verdict(&verdict);
        let keeps = self.random.below(2) == 0;
        let (key, asks) = (if keeps { "c" } else { "d" }, "What did you try?");
        let description = format!("tried {speed}");
        // The look at disk and git that allows it comes after the verdict.
        until("the dialog", lab, |lab| {
            lab.press(key);
            let refused = |screen: &vt100::Screen| screen.contents().contains("not now");
            let asked = |screen: &vt100::Screen| screen.contents().contains(asks);
            lab.becomes(Duration::from_secs(2), |screen| asked(screen) || refused(screen));
            let open = lab.becomes(Duration::ZERO, asked);
            if !open {
                if !lab.becomes(Duration::ZERO, refused) {
                    println!("{key} brought nothing in two seconds; on the screen:\n{}", lab.contents());
                }
                lab.press("\x1b");
                lab.becomes(Duration::from_secs(2), |screen| !refused(screen));
                // Or the next key comes with the escape, as one with Alt held down.
                lab.becomes(Duration::from_millis(50), |_| false);
            }
            open
        });
        lab.press(&format!("{description}\r"));
        let ledger = self.bench.repo().join("results.tsv");
        let word = if keeps { "kept as" } else { "discarded" };
        lab.wait("the decision", |screen| {
            let rows = fs::read_to_string(&ledger).unwrap_or_default();
            screen.contents().contains(word) && rows.ends_with(&format!("\t{description}\n"))
        });
        self.decided.push((keeps, description));
    }

    /// A screen large enough to see everything, with nothing open on it.
    fn come_to_rest(&self, lab: &mut Lab) {
        lab.resize(160, 45);
        until("the bench with nothing open", lab, |lab| {
            lab.press("\x1b");
            // An escape and the key after it must not come as one.
            let hidden = |screen: &vt100::Screen| screen.hide_cursor();
            lab.becomes(Duration::from_millis(50), |_| false);
            lab.press("\x1b");
            lab.becomes(Duration::from_millis(50), |_| false);
            lab.press("1");
            lab.becomes(Duration::from_millis(500), |screen| {
                hidden(screen)
                    && screen.contents().contains("c commit")
                    && screen.contents().contains("run.log")
            })
        });
    }
}

/// Again and again until it is so.
fn until(what: &str, lab: &mut Lab, mut is_so: impl FnMut(&mut Lab) -> bool) {
    let began = Instant::now();
    while !is_so(lab) {
        if began.elapsed() > Duration::from_secs(60) {
            lab.wait(what, |_| false);
        }
    }
}

/// Knuth's MMIX generator; its upper half is good enough to press keys by.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }
}

fn resident_kb(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn see_no_leak(memory: &[(Duration, u64)], whole: Duration) {
    let fifth = |n: u32| {
        let part = memory.iter().filter(|(at, _)| (whole / 5 * (n - 1)..whole / 5 * n).contains(at));
        let mut part: Vec<u64> = part.map(|(_, kb)| *kb).collect();
        part.sort_unstable();
        part
    };
    let (second, last) = (fifth(2), fifth(5));
    let most = second.last().copied().unwrap_or(0);
    let median = last.get(last.len() / 2).copied().unwrap_or(0);
    let peak = memory.iter().map(|(_, kb)| *kb).max().unwrap_or(0);
    println!(
        "resident: {most} kB at most in the second fifth, {median} kB at the median of the last, {peak} kB ever"
    );
    assert!(median <= most + GROWTH_KB, "{median} kB at the end, {most} kB in the second fifth: a leak");
}

/// Every process that works in this folder, by its command line.
fn processes_in(folder: &Path) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let inside = |path: &Path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    let words = |path: &Path| fs::read_to_string(path.join("cmdline")).unwrap_or_default().replace('\0', " ");
    all.filter(|path| inside(path)).map(|path| words(&path)).collect()
}

fn see_what_was_decided(bench: &Bench, decided: &[(bool, String)]) {
    let text = fs::read_to_string(bench.repo().join("results.tsv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 6), "{text}");
    let found: Vec<(bool, String)> = rows.iter().map(|row| (row[4] == "keep", row[5].to_owned())).collect();
    assert_eq!(found, decided, "one row a decision, in their order");
    let ids: HashSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(ids.len(), rows.len(), "no two rows name one commit");
    for row in &rows {
        let speed = row[5].strip_prefix("tried ").unwrap();
        assert_eq!(row[1].parse::<f64>().unwrap().to_string(), speed, "{row:?}");
        let kernel = bench.git(&["show", &format!("{}:kernel.cu", row[0])]);
        assert_eq!(kernel, format!("speed {speed}\n"), "the commit holds what was judged");
    }
    let kept: Vec<&str> = decided.iter().rev().filter(|(keeps, _)| *keeps).map(|(_, d)| d.as_str()).collect();
    let log = bench.git(&["log", "--format=%s"]);
    let subjects: Vec<&str> = log.lines().collect();
    assert_eq!(subjects[..subjects.len() - 2], kept, "what was kept is the branch, and nothing else");
    bench.git(&["fsck", "--no-dangling"]);
    println!("{} kept, {} discarded: {} rows", kept.len(), decided.len() - kept.len(), rows.len());
}
