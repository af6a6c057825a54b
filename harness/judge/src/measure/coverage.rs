//! How often the interval of the speed ratio holds the truth, and how often the verdict on speed is
//! right: on simulated noise of many kinds and on recorded times, with the plan of a save.
//!
//! `cargo test -p lab-judge --lib measure::coverage -- --nocapture` prints the figures.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

mod several;

use super::abba::{AbbaBlock, Ratio};
use lab_protocol::plan::{Plan, SoFar};
use lab_stats::speed::{Speed, decide};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Normal, StudentT};
use std::time::Duration;

/// Noise on the logarithm of a launch's time, for one launch after the other.
type Noise = Box<dyn FnMut(&mut ChaCha8Rng) -> f64>;

fn normal(sigma: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    Box::new(move |rng| normal.sample(rng))
}

/// Tails as heavy as those of Student's distribution with three degrees of freedom.
fn heavy(sigma: f64) -> Noise {
    let student = StudentT::new(3.0).unwrap();
    Box::new(move |rng| sigma * student.sample(rng))
}

/// Little noise, but one launch in `one_in` takes much longer.
fn held_up(sigma: f64, one_in: u32, by: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    Box::new(move |rng| {
        let held = rand_chacha::rand_core::Rng::next_u32(rng).is_multiple_of(one_in);
        normal.sample(rng) + if held { by } else { 0.0 }
    })
}

/// A clock that falls steadily, by `each` with every launch.
fn drift(sigma: f64, each: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    let mut launches = 0.0;
    Box::new(move |rng| {
        launches += 1.0;
        launches * each + normal.sample(rng)
    })
}

/// Each launch resembles the one before: an autoregression of the first order.
fn like_the_last(sigma: f64, likeness: f64) -> Noise {
    let step = Normal::new(0.0, sigma * (1.0 - likeness * likeness).sqrt()).unwrap();
    let mut last = 0.0;
    Box::new(move |rng| {
        last = likeness * last + step.sample(rng);
        last
    })
}

/// Two clocks, with a change from one to the other now and then.
fn two_clocks(sigma: f64, apart: f64, one_in: u32) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    let mut fast = true;
    Box::new(move |rng| {
        if rand_chacha::rand_core::Rng::next_u32(rng).is_multiple_of(one_in) {
            fast = !fast;
        }
        normal.sample(rng) + if fast { 0.0 } else { apart }
    })
}

/// Measures by the plan of a save, block by block, as the judge does, and returns the ratio at its
/// end. `block` gives the times of the next block, which takes `block_seconds`.
fn measure(plan: &Plan, mut block: impl FnMut() -> AbbaBlock, block_seconds: f64) -> Ratio {
    let mut logs: Vec<f64> = Vec::new();
    loop {
        logs.extend(block().log_ratios());
        let ratio = Ratio::of(std::slice::from_ref(&logs)).unwrap();
        let spent = Duration::from_secs_f64(block_seconds * ratio.blocks as f64);
        if !plan.goes_on(&so_far(plan, &ratio), spent) {
            return ratio;
        }
    }
}

/// What a measurement with this ratio shows so far.
fn so_far(plan: &Plan, ratio: &Ratio) -> SoFar {
    let undecided = ratio.speed(plan.same_within) == Speed::Undecided;
    SoFar {
        blocks: ratio.blocks,
        half_width: ratio.log.half_width,
        undecided,
        widest_workload: 0.0,
    }
}

/// The ratios that `n` measurements come to. A launch of the incumbent takes `seconds`, and one of
/// the candidate `slower` times as long.
fn ratios(n: u64, slower: f64, seconds: f64, noise: impl Fn() -> Noise) -> Vec<Ratio> {
    let measured = (0..n).map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut noise = noise();
        let mut time = |base: f64| base * noise(&mut rng).exp();
        let block = || {
            let (a1, b1) = (time(1.0), time(slower));
            let (b2, a2) = (time(slower), time(1.0));
            AbbaBlock {
                a: [a1, a2],
                b: [b1, b2],
            }
        };
        measure(&Plan::default(), block, 4.0 * seconds)
    });
    measured.collect()
}

/// How many of `n` judgements are faster, slower, same and undecided.
fn count(n: u64, slower: f64, seconds: f64, noise: impl Fn() -> Noise) -> [usize; 4] {
    let ratios = ratios(n, slower, seconds, noise);
    let within = Plan::default().same_within;
    let verdicts = [Speed::Faster, Speed::Slower, Speed::Same, Speed::Undecided];
    verdicts.map(|speed| {
        ratios
            .iter()
            .filter(|ratio| ratio.speed(within) == speed)
            .count()
    })
}

const N: u64 = 200;

