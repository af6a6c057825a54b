//! The screen in long use by a user who does not look: saves of every kind, resizes, keys and
//! floods of output at random, and all decisions between them: keep, discard, undo, describe,
//! restore, decisions by rule. At the end there is no leak, no process is left, the terminal is as
//! it was, and results.tsv, the branch and `refs/lab` hold the decisions and nothing else.
//!
//! The test suite runs it for a short time. `LAB_SOAK_SECONDS=600 cargo test --release --test soak
//! -- --nocapture` runs it for long; `LAB_SOAK_SEED` repeats one that failed.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "../pty/bench.rs"]
mod bench;

mod books;
mod day;
mod hands;
mod kernel;
mod leaks;
mod random;

use bench::Bench;
use day::Day;
use leaks::{Held, Memory, processes_in};
use std::time::{Duration, Instant};

const SECONDS: u64 = 4;

#[test]
fn a_long_day_ends_as_it_began() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let time = Duration::from_secs(number("LAB_SOAK_SECONDS").unwrap_or(SECONDS));
    let seed = number("LAB_SOAK_SEED").unwrap_or(4);
    println!("a soak of {} s, LAB_SOAK_SEED={seed}", time.as_secs());

    let bench = Bench::new();
    let mut day = Day::begin(&bench, seed);
    day.settle();
    let held = Held::by(day.pid());
    day.everything_once();
    let mut memory = Memory::of(day.pid());
    memory.look();
    while memory.time() < time {
        day.go_on();
        memory.look();
    }
    day.settle();
    Held::by(day.pid()).is_no_more_than(&held, || Held::by(day.pid()));
    let ended = Instant::now();
    let (done, books) = day.end();
    println!("{done}; it ended in {} ms", ended.elapsed().as_millis());

    memory.see_no_leak();
    assert_eq!(
        processes_in(bench.folder.path()),
        Vec::<String>::new(),
        "no process is left"
    );
    books.see_kept_by(&bench);
}
