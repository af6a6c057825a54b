//! The ratio and its interval on given times. How often the interval holds the truth is tested
//! where the plan of a measurement is: in `lab-judge`, `measure::coverage`.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

#[test]
fn trials_that_differ_widen_the_interval() {
    let like = |centre: f64| vec![centre - 1e-4, centre, centre + 1e-4, centre];
    let agreeing = Ratio::of(&[like(0.02), like(0.02), like(0.02)]).unwrap();
    let differing = Ratio::of(&[like(0.01), like(0.02), like(0.03)]).unwrap();
    assert!((agreeing.value() - 0.02f64.exp()).abs() < 1e-9 && agreeing.blocks == 6);
    assert_eq!(agreeing.speed(0.005), Speed::Faster);
    assert_eq!(
        differing.speed(0.005),
        Speed::Undecided,
        "{:?}",
        differing.interval()
    );
}

#[test]
fn one_pair_has_no_verdict() {
    let ratio = Ratio::of(&[vec![0.5]]).unwrap();
    assert_eq!(
        (ratio.interval(), ratio.speed(0.005)),
        (None, Speed::Undecided)
    );
    assert_eq!(ratio.doubt(0.005), Some(Doubt::FewBlocks(0)));
    assert_eq!(Ratio::of(&[vec![]]), None);
    assert_eq!(Ratio::of_blocks(&[]), None);
}

#[test]
fn blocks_too_few_for_a_verdict_show_no_interval() {
    let of = |blocks: usize| Ratio::of(&[vec![0.5; 2 * blocks]]).unwrap();
    assert_eq!([1, 2].map(|blocks| of(blocks).interval()), [None, None]);
    assert!(of(3).interval().is_some());
}

#[test]
fn pairs_of_a_block_that_err_together_widen_the_interval() {
    // The same eight numbers: neighbours differ, or neighbours are alike.
    let apart = Ratio::of(&[vec![0.01, -0.01, -0.01, 0.01, 0.01, -0.01, -0.01, 0.01]]).unwrap();
    let alike = Ratio::of(&[vec![0.01, 0.01, -0.01, -0.01, 0.01, 0.01, -0.01, -0.01]]).unwrap();
    assert_eq!(apart.log.value, alike.log.value);
    assert!(
        alike.log.half_width > 1.3 * apart.log.half_width,
        "{alike:?} {apart:?}"
    );
}

#[test]
fn a_disturbed_measurement_needs_a_clearer_difference() {
    let ratio = Ratio::of(&[vec![0.011, 0.013, 0.012, 0.010, 0.012, 0.014]]).unwrap();
    let disturbed = ratio.disturbed();
    assert_eq!(
        (ratio.value(), ratio.blocks),
        (disturbed.value(), disturbed.blocks)
    );
    assert!((disturbed.log.half_width / ratio.log.half_width - 2.0).abs() < 1e-12);
    assert_eq!(ratio.speed(0.0095), Speed::Faster);
    assert_ne!(disturbed.speed(0.0095), Speed::Faster);
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
        let swapped = match here.speed(0.005) {
            Speed::Faster => Speed::Slower,
            Speed::Slower => Speed::Faster,
            other => other,
        };
        // Beside a threshold the last digit of a sum decides.
        let border = |r: &Ratio| [r.log.low(), r.log.high()].iter().any(|end| {
            [0.0, 1.0, 2.0, 3.0].iter().any(|theta| (end.abs() - theta * 0.005f64.ln_1p()).abs() < 1e-9)
        });
        prop_assert!(border(&here) || there.speed(0.005) == swapped);
    }

    /// The interval holds its centre, and more blocks of the same numbers never widen it.
    #[test]
    fn the_interval_shrinks_with_more_of_the_same(logs in prop::collection::vec(-0.1f64..0.1, 6..12)) {
        let logs = if logs.len() % 2 == 0 { logs } else { logs[1..].to_vec() };
        let once = Ratio::of(std::slice::from_ref(&logs)).unwrap();
        let often = Ratio::of(&[logs.repeat(8)]).unwrap();
        let (low, high) = once.interval().unwrap();
        prop_assert!(low <= once.value() && once.value() <= high);
        prop_assert!(often.log.half_width <= once.log.half_width + 1e-12);
    }
}
