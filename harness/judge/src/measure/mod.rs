//! Statistics of times: median, spread, confidence interval; and two kernels timed in turns
//! ([`abba`]). How often the verdict on speed is right is shown by the tests in `coverage`.

#[cfg(test)]
mod coverage;
pub mod discipline;

pub use lab_stats::summary::{TimingSummary, summarise};
pub use lab_stats::{abba, centre};
