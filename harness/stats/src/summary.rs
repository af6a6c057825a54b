//! The summary of a set of times: median, spread and the interval of the median.
//!
//! From six times on, the interval assumes nothing about how the times are distributed: the true
//! median lies between two order statistics with a probability that only the binomial distribution
//! decides (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., 3.2; G. J. Hahn and W. Q.
//! Meeker, Statistical Intervals, 5.2). With fewer times there is no such interval; then it is
//! Student's interval of their logarithms ([`centre`](mod@crate::centre)).

use crate::centre;

/// The summary of a set of times, in the unit of the times.
///
/// ```
/// use lab_stats::summary::summarise;
///
/// let summary = summarise(&[1.0, 2.0, 3.0, 4.0, 5000.0]).unwrap();
/// assert_eq!((summary.n, summary.median, summary.mad), (5, 3.0, 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimingSummary {
    /// The number of times.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// Median of the absolute deviations from the median.
    pub mad: f64,
    /// The ends of an interval that holds the true median with a probability of at least 95 %;
    /// `None` for a single time.
    pub interval: Option<(f64, f64)>,
}

/// Summarises times; `None` without one, or if one is not finite.
pub fn summarise(times: &[f64]) -> Option<TimingSummary> {
    if times.is_empty() || times.iter().any(|t| !t.is_finite()) {
        return None;
    }
    let sorted = sorted(times.iter().copied());
    let median = middle(&sorted);
    let mad = middle(&self::sorted(sorted.iter().map(|t| (t - median).abs())));
    let interval = match interval_rank(sorted.len()) {
        Some(k) => Some((sorted[k], sorted[sorted.len() - 1 - k])),
        None => interval_of_few(&sorted),
    };
    Some(TimingSummary {
        n: sorted.len(),
        median,
        mad,
        interval,
    })
}

/// Student's interval of the logarithms, for fewer than six times. It contains the median: the
/// median is never farther from the mean than one standard deviation, and Student's half width for
/// five or fewer is longer than that.
fn interval_of_few(times: &[f64]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = times.iter().map(|t| t.ln()).collect();
    let centre = centre::centre(&logs).filter(|c| c.half_width.is_finite())?;
    Some((centre.low().exp(), centre.high().exp()))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        f64::midpoint(sorted[half - 1], sorted[half])
    }
}

/// The largest `k` for which the k-th smallest and the k-th largest of `n` numbers (counted from 0)
/// enclose the median with at least 95 %. At most 2.5 % may lie on either side, so P[Bin(n, ½) ≤ k]
/// ≤ 0.025.
fn interval_rank(n: usize) -> Option<usize> {
    const SIDE: f64 = 0.025;
    // The logarithm ln C(n, k) − n ln 2, so that a large n does not underflow.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = None;
    for k in 0..n / 2 {
        below += term.exp();
        if below > SIDE {
            break;
        }
        rank = Some(k);
        term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_published_table() {
        // Conover, table A3 (binomial, p = ½): the smallest n with an interval is 6.
        let ranks: Vec<_> = [5, 6, 8, 9, 10, 15, 20, 30, 50, 100]
            .map(interval_rank)
            .to_vec();
        let expected = [
            None,
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(3),
            Some(5),
            Some(9),
            Some(17),
            Some(39),
        ];
        assert_eq!(ranks, expected);
    }

    #[test]
    fn an_outlier_moves_neither_median_nor_spread() {
        let calm = summarise(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let wild = summarise(&[1.0, 2.0, 3.0, 4.0, 5000.0]).unwrap();
        assert_eq!((calm.median, calm.mad), (3.0, 1.0));
        assert_eq!((wild.median, wild.mad), (3.0, 1.0));
        let (low, high) = calm.interval.unwrap();
        assert!(
            low < 1.5 && high > 5.0,
            "five that differ so much say little: {low} … {high}"
        );
        assert_eq!(summarise(&[3.0]).unwrap().interval, None);
    }

    #[test]
    fn a_value_that_is_not_finite_has_no_summary() {
        assert_eq!(summarise(&[]), None);
        assert_eq!(summarise(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn many_timings_do_not_underflow() {
        let rank = interval_rank(100_000).unwrap();
        // The normal approximation: n/2 − 1.96·√n/2.
        assert!(
            (rank as f64 - (50_000.0 - 1.96 * 316.23 / 2.0)).abs() < 3.0,
            "{rank}"
        );
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median(times in prop::collection::vec(1e-9f64..1e3, 1..200)) {
            let sum = summarise(&times).unwrap();
            prop_assert_eq!(sum.n, times.len());
            prop_assert_eq!(sum.interval.is_some(), times.len() >= 2);
            if let Some((low, high)) = sum.interval {
                // In logarithms and back again, the last digits may differ.
                let slack = 1e-9 * sum.median;
                prop_assert!(low <= sum.median + slack && sum.median - slack <= high);
            }
            prop_assert!(sum.mad >= 0.0);
        }

        #[test]
        fn order_does_not_matter(mut times in prop::collection::vec(1e-9f64..1e3, 1..50)) {
            let before = summarise(&times);
            times.reverse();
            prop_assert_eq!(before, summarise(&times));
        }

        #[test]
        fn scale_carries_over(times in prop::collection::vec(1e-3f64..1e3, 1..50)) {
            let sum = summarise(&times).unwrap();
            let double = summarise(&times.iter().map(|t| t * 2.0).collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(double.median, sum.median * 2.0);
            prop_assert_eq!(double.mad, sum.mad * 2.0);
        }
    }
}
