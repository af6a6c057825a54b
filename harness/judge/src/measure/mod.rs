//! Statistics of times: median, spread, confidence interval; and two kernels timed in turns
//! ([`abba`]). How often the verdict on speed is right is shown by the tests in `coverage`.

#[cfg(test)]
mod coverage;
pub mod discipline;

pub use lab_stats::summary::{TimingSummary, summarise};
pub use lab_stats::{abba, centre};

/// Returns the geometric mean of positive numbers; `None` without one.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values
        .into_iter()
        .fold((0u32, 0.0), |(n, sum), v| (n + 1, sum + v.ln()));
    (n > 0).then(|| (sum / f64::from(n)).exp())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_geometric_mean_weighs_ratios() {
        let mean = geometric_mean([1.0, 100.0]).unwrap();
        assert!((mean - 10.0).abs() < 1e-9);
        assert_eq!(geometric_mean([]), None);
    }
}
