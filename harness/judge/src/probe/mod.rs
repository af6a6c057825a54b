//! What a device can do, measured once: the figures that [`bounds`] are made of.
//!
//! The kernels are in `probe.cu` and run like any other, in a worker of their own. Each figure is the best of several
//! launches: a disturbance makes a device look slower, never faster. The figures are kept in the cache folder, for one
//! device, driver and `probe.cu`. Those of the emulated device show that the probe works, and bound nothing.

pub mod bounds;
mod cache;
mod measuring;

pub use cache::{load, store};
pub use measuring::measure;

use serde::{Deserialize, Serialize};

/// The kernels' source.
pub const SOURCE: &str = include_str!("probe.cu");

/// Their `lab_problem.h`.
pub const HEADER: &str = "\
#pragma once

// The shape of a launch, where it is not fixed.
struct LabDims {
    unsigned grid, block;
};
";

/// What a device does at best. Rates a second, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFigures {
    /// Bytes read and written by a copy that no cache holds, each counted.
    pub copy: f64,
    /// Bytes read from the L2 cache.
    pub l2: f64,
    /// f32 operations; a multiply-add is two.
    pub fma: f64,
    /// f16 operations of the tensor cores by `mma.sync`, where they have it.
    pub tensor: Option<f64>,
    /// From a load to its value, past the first-level cache.
    pub l2_round_trip: f64,
    /// Between the events around a kernel that does nothing.
    pub launch: f64,
    /// 1,024 tagged floats from all multiprocessors to all of them.
    pub exchange: f64,
}

impl DeviceFigures {
    /// Whether each is a number that a device can have.
    fn are_sane(&self) -> bool {
        let all = [self.copy, self.l2, self.fma, self.l2_round_trip, self.launch, self.exchange];
        all.into_iter().chain(self.tensor).all(|figure| figure.is_finite() && figure > 0.0)
    }
}

#[cfg(test)]
mod tests;
