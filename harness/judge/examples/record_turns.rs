//! Records A B B A turns of one piece of work on this machine's processor, as a trace for the tests
//! of the verdict on speed. Each line is one judgement: `same` and the microseconds of its turns.
//!
//!     cargo run --release -p lab-judge --example record_turns -- LINES BLOCKS KIB >harness/judge/src/measure/traces/NAME.txt
//!
//! `scripts/same-and-slower` records the same on a GPU.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let mut number = |name| {
        words
            .next()
            .and_then(|w| w.parse().ok())
            .ok_or(format!("{name} is a number"))
    };
    let (lines, blocks, kib): (usize, usize, usize) =
        (number("LINES")?, number("BLOCKS")?, number("KIB")?);
    let work = vec![7u8; kib << 10];
    let turn = || {
        let began = Instant::now();
        black_box(blake3::hash(black_box(&work)));
        format!("{:.1}", began.elapsed().as_secs_f64() * 1e6)
    };
    (0..10).for_each(|_| drop(turn()));
    for _ in 0..lines {
        let turns: Vec<String> = (0..4 * blocks).map(|_| turn()).collect();
        println!("same {}", turns.join(","));
    }
    Ok(())
}