/// The promise: the same kernel is *same* in 99 of 100 judgements. One that takes 2 % longer is
/// *slower*, and one that takes 2 % less is *faster*, in 95 of 100.
#[track_caller]
fn keeps_the_promise(name: &str, seconds: f64, noise: impl Fn() -> Noise) {
    let [faster, slower, same, undecided] = count(N, 1.0, seconds, &noise);
    let others = format!("{faster} faster, {slower} slower, {undecided} undecided of {N}");
    assert!(same >= 198, "{name}, the same kernel: {others}");
    let [faster, slower, same, undecided] = count(N, 1.02, seconds, &noise);
    let others = format!("{faster} faster, {same} same, {undecided} undecided of {N}");
    assert!(slower >= 190, "{name}, 2 % slower: {others}");
    let [faster, slower, same, undecided] = count(N, 1.0 / 1.02, seconds, &noise);
    let others = format!("{slower} slower, {same} same, {undecided} undecided of {N}");
    assert!(faster >= 190, "{name}, 2 % faster: {others}");
}

/// Launches of 20 ms: three blocks use up the budget.
#[test]
fn long_launches_keep_the_promise() {
    let long = 0.020;
    keeps_the_promise("normal 0.01 %", long, || normal(1e-4));
    keeps_the_promise("normal 0.1 %", long, || normal(1e-3));
    keeps_the_promise("heavy tails 0.05 %", long, || heavy(5e-4));
    keeps_the_promise("a clock that falls 0.2 % with each launch", long, || {
        drift(2e-4, 2e-3)
    });
    keeps_the_promise("each like the last, 1 %", long, || {
        like_the_last(1e-2, 0.999)
    });
}

/// Launches of some microseconds, timed one by one: noisy, but many.
#[test]
fn short_launches_keep_the_promise() {
    let short = 0.000_2;
    keeps_the_promise("normal 1 %", short, || normal(1e-2));
    keeps_the_promise("normal 3 %", short, || normal(3e-2));
    keeps_the_promise("heavy tails 2 %", short, || heavy(2e-2));
    keeps_the_promise("one in 20 held up by half", short, || {
        held_up(5e-3, 20, 0.5)
    });
    keeps_the_promise("one in 5 held up by a tenth", short, || {
        held_up(5e-3, 5, 0.1)
    });
    keeps_the_promise("a clock that falls 0.1 % with each launch", short, || {
        drift(1e-2, 1e-3)
    });
    keeps_the_promise("each like the last, 5 %", short, || {
        like_the_last(5e-2, 0.99)
    });
    keeps_the_promise("two clocks, 4 % apart", short, || {
        two_clocks(5e-3, 0.04, 100)
    });
}

/// If the noise is far too large for the budget, the verdict is *undecided* and not a direction.
/// The interval misses the truth as often as it says: in 2.5 of 100 on either side.
#[test]
fn too_much_noise_is_undecided() {
    for noise in [|| normal(0.05), || heavy(0.03), || held_up(0.01, 4, 0.3)] {
        for slower in [1.0, 1.02] {
            let [faster, slow, same, undecided] = count(N, slower, 0.020, noise);
            assert!(faster <= 8, "{faster} faster of {N}");
            assert!(slower > 1.0 || slow <= 8, "{slow} slower of {N}");
            assert!(slower == 1.0 || same <= 8, "{same} same of {N}");
            assert!(
                slower > 1.0 || undecided >= 150,
                "{undecided} undecided of {N}"
            );
        }
    }
}

/// At the threshold itself, half of the intervals would lie beyond it by chance if they had no
/// width.
#[test]
fn at_the_threshold_a_verdict_is_rare() {
    let [faster, slower, ..] = count(N, 1.005, 0.020, || normal(1e-3));
    assert!(
        faster == 0 && slower <= 8,
        "{faster} faster, {slower} slower of {N}"
    );
}

/// A turn over several workloads: its figure is the mean of their logarithms. Each workload has
/// noise of its own size, with tails as heavy as those of Student's distribution with four degrees
/// of freedom.
fn workloads(sigma: f64, count: usize) -> Noise {
    let tail = StudentT::new(4.0).unwrap();
    let size = Normal::new(0.0, 1.0).unwrap();
    let mut sizes: Vec<f64> = Vec::new();
    Box::new(move |rng| {
        if sizes.is_empty() {
            sizes = (0..count)
                .map(|_| sigma * f64::exp(size.sample(rng)))
                .collect();
        }
        sizes
            .iter()
            .map(|size| size * tail.sample(rng))
            .sum::<f64>()
            / count as f64
    })
}

/// An effect on the candidate that lasts for one block and is another one in the next: where its
/// buffers lie, say.
fn layouts(sigma: f64, apart: f64) -> Noise {
    let unit = Normal::new(0.0, 1.0).unwrap();
    let (mut turns, mut effect) = (0, 0.0);
    Box::new(move |rng| {
        let turn = turns % 4;
        turns += 1;
        if turn == 0 {
            effect = apart * unit.sample(rng);
        }
        sigma * unit.sample(rng) + if matches!(turn, 1 | 2) { effect } else { 0.0 }
    })
}

