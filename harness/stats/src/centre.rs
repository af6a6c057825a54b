//! The centre of a few numbers, and a 95 % interval for it.
//!
//! Of fewer than 10 numbers the centre is the mean, with Student's interval (Student, The Probable
//! Error of a Mean, Biometrika 6, 1908). From 10 numbers on it is the mean without the lowest and
//! the highest fifth, with the interval of J. W. Tukey and D. H. McLaughlin (Less Vulnerable
//! Confidence and Significance Procedures for Location Based on a Single Sample:
//! Trimming/Winsorization 1, Sankhyā A 25, 1963; R. R. Wilcox, Introduction to Robust Estimation
//! and Hypothesis Testing, 4.3). That is Student's interval too, from the winsorized deviation and
//! with one degree of freedom for each number that is kept. So a launch that something else held up
//! moves neither centre nor interval.

use std::cell::RefCell;
use std::collections::HashMap;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// From this many numbers on the outermost are left out. With fewer, the interval from three
/// degrees of freedom would be wider for it.
const TRIMMED_FROM: usize = 10;

/// The part that is left out at either end.
const TRIM: f64 = 0.2;

/// The part of the measurements whose interval may miss the truth: 5 %, half of them on either
/// side.
pub const MISSED: f64 = 0.05;

/// A centre and half the width of its 95 % interval, which is infinite for a single number. Both in
/// the unit of the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// The centre.
    pub value: f64,
    /// Half the width of the interval.
    pub half_width: f64,
}

impl Centre {
    /// The lower end of the interval.
    pub fn low(&self) -> f64 {
        self.value - self.half_width
    }

    /// The upper end of the interval.
    pub fn high(&self) -> f64 {
        self.value + self.half_width
    }
}

/// Returns the centre; `None` without a number, or if one is infinite or NaN.
pub fn centre(values: &[f64]) -> Option<Centre> {
    centre_at(values, MISSED)
}

