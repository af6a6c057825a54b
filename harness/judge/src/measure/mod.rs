//! Statistics of times: median, spread, confidence interval; and two kernels timed in turns
//! ([`abba`]). How often the verdict on speed is right is shown by the tests in `coverage`.

#[cfg(test)]
mod coverage;
pub mod discipline;

pub use lab_stats::summary::{TimingSummary, summarise};
pub use lab_stats::{abba, centre};

/// Summary of the seconds of a workload in the turns that have timed it; NaN stands in the others.
pub fn of_workload(turns: &[Vec<f64>], at: usize) -> Option<TimingSummary> {
    let seconds = turns.iter().filter_map(|turn| turn.get(at).copied());
    let timed: Vec<f64> = seconds.filter(|seconds| !seconds.is_nan()).collect();
    summarise(&timed)
}
