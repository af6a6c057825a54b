//! The least time that a launch can take, and the time that it could take, from a device's
//! [`DeviceFigures`].
//!
//! The *floor* is a hard bound: a time below it is an error of the measurement (work left out, a
//! clock that is wrong), never a fast kernel. So each rate in it is above the best one measured, by
//! a margin that is explained at its constant, and it counts only what no kernel can avoid. A floor
//! that follows from arithmetic refuses such a time, and is told to nobody: its margin is too wide to
//! say how far a kernel has come. The
//! *estimate* is what a good implementation of the stated algorithm takes: the roofline of memory
//! and arithmetic (S. Williams, A. Waterman, D. Patterson: Roofline, CACM 52(4), 2009), plus the
//! launch, plus the exchanges that must follow one another. It is not a bound: an algorithm with
//! fewer exchanges can be faster.

use super::DeviceFigures;
use crate::outcome::{Result, Stop};
use lab_protocol::report::Writer;
use lab_stats::aggregate::{Aggregate, Better};
use serde::Deserialize;
use std::io;

/// A copy reaches 80 to 92 % of the specified memory bandwidth, so no kernel reads 1.25 times as
/// fast.
const MEMORY_MARGIN: f64 = 1.25;

/// The reads of the probe come near the bandwidth of the L2 cache; writes and other access patterns
/// can gain a little.
const L2_MARGIN: f64 = 1.5;

/// `mma.sync` reaches 0.6 of Hopper's `wgmma`, and f8 runs at twice the rate of f16: a factor of
/// 3.3 together.
const TENSOR_MARGIN: f64 = 4.0;

/// The slice of the cache that is nearest to a multiprocessor answers sooner than the average over
/// all slices.
const NEAREST_SLICE: f64 = 0.5;

/// Whether the inputs of a launch may be in the L2 cache when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// Other data was in the cache before.
    Cold,
    /// The launch before may have left them there.
    #[default]
    Warm,
}

/// What a floor from [`TENSOR_MARGIN`] follows from.
const ARITHMETIC: &str = "its arithmetic is done no faster";

/// What one launch must do. Bytes, and operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Which launch this is, if there are several.
    pub label: String,
    /// Bytes that must be read.
    pub reads: f64,
    /// Bytes that must be written.
    pub writes: f64,
    /// Operations that must be computed; a multiply-add is two.
    pub flops: f64,
    /// What is in the L2 cache when the launch begins.
    pub cache: CacheState,
    /// Steps that follow one another, each of which needs what another multiprocessor computed in
    /// the step before: at least one trip to the L2 cache and back.
    pub steps: f64,
    /// Dependent exchanges between all multiprocessors in one step of the stated algorithm.
    pub exchanges: f64,
}

/// A launch's bounds, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeBounds {
    /// No launch takes less.
    pub floor: f64,
    /// What the floor follows from, as the end of a sentence.
    pub because: &'static str,
    /// What a good implementation takes.
    pub estimate: f64,
}

impl DeviceFigures {
    /// The bounds of a launch on a device with an L2 cache of `l2_bytes` bytes.
    pub fn bounds(&self, demand: &Demand, l2_bytes: u64) -> TimeBounds {
        let fastest = self.tensor.unwrap_or(self.fma).max(self.fma);
        let floors = [
            (
                self.memory_floor(demand, l2_bytes as f64),
                "its bytes come from memory no faster",
            ),
            (
                (demand.reads + demand.writes) / (self.l2 * L2_MARGIN),
                "its bytes come through the L2 cache no faster",
            ),
            (demand.flops / (fastest * TENSOR_MARGIN), ARITHMETIC),
            (
                demand.steps * self.l2_round_trip * NEAREST_SLICE,
                "every step takes at least one trip to the L2 cache",
            ),
        ];
        let (floor, because) = floors
            .into_iter()
            .fold((0.0, ""), |a, b| if b.0 > a.0 { b } else { a });
        let bytes = demand.reads + demand.writes;
        let fits = demand.cache == CacheState::Warm && bytes <= l2_bytes as f64 / 2.0;
        let moving = bytes / if fits { self.l2 } else { self.copy };
        let exchanging = demand.steps * demand.exchanges * self.exchange;
        let estimate = self.launch + moving.max(demand.flops / fastest) + exchanging;
        TimeBounds {
            floor,
            because,
            estimate,
        }
    }

