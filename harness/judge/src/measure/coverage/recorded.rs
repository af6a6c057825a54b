//! The interval and the verdict on recorded times.

use super::{covers, measure, so_far};
use crate::measure::abba::{AbbaBlock, Ratio};
use lab_protocol::plan::Plan;
use lab_stats::speed::Speed;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::time::Duration;

/// The turns of a kernel beside itself, drawn from recordings: a block bootstrap, in which a block
/// stays whole and so do a few that follow one another.
#[test]
fn the_interval_holds_the_truth_on_recorded_turns() {
    for (name, text) in traces("") {
        let blocks = recorded(&text, "same");
        let seconds = blocks
            .iter()
            .map(|b| b.a[0] + b.a[1] + b.b[0] + b.b[1])
            .sum::<f64>();
        let seconds = seconds / blocks.len() as f64;
        covers(&name, &bootstrap(&name, &blocks, seconds), 0.0);
    }
}

/// The same for turns of tensor problems, each of which is many launches: the file's first line
/// says how long a block takes. The recordings are too short to replay 50 judgements, so
/// measurements are drawn from them.
#[test]
fn recorded_turns_of_tensor_problems_have_the_right_direction() {
    for (name, text) in traces("tensor") {
        let seconds = text
            .lines()
            .next()
            .unwrap()
            .strip_prefix("seconds of a block: ")
            .unwrap();
        let (seconds, same) = (seconds.parse().unwrap(), recorded(&text, "same"));
        let itself = bootstrap(&name, &same, seconds);
        covers(&name, &itself, 0.0);
        let slower = |block: &AbbaBlock| AbbaBlock {
            b: block.b.map(|turn| turn * 1.02),
            ..*block
        };
        let slower = bootstrap(&name, &same.iter().map(slower).collect::<Vec<_>>(), seconds);
        for (ratios, wanted, least) in [(itself, Speed::Same, 99), (slower, Speed::Slower, 95)] {
            let words: Vec<Speed> = ratios
                .iter()
                .map(|r| r.speed(Plan::default().same_within))
                .collect();
            let right = words.iter().filter(|word| **word == wanted).count();
            let wrong = words
                .iter()
                .filter(|word| **word != wanted && **word != Speed::Undecided)
                .count();
            println!(
                "{name}: {right} of {} are {wanted:?}, {wrong} are wrong",
                words.len()
            );
            assert!(
                100 * right >= least * words.len(),
                "{name}: {right} are {wanted:?}"
            );
            assert!(
                1000 * wrong <= words.len(),
                "{name}: {wrong} are neither {wanted:?} nor undecided"
            );
        }
    }
}

/// What 2,000 measurements of blocks from this recording come to. A few blocks that follow one
/// another stay together.
fn bootstrap(name: &str, blocks: &[AbbaBlock], seconds: f64) -> Vec<Ratio> {
    const TOGETHER: usize = 3;
    assert!(
        blocks.len() >= 100,
        "{name}: {} blocks say little",
        blocks.len()
    );
    let measured = (0..2000).map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut at, mut left) = (0, 0);
        let block = || {
            if left == 0 {
                let place = rand_chacha::rand_core::Rng::next_u64(&mut rng) as usize;
                (at, left) = (place % (blocks.len() - TOGETHER + 1), TOGETHER);
            }
            (at, left) = (at + 1, left - 1);
            blocks[at - 1]
        };
        measure(&Plan::default(), block, seconds)
    });
    measured.collect()
}

/// The blocks of a recorded trace, one after the other. Its lines are `same a,b,b,a,…` (a kernel
/// beside itself) or `slower a,b,b,a,…` (one that takes 2 % longer) in microseconds, from
/// `scripts/same-and-slower` or the example `record_turns`.
fn recorded(text: &str, kind: &str) -> Vec<AbbaBlock> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let blocks = lines.flat_map(|line| {
        let turns: Vec<f64> = line
            .split(',')
            .map(|t| t.trim().parse::<f64>().unwrap() * 1e-6)
            .collect();
        let block = |&[a1, b1, b2, a2]: &[f64; 4]| AbbaBlock {
            a: [a1, a2],
            b: [b1, b2],
        };
        turns
            .as_chunks::<4>()
            .0
            .iter()
            .map(block)
            .collect::<Vec<_>>()
    });
    blocks.collect()
}

/// Judges recorded blocks with the candidate made `slower` times as slow. Each judgement begins
/// where the one before it ended by the plan's rule. The last one, which the recording cuts off,
/// does not count.
fn replay(blocks: &[AbbaBlock], slower: f64) -> Vec<Speed> {
    let plan = Plan::default();
    let (mut verdicts, mut logs, mut spent) = (Vec::new(), Vec::new(), 0.0);
    for block in blocks {
        let block = AbbaBlock {
            b: block.b.map(|seconds| seconds * slower),
            ..*block
        };
        logs.extend(block.log_ratios());
        spent += block.a.iter().chain(&block.b).sum::<f64>();
        let ratio = Ratio::of(std::slice::from_ref(&logs)).unwrap();
        if !plan.goes_on(&so_far(&plan, &ratio), Duration::from_secs_f64(spent)) {
            verdicts.push(ratio.speed(plan.same_within));
            (logs, spent) = (Vec::new(), 0.0);
        }
    }
    verdicts
}

/// The recorded traces in this folder of `traces`: the name and the text of each.
fn traces(folder: &str) -> Vec<(String, String)> {
    let traces = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/measure/traces");
    let paths = std::fs::read_dir(traces.join(folder))
        .unwrap()
        .map(|file| file.unwrap().path());
    let paths = paths.filter(|path| path.is_file());
    let mut traces: Vec<(String, String)> = paths
        .map(|path| {
            (
                path.file_name().unwrap().display().to_string(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    traces.sort();
    assert!(!traces.is_empty(), "no recorded trace");
    traces
}

#[test]
fn recorded_times_keep_the_promise() {
    for (name, text) in traces("") {
        let (same, slow) = (recorded(&text, "same"), recorded(&text, "slower"));
        let mut cases = vec![
            (&same, 1.0, Speed::Same, 99),
            (&same, 1.02, Speed::Slower, 95),
            (&same, 1.0 / 1.02, Speed::Faster, 95),
        ];
        // A trace of `record_turns` has no kernel that is really slower.
        if !slow.is_empty() {
            cases.push((&slow, 1.0, Speed::Slower, 95));
        }
        for (blocks, slower, wanted, least) in cases {
            let verdicts = replay(blocks, slower);
            let (n, right) = (
                verdicts.len(),
                verdicts.iter().filter(|v| **v == wanted).count(),
            );
            println!("{name}: {right} of {n} are {wanted:?}");
            assert!(n >= 50, "{name}: {n} judgements say little");
            assert!(
                100 * right >= least * n,
                "{name}: {right} of {n} are {wanted:?}"
            );
        }
    }
}
