//! How often the verdict on speed is wrong, on simulated noise of many kinds and on recorded times.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::measure::plan::Plan;
use proptest::prelude::*;
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

/// Judges by the plan of a save, block by block, as the judge does. `block` gives the times of the next block, which
/// takes `block_seconds`.
fn judge(plan: &Plan, mut block: impl FnMut() -> AbbaBlock, block_seconds: f64) -> Speed {
    let mut logs: Vec<f64> = Vec::new();
    loop {
        logs.extend(block().log_ratios());
        let ratio = Ratio::of(std::slice::from_ref(&logs)).unwrap();
        let spent = Duration::from_secs_f64(block_seconds * ratio.blocks as f64);
        if !plan.goes_on(ratio.blocks, ratio.log.half_width, spent) {
            return ratio.speed(plan.same_within).unwrap();
        }
    }
}

/// How many of `n` judgements come to each verdict, in the order of `Speed::ALL`. A launch of the incumbent takes
/// `seconds`, and one of the candidate `slower` times as long.
fn count(n: u64, slower: f64, seconds: f64, noise: impl Fn() -> Noise) -> [usize; 3] {
    let verdicts = (0..n).map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut noise = noise();
        let mut time = |base: f64| base * noise(&mut rng).exp();
        let block = || {
            let (a1, b1) = (time(1.0), time(slower));
            let (b2, a2) = (time(slower), time(1.0));
            AbbaBlock { a: [a1, a2], b: [b1, b2] }
        };
        judge(&Plan::default(), block, 4.0 * seconds)
    });
    let verdicts: Vec<Speed> = verdicts.collect();
    Speed::ALL.map(|speed| verdicts.iter().filter(|v| **v == speed).count())
}

const N: u64 = 200;

/// The promise: the same kernel is *same* in 99 of 100 judgements. One that takes 2 % longer is *slower*, and one
/// that takes 2 % less is *faster*, in 95 of 100.
#[track_caller]
fn keeps_the_promise(name: &str, seconds: f64, noise: impl Fn() -> Noise) {
    let [faster, slower, same] = count(N, 1.0, seconds, &noise);
    assert!(same >= 198, "{name}, the same kernel: {faster} faster, {slower} slower of {N}");
    let [faster, slower, same] = count(N, 1.02, seconds, &noise);
    assert!(slower >= 190, "{name}, 2 % slower: {faster} faster, {same} same of {N}");
    let [faster, slower, same] = count(N, 1.0 / 1.02, seconds, &noise);
    assert!(faster >= 190, "{name}, 2 % faster: {slower} slower, {same} same of {N}");
}

/// Launches of 20 ms, like those of WaveGRU: three blocks use up the budget.
#[test]
fn long_launches_keep_the_promise() {
    let long = 0.020;
    keeps_the_promise("normal 0.01 %", long, || normal(1e-4));
    keeps_the_promise("normal 0.1 %", long, || normal(1e-3));
    keeps_the_promise("heavy tails 0.05 %", long, || heavy(5e-4));
    keeps_the_promise("a clock that falls 0.2 % with each launch", long, || drift(2e-4, 2e-3));
    keeps_the_promise("each like the last, 1 %", long, || like_the_last(1e-2, 0.999));
}

/// Launches of some microseconds, timed one by one: noisy, but many.
#[test]
fn short_launches_keep_the_promise() {
    let short = 0.000_2;
    keeps_the_promise("normal 1 %", short, || normal(1e-2));
    keeps_the_promise("normal 3 %", short, || normal(3e-2));
    keeps_the_promise("heavy tails 2 %", short, || heavy(2e-2));
    keeps_the_promise("one in 20 held up by half", short, || held_up(5e-3, 20, 0.5));
    keeps_the_promise("one in 5 held up by a tenth", short, || held_up(5e-3, 5, 0.1));
    keeps_the_promise("a clock that falls 0.1 % with each launch", short, || drift(1e-2, 1e-3));
    keeps_the_promise("each like the last, 5 %", short, || like_the_last(5e-2, 0.99));
    keeps_the_promise("two clocks, 4 % apart", short, || two_clocks(5e-3, 0.04, 100));
}

/// If the noise is far too large for the budget, the interval is wide and misses the truth as often as it says: in
/// 2.5 of 100 on either side. Nearly every verdict is *same*.
#[test]
fn too_much_noise_seldom_gives_a_wrong_verdict() {
    for noise in [|| normal(0.05), || heavy(0.03), || held_up(0.01, 4, 0.3)] {
        for slower in [1.0, 1.02] {
            let [faster, slow, _] = count(N, slower, 0.020, noise);
            assert!(faster <= 8, "{faster} faster of {N}");
            assert!(slower > 1.0 || slow <= 8, "{slow} slower of {N}");
        }
    }
}

/// At the threshold itself, half of the intervals would lie beyond it by chance if they had no width.
#[test]
fn at_the_threshold_a_verdict_is_rare() {
    let [faster, slower, _] = count(N, 1.005, 0.020, || normal(1e-3));
    assert!(faster == 0 && slower <= 8, "{faster} faster, {slower} slower of {N}");
}