/// Either of two times, by chance.
fn bimodal(sigma: f64, apart: f64) -> Noise {
    let normal = Normal::new(0.0, sigma).unwrap();
    Box::new(move |rng| {
        normal.sample(rng)
            + if rand_chacha::rand_core::Rng::next_u32(rng).is_multiple_of(2) {
                apart
            } else {
                0.0
            }
    })
}

/// The least part of the intervals that hold the truth, in percent, over all kinds of noise below.
const COVERAGE: f64 = 94.0;

/// Writes how often the intervals of `ratios` hold `truth`, a logarithm, and fails if they do so
/// too seldom.
#[track_caller]
fn covers(name: &str, ratios: &[Ratio], truth: f64) {
    let held = ratios
        .iter()
        .filter(|ratio| (ratio.log.value - truth).abs() <= ratio.log.half_width)
        .count();
    let percent = 100.0 * held as f64 / ratios.len() as f64;
    let blocks =
        ratios.iter().map(|ratio| ratio.blocks).sum::<usize>() as f64 / ratios.len() as f64;
    println!(
        "{name:<70} {percent:5.1} % of {} intervals hold the truth; {blocks:.1} blocks",
        ratios.len()
    );
    assert!(
        percent >= COVERAGE,
        "{name}: only {percent:.1} % of {} intervals hold the truth",
        ratios.len()
    );
}

/// Stopping included: the measurements end where the interval is narrow or the time is up.
#[test]
fn the_interval_holds_the_truth_whatever_the_noise() {
    type Kind = (&'static str, fn() -> Noise);
    let kinds: [Kind; 15] = [
        ("normal 0.05 %", || normal(5e-4)),
        ("normal 0.3 %", || normal(3e-3)),
        ("normal 0.5 %", || normal(5e-3)),
        ("normal 2 %", || normal(2e-2)),
        ("heavy tails 0.2 %", || heavy(2e-3)),
        ("heavy tails 1 %", || heavy(1e-2)),
        ("one in 20 held up by half", || held_up(5e-3, 20, 0.5)),
        ("a clock that falls 0.1 % with each", || drift(5e-3, 1e-3)),
        ("like the last 0.5, 0.5 %", || like_the_last(5e-3, 0.5)),
        ("like the last 0.9, 1 %", || like_the_last(1e-2, 0.9)),
        ("like the last 0.99, 5 %", || like_the_last(5e-2, 0.99)),
        ("two clocks, 4 % apart", || two_clocks(5e-3, 0.04, 100)),
        ("either of two times, 1 % apart", || bimodal(1e-3, 0.01)),
        ("16 workloads, 1 %", || workloads(1e-2, 16)),
        ("a layout for each block, 0.3 %", || layouts(3e-3, 3e-3)),
    ];
    for (name, noise) in kinds {
        // The same kernel, one that is 2 % slower, and two for which the rule has no clear answer.
        for (seconds, slower) in [(0.020, 1.0), (0.005, 1.02), (0.020, 1.005), (0.020, 1.012)] {
            let name = format!("{name}, {slower} times as long, turns of {seconds} s");
            covers(
                &name,
                &ratios(2000, slower, seconds, noise),
                -f64::ln(slower),
            );
        }
    }
}

/// Why the interval is calibrated: Student's and Tukey's and McLaughlin's own hold the truth too
/// seldom if the measurement stops by them, or if neighbouring turns are alike.
#[test]
fn the_textbook_interval_holds_the_truth_too_seldom() {
    let plan = Plan::default();
    type NamedNoise = (&'static str, fn() -> Noise);
    let kinds: [NamedNoise; 3] = [
        ("normal 0.3 %", || normal(3e-3)),
        ("like the last 0.5, 0.5 %", || like_the_last(5e-3, 0.5)),
        ("a layout for each block, 0.3 %", || layouts(3e-3, 3e-3)),
    ];
    for (name, noise) in kinds {
        let held = (0..2000).filter(|seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(*seed);
            let (mut noise, mut logs) = (noise(), Vec::new());
            loop {
                let [a1, b1, b2, a2] = [(); 4].map(|()| noise(&mut rng));
                logs.extend([a1 - b1, a2 - b2]);
                let centre = lab_stats::centre::centre(&logs).unwrap();
                let spent = Duration::from_secs_f64(0.020 * logs.len() as f64 / 2.0);
                let undecided = decide(centre, logs.len() / 2, plan.same_within).is_err();
                let so_far = SoFar {
                    blocks: logs.len() / 2,
                    half_width: centre.half_width,
                    undecided,
                    widest_workload: 0.0,
                };
                if !plan.goes_on(&so_far, spent) {
                    break centre.value.abs() <= centre.half_width;
                }
            }
        });
        let percent = held.count() as f64 / 20.0;
        println!("{name:<70} {percent:5.1} % of 2000 textbook intervals hold the truth");
        assert!(
            percent < COVERAGE,
            "{name}: {percent} %, so nothing needs to be calibrated"
        );
    }
}

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