    /// The floor from what passes between chip and memory. Writes up to the size of the L2 cache
    /// may still be in it when the launch ends. If the cache is warm, as many bytes of the reads
    /// may be in it at the beginning.
    fn memory_floor(&self, demand: &Demand, l2_bytes: f64) -> f64 {
        let kept = if demand.cache == CacheState::Warm {
            l2_bytes
        } else {
            0.0
        };
        let moved = (demand.reads - kept).max(0.0) + (demand.writes - l2_bytes).max(0.0);
        moved / (self.copy * MEMORY_MARGIN)
    }
}

/// Compares each launch's time with its floor. Returns [`Stop::Wrong`] and writes `first_failure:`
/// if a time is below it. Otherwise writes `floor_us:`, `estimate_us:` and `of_estimate:`, which are
/// aggregates over the launches, like the measures; no `floor_us:` if a launch has none to tell.
/// `seconds` has a time for each demand.
pub fn judge(
    figures: &DeviceFigures,
    l2_bytes: u64,
    demands: &[Demand],
    seconds: &[f64],
    aggregate: Aggregate,
    out: &mut Writer,
) -> Result {
    let bounds: Vec<TimeBounds> = demands
        .iter()
        .map(|demand| figures.bounds(demand, l2_bytes))
        .collect();
    for ((demand, bounds), seconds) in demands.iter().zip(&bounds).zip(seconds) {
        if let Some(text) = bounds.refusal(*seconds, demand.steps.max(1.0)) {
            let label = if demand.label.is_empty() {
                String::new()
            } else {
                format!("{}: ", demand.label)
            };
            out.line("first_failure", format_args!("{label}{text}"))?;
            return Err(Stop::Wrong);
        }
    }
    let mean = |value: &dyn Fn(&TimeBounds) -> f64| {
        let each = bounds
            .iter()
            .zip(demands)
            .map(|(bounds, demand)| value(bounds) / demand.steps.max(1.0));
        aggregate.of(each, Better::Smaller)
    };
    let times = seconds
        .iter()
        .zip(demands)
        .map(|(seconds, d)| seconds / d.steps.max(1.0));
    let measured = aggregate.of(times, Better::Smaller);
    if let (Some(floor), Some(estimate), Some(measured)) =
        (mean(&|b| b.floor), mean(&|b| b.estimate), measured)
    {
        let exchanges = demands
            .iter()
            .map(|demand| demand.exchanges)
            .fold(0.0, f64::max);
        let is_told = bounds.iter().all(|bounds| bounds.told_floor().is_some());
        let floor = is_told.then_some(floor);
        write(out, floor, estimate, exchanges, measured)?;
    }
    Ok(())
}

impl TimeBounds {
    /// The floor, unless it follows from `TENSOR_MARGIN`.
    pub fn told_floor(&self) -> Option<f64> {
        (self.because != ARITHMETIC).then_some(self.floor)
    }

    /// Why this time of a launch cannot be; `None` if the device can reach it. Times are shown for
    /// one of `parts` parts of the launch, as for one of its steps.
    fn refusal(&self, seconds: f64, parts: f64) -> Option<String> {
        let us = |seconds: f64| figure(seconds / parts * 1e6);
        (seconds < self.floor).then(|| {
            format!(
                "{} µs is below the floor of {} µs, which this device cannot reach: {}",
                us(seconds),
                us(self.floor),
                self.because
            )
        })
    }
}

