//! Statistics of timings: median, spread, confidence interval.

/// A median and the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// The median of some samples with the order-statistic interval that covers the true median with
/// at least 95 %, whatever the distribution: the k-th smallest and k-th largest sample, k the
/// largest with P(Binomial(n, ½) < k) ≤ 2.5 %. Fewer than six samples cannot do that; the
/// smallest and the largest are given then. `None` without samples.
///
/// Conover, "Practical Nonparametric Statistics", section 3.2.
pub fn median(samples: &[f64]) -> Option<Spread> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let last = n.checked_sub(1)?;
    let (mut below, mut term, mut k) = (0.0, 0.5f64.powi(n as i32), 0);
    while below + term <= 0.025 {
        below += term;
        term *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    let end = k.saturating_sub(1);
    let median = (sorted[last / 2] + sorted[n / 2]) / 2.0;
    Some(Spread { median, low: sorted[end], high: sorted[last - end] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // n, and the rank of the interval's lower end, from tables of the sign test at 95 %.
        for (n, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (100, 40)] {
            let samples: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let found = median(&samples).expect("there are samples");
            assert_eq!((found.low, found.high), (f64::from(rank), f64::from(n + 1 - rank)), "n = {n}");
            assert_eq!(found.median, f64::from(n + 1) / 2.0);
        }
    }

    #[test]
    fn few_samples_give_their_ends_and_none_nothing() {
        assert_eq!(median(&[3.0, 1.0]), Some(Spread { median: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(median(&[]), None);
    }
}