#[test]
fn the_interval_holds_the_true_ratio_nearly_as_often_as_it_says() {
    let covered = (0..2000).filter(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(*seed);
        let mut noise = normal(2e-3);
        let logs: Vec<f64> = (0..5).map(|_| noise(&mut rng)).collect();
        let (low, high) = Ratio::of(&[logs]).unwrap().interval().unwrap();
        low <= 1.0 && 1.0 <= high
    });
    let covered = covered.count();
    assert!((1870..=1930).contains(&covered), "{covered} of 2000, where 1900 are expected");
}

#[test]
fn trials_that_differ_widen_the_interval() {
    let like = |centre: f64| vec![centre - 1e-4, centre, centre + 1e-4, centre];
    let agreeing = Ratio::of(&[like(0.02), like(0.02), like(0.02)]).unwrap();
    let differing = Ratio::of(&[like(0.01), like(0.02), like(0.03)]).unwrap();
    assert!((agreeing.value() - 0.02f64.exp()).abs() < 1e-9 && agreeing.blocks == 6);
    assert_eq!(agreeing.speed(0.005), Some(Speed::Faster));
    assert_eq!(differing.speed(0.005), Some(Speed::Same), "{:?}", differing.interval());
}

#[test]
fn one_pair_has_no_verdict() {
    let ratio = Ratio::of(&[vec![0.5]]).unwrap();
    assert_eq!((ratio.interval(), ratio.speed(0.005)), (None, None));
    assert_eq!(Ratio::of(&[vec![]]), None);
}

proptest! {
    /// For any rate of a linear drift.
    #[test]
    fn an_even_drift_cancels(each in -0.01f64..0.01, ratio in 0.5f64..2.0) {
        let at = |turn: f64| (each * turn).exp();
        let block = AbbaBlock { a: [at(0.0), at(3.0)], b: [at(1.0) / ratio, at(2.0) / ratio] };
        let [first, second] = block.log_ratios();
        prop_assert!((f64::midpoint(first, second) - ratio.ln()).abs() < 1e-9);
    }

    /// Swapping the two kernels swaps the verdict.
    #[test]
    fn the_verdict_favours_no_kernel(logs in prop::collection::vec(-0.1f64..0.1, 2..40)) {
        let other: Vec<f64> = logs.iter().map(|x| -x).collect();
        let (here, there) = (Ratio::of(&[logs]).unwrap(), Ratio::of(&[other]).unwrap());
        prop_assert!((here.log.value + there.log.value).abs() < 1e-12);
        prop_assert!((here.log.half_width - there.log.half_width).abs() < 1e-12);
        // 1 / 1.005 is not 0.995, so the verdicts may differ beside the threshold.
        let border = |r: &Ratio| [r.log.low(), r.log.high()].iter().any(|x| (x.abs() - 0.005).abs() < 5e-5);
        let swapped = match here.speed(0.005) {
            Some(Speed::Faster) => Some(Speed::Slower),
            Some(Speed::Slower) => Some(Speed::Faster),
            same => same,
        };
        prop_assert!(border(&here) || there.speed(0.005) == swapped);
    }
}

/// The blocks of a recorded trace, one after the other. Its lines are `same a,b,b,a,…` (a kernel beside itself) or
/// `slower a,b,b,a,…` (one that takes 2 % longer) in microseconds, from `scripts/same-and-slower` or the example
/// `record_turns`.
fn recorded(text: &str, kind: &str) -> Vec<AbbaBlock> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let blocks = lines.flat_map(|line| {
        let turns: Vec<f64> = line.split(',').map(|t| t.trim().parse::<f64>().unwrap() * 1e-6).collect();
        let block = |&[a1, b1, b2, a2]: &[f64; 4]| AbbaBlock { a: [a1, a2], b: [b1, b2] };
        turns.as_chunks::<4>().0.iter().map(block).collect::<Vec<_>>()
    });
    blocks.collect()
}

/// Judges recorded blocks with the candidate made `slower` times as slow. Each judgement begins where the one before
/// it ended by the plan's rule. The last one, which the recording cuts off, does not count.
fn replay(blocks: &[AbbaBlock], slower: f64) -> Vec<Speed> {
    let plan = Plan::default();
    let (mut verdicts, mut logs, mut spent) = (Vec::new(), Vec::new(), 0.0);
    for block in blocks {
        let block = AbbaBlock { b: block.b.map(|seconds| seconds * slower), ..*block };
        logs.extend(block.log_ratios());
        spent += block.a.iter().chain(&block.b).sum::<f64>();
        let ratio = Ratio::of(std::slice::from_ref(&logs)).unwrap();
        if !plan.goes_on(ratio.blocks, ratio.log.half_width, Duration::from_secs_f64(spent)) {
            verdicts.push(ratio.speed(plan.same_within).unwrap());
            (logs, spent) = (Vec::new(), 0.0);
        }
    }
    verdicts
}

#[test]
fn recorded_times_keep_the_promise() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/measure/traces");
    let mut traces = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
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
            let (n, right) = (verdicts.len(), verdicts.iter().filter(|v| **v == wanted).count());
            assert!(n >= 50, "{}: {n} judgements say little", path.display());
            assert!(100 * right >= least * n, "{}: {right} of {n} are {wanted:?}", path.display());
        }
        traces += 1;
    }
    assert!(traces > 0, "no recorded trace");
}