/// Writes the lines; times in seconds. `exchanges` are those of a step, if the estimate counts any.
fn write(
    out: &mut Writer,
    floor: Option<f64>,
    estimate: f64,
    exchanges: f64,
    measured: f64,
) -> io::Result<()> {
    if let Some(floor) = floor {
        out.line("floor_us", figure(floor * 1e6))?;
    }
    let counted = if exchanges > 0.0 {
        format!(" exchanges={exchanges}")
    } else {
        String::new()
    };
    out.line(
        "estimate_us",
        format!("{}{counted}", figure(estimate * 1e6)),
    )?;
    out.line(
        "of_estimate",
        format_args!("{:.0}", estimate / measured * 100.0),
    )
}

/// A number with four significant digits.
fn figure(value: f64) -> String {
    let digits = if value > 0.0 {
        (3 - value.log10().floor() as i32).clamp(0, 9)
    } else {
        1
    };
    format!("{value:.0$}", digits as usize)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::outcome::unless_wrong;
    use proptest::prelude::*;

    /// About the figures of an H200.
    const H200: DeviceFigures = DeviceFigures {
        copy: 4.1e12,
        l2: 5.8e12,
        fma: 6.0e13,
        tensor: Some(6.2e14),
        l2_round_trip: 1.5e-7,
        launch: 2.2e-6,
        exchange: 1.2e-6,
    };
    const L2: u64 = 50 << 20;

    #[test]
    fn a_large_cold_copy_is_bound_by_memory() {
        let demand = Demand {
            reads: 64e6,
            writes: 64e6,
            cache: CacheState::Cold,
            ..Demand::default()
        };
        let bounds = H200.bounds(&demand, L2);
        // The reads, and the writes that do not fit in the cache: at 4.8 TB/s they take 15.7 µs.
        assert!(
            bounds.floor < (64e6 + 64e6 - 52.4e6) / 4.8e12 && bounds.floor > 12e-6,
            "{bounds:?}"
        );
        assert!((bounds.estimate - (2.2e-6 + 128e6 / 4.1e12)).abs() < 1e-9);
        assert_eq!(bounds.refusal(33e-6, 1.0), None);
        let text = bounds.refusal(9e-6, 1.0).unwrap();
        assert!(
            text.starts_with("9.000 µs is below the floor of "),
            "{text}"
        );
        assert!(
            text.ends_with("cannot reach: its bytes come from memory no faster"),
            "{text}"
        );
    }

    #[test]
    fn bytes_that_a_cache_may_hold_do_not_count_against_the_memory() {
        let demand = Demand {
            reads: 8e6,
            writes: 8e6,
            ..Demand::default()
        };
        let warm = H200.bounds(&demand, L2);
        let cold = H200.bounds(
            &Demand {
                cache: CacheState::Cold,
                ..demand.clone()
            },
            L2,
        );
        assert_eq!(
            warm.because,
            "its bytes come through the L2 cache no faster"
        );
        assert!(warm.floor <= cold.floor);
        assert!(warm.estimate < cold.estimate);
    }

    #[test]
    fn a_launch_of_steps_is_bound_by_trips_to_the_cache() {
        let demand = Demand {
            reads: 30e6,
            flops: 4096.0 * 31e6,
            steps: 4096.0,
            exchanges: 4.0,
            ..Demand::default()
        };
        let bounds = H200.bounds(&demand, L2);
        let step = bounds.floor / 4096.0;
        assert!((step - 0.075e-6).abs() < 1e-9, "{step}");
        let estimate = bounds.estimate / 4096.0;
        assert!((4.8e-6..5.1e-6).contains(&estimate), "{estimate}");
        // The fastest kernel that is known, and one that computes nothing.
        assert_eq!(bounds.refusal(2.73e-6 * 4096.0, 4096.0), None);
        let text = bounds.refusal(0.05e-6 * 4096.0, 4096.0).unwrap();
        assert!(
            text.starts_with("0.05000 µs is below the floor of 0.07500 µs"),
            "{text}"
        );
    }

    proptest! {
        /// A time that follows from the measured rates is never refused.
        #[test]
        fn a_time_from_the_measured_rates_is_above_the_floor(
            reads in 0f64..1e9, writes in 0f64..1e9, flops in 0f64..1e12, steps in 0f64..5000.0, cold in any::<bool>(),
        ) {
            let cache = if cold { CacheState::Cold } else { CacheState::Warm };
            let demand = Demand { label: String::new(), reads, writes, flops, steps, cache, exchanges: 1.0 };
            let bounds = H200.bounds(&demand, L2);
            let through_l2 = (reads + writes) / H200.l2;
            let honest = through_l2.max(flops / 6.2e14).max(steps * 1.5e-7);
            let honest = if cold { honest.max((reads + (writes - 52.4e6).max(0.0)) / 4.8e12) } else { honest };
            // The cache can hold this many bytes of the reads, and as many of the writes.
            let through_memory = (reads - 52.5e6).max(0.0) + (writes - 52.5e6).max(0.0);
            let honest = honest.max(through_memory / 4.8e12);
            prop_assert!(bounds.refusal(honest, 1.0).is_none(), "{bounds:?} {honest}");
            prop_assert!(bounds.floor >= 0.0 && bounds.estimate > 0.0);
        }
    }

    fn judged(demands: &[Demand], seconds: &[f64]) -> (bool, String) {
        let (reader, writer) = io::pipe().unwrap();
        let mut out = Writer::new(writer);
        let verdict = judge(&H200, L2, demands, seconds, Aggregate::Geometric, &mut out);
        let passes = unless_wrong(verdict).unwrap().is_some();
        drop(out);
        (passes, io::read_to_string(reader).unwrap())
    }

    #[test]
    fn the_lines_say_how_near_it_came() {
        let demand = Demand {
            steps: 4096.0,
            exchanges: 4.0,
            ..Demand::default()
        };
        let (passes, text) = judged(std::slice::from_ref(&demand), &[6.06e-6 * 4096.0]);
        assert!(passes);
        assert_eq!(
            text,
            "floor_us: 0.07500\nestimate_us: 4.801 exchanges=4\nof_estimate: 79\n"
        );
    }

    #[test]
    fn a_floor_from_arithmetic_refuses_and_is_not_told() {
        let matmul = |n: f64| Demand {
            reads: 4.0 * n * n,
            writes: 2.0 * n * n,
            flops: 2.0 * n * n * n,
            ..Demand::default()
        };
        let both = [matmul(64.0), matmul(8192.0)];
        let (passes, text) = judged(&both, &[3e-6, 1.5e-3]);
        assert!(passes && text.starts_with("estimate_us: "), "{text}");
        let (passes, text) = judged(&both[..1], &[3e-6]);
        assert!(passes && text.starts_with("floor_us: "), "{text}");
        let (passes, text) = judged(&both, &[3e-6, 0.3e-3]);
        assert!(!passes, "{text}");
        let below = "cannot reach: its arithmetic is done no faster\n";
        assert!(text.ends_with(below), "{text}");
    }

    #[test]
    fn a_time_below_the_floor_fails_and_names_its_launch() {
        let small = Demand {
            label: "n=1".into(),
            reads: 4.0,
            writes: 4.0,
            ..Demand::default()
        };
        let large = Demand {
            label: "n=1000000".into(),
            reads: 4e9,
            writes: 4e9,
            ..Demand::default()
        };
        let (passes, text) = judged(&[small.clone(), large.clone()], &[2e-6, 2e-6]);
        assert!(!passes);
        assert!(
            text.starts_with("first_failure: n=1000000: 2.000 µs is below the floor of 15"),
            "{text}"
        );
        assert!(!text.contains("of_estimate"), "{text}");
        let (passes, text) = judged(&[small, large], &[2e-6, 2.2e-3]);
        assert!(passes && text.contains("estimate_us: "), "{text}");
    }
}