/// The same with an interval that misses the truth in the part `missed` of all measurements: 0.05
/// for a 95 % interval.
pub fn centre_at(values: &[f64], missed: f64) -> Option<Centre> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let cut = if n < TRIMMED_FROM {
        0
    } else {
        (TRIM * n as f64) as usize
    };
    let kept = &sorted[cut..n - cut];
    let value = mean(kept);
    let Some(t) = student(kept.len() - 1, missed) else {
        return Some(Centre {
            value,
            half_width: f64::INFINITY,
        });
    };

    // Winsorized: each number that was left out counts like the outermost one that was kept.
    let (low, high) = (kept[0], kept[kept.len() - 1]);
    let winsorized: Vec<f64> = sorted.iter().map(|v| v.clamp(low, high)).collect();
    let about = mean(&winsorized);
    let variance = winsorized.iter().map(|v| (v - about).powi(2)).sum::<f64>() / (n - 1) as f64;
    let part = kept.len() as f64 / n as f64;
    Some(Centre {
        value,
        half_width: t * (variance / n as f64).sqrt() / part,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The quantile of Student's distribution for a 95 % interval, infinite without a degree of
/// freedom.
pub(crate) fn quantile(degrees: usize) -> f64 {
    student(degrees, MISSED).unwrap_or(f64::INFINITY)
}

/// Most quantiles that a thread keeps. Ratios of many workloads need many.
const KEPT: usize = 4096;

thread_local! {
    /// Quantiles by degrees of freedom and the bits of `missed`.
    static QUANTILES: RefCell<HashMap<(usize, u64), f64>> = RefCell::default();
}

/// The quantile of Student's distribution; `None` without a degree of freedom. Finding one takes
/// many steps, and the same ones are needed after every block, so they are kept.
fn student(degrees: usize, missed: f64) -> Option<f64> {
    if degrees == 0 {
        return None;
    }
    QUANTILES.with_borrow_mut(|kept| {
        if kept.len() >= KEPT {
            kept.clear();
        }
        let quantile = kept.entry((degrees, missed.to_bits()));
        Some(*quantile.or_insert_with(|| solved(degrees, missed)))
    })
}

/// The t between which and −t Student's distribution has all but the part `missed`: the interval
/// in which [`between`] passes that part is halved until it has no number inside.
fn solved(degrees: usize, missed: f64) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return (degrees as f64).sqrt() * low.tan();
        }
        if between(degrees, middle) < 1.0 - missed {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The part of Student's distribution between −t and t, for t = √degrees · tan `angle`: a sum of
/// powers of the cosine, which are odd if the degrees are (M. Abramowitz and I. A. Stegun, Handbook
/// of Mathematical Functions, 26.7.3 and 26.7.4).
fn between(degrees: usize, angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = 0.0;
    for power in (degrees % 2..degrees - 1).step_by(2) {
        sum += term;
        term *= (power + 1) as f64 / (power + 2) as f64 * cos * cos;
    }
    if is_odd {
        FRAC_2_PI * (angle + sin * sum)
    } else {
        sin * sum
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_published_table() {
        // D. C. Montgomery, Design and Analysis of Experiments, table II, α = 0.025.
        for (degrees, t) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (5, 2.571),
            (10, 2.228),
            (30, 2.042),
        ] {
            assert!(
                (student(degrees, MISSED).unwrap() - t).abs() < 5e-4,
                "{degrees}"
            );
        }
        assert_eq!(student(0, MISSED), None);
        // The root of the incomplete beta function with 40 digits (mpmath 1.3).
        for (degrees, missed, t) in [
            (1, 0.05, 12.706_204_736_2),
            (2, 0.05, 4.302_652_729_75),
            (7, 0.05, 2.364_624_251_59),
            (30, 0.05, 2.042_272_456_30),
            (101, 0.05, 1.983_731_002_96),
            (1000, 0.05, 1.962_339_080_83),
            (5000, 0.05, 1.960_438_551_71),
            (1, 1e-5, 63_661.977_231_5),
            (2, 1e-5, 316.225_394_304),
            (10, 1e-5, 8.150_286_558_9),
            (1000, 1e-5, 4.439_926_468_84),
        ] {
            let off = student(degrees, missed).unwrap() / t - 1.0;
            assert!(off.abs() < 1e-10, "{degrees}, {missed}: {off}");
        }
        // The same table, α = 0.0005: an interval that one measurement in a thousand misses.
        for (degrees, t) in [(2, 31.598), (5, 6.869), (10, 4.587)] {
            assert!(
                (student(degrees, 0.001).unwrap() - t).abs() < 2e-3,
                "{degrees}"
            );
        }
    }

    #[test]
    fn a_few_numbers_have_students_interval() {
        // Mean 2, deviation 1, t = 4.303: half of the interval is 4.303 / √3.
        let centre = centre(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(centre.value, 2.0);
        assert!((centre.half_width - 4.3027 / 3f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn many_numbers_are_trimmed() {
        // Of 1 to 10, 3 to 8 are kept. Winsorized: 3, 3, 3, 4, … 8, 8, 8; variance 42.5 / 9; t(5) =
        // 2.571.
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let calm = centre(&ten).unwrap();
        assert_eq!(calm.value, 5.5);
        assert!(
            (calm.half_width - 2.5706 * (42.5f64 / 9.0 / 10.0).sqrt() / 0.6).abs() < 1e-3,
            "{calm:?}"
        );
        let mut wild = ten;
        wild[9] = 1e6;
        assert_eq!(centre(&wild).unwrap(), calm, "an outlier moves neither");
    }

    #[test]
    fn one_number_has_no_end_and_none_no_centre() {
        assert_eq!(
            centre(&[7.0]).unwrap(),
            Centre {
                value: 7.0,
                half_width: f64::INFINITY
            }
        );
        assert_eq!(centre(&[]), None);
        assert_eq!(centre(&[1.0, f64::NAN]), None);
    }
}
