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

use statrs::distribution::{ContinuousCDF, StudentsT};
use std::cell::RefCell;
use std::collections::HashMap;

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
    let t = StudentsT::new(0.0, 1.0, degrees as f64).ok()?;
    QUANTILES.with_borrow_mut(|kept| {
        if kept.len() >= KEPT {
            kept.clear();
        }
        Some(
            *kept
                .entry((degrees, missed.to_bits()))
                .or_insert_with(|| t.inverse_cdf(1.0 - missed / 2.0)),
        )
    })
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
