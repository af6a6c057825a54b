//! Statistics of timings: median, spread, confidence interval.
