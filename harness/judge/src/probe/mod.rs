//! What a device can do, measured once: the figures from which [`bounds`] follow.
//!
//! The kernels are in `probe.cu` and run like any other kernel, in a worker of their own. Each
//! figure is the best of several launches, because a disturbance makes a device slower and never
//! faster. The figures are stored in the cache folder, for one device, driver and version of
//! `probe.cu`. The figures of the emulated device only show that the probe works, and bound
//! nothing.

pub mod bounds;
mod cache;
mod measuring;

pub use cache::{load, store};
pub use measuring::measure;

use serde::{Deserialize, Serialize};

/// The source of the probe's kernels.
pub const SOURCE: &str = include_str!("probe.cu");

/// The probe's `lab_problem.h`.
pub const HEADER: &str = "\
#pragma once

// The shape of a launch, where it is not fixed.
struct LabDims {
    unsigned grid, block;
};
";

/// What a device does at best. Rates are per second, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFigures {
    /// Bytes per second of a copy that no cache can hold. Read and written bytes both count.
    pub copy: f64,
    /// Bytes per second read from the L2 cache.
    pub l2: f64,
    /// f32 operations per second; a multiply-add is two.
    pub fma: f64,
    /// f16 operations per second of the tensor cores with `mma.sync`; `None` without tensor cores.
    pub tensor: Option<f64>,
    /// Time from a load to its value, past the first-level cache.
    pub l2_round_trip: f64,
    /// Time between the events around a kernel that does nothing.
    pub launch: f64,
    /// Time to send 1,024 tagged floats from all multiprocessors to all of them.
    pub exchange: f64,
}

impl DeviceFigures {
    /// Returns whether every figure is positive and finite.
    fn are_sane(&self) -> bool {
        let all = [
            self.copy,
            self.l2,
            self.fma,
            self.l2_round_trip,
            self.launch,
            self.exchange,
        ];
        all.into_iter()
            .chain(self.tensor)
            .all(|figure| figure.is_finite() && figure > 0.0)
    }
}

#[cfg(test)]
mod tests;
