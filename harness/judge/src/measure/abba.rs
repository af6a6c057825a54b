//! Two kernels timed in turns: the ratio of their speeds, its interval, and the verdict.
//!
//! An ABBA block is four turns: incumbent, candidate, candidate, incumbent. It holds two pairs of neighbours on
//! the same inputs, and a pair's figure is the logarithm of the ratio of its times: whatever lasts longer than a pair
//! (clocks, temperature) is in both. A drift that is linear in time is in the two pairs of a block with opposite
//! signs, and so widens the interval a little and cancels in the centre.

use super::centre::{self, Centre};
use lab_protocol::report::Speed;

/// The times of four turns, in their order: of the incumbent the first and the last, of the candidate
/// the two between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbbaBlock {
    pub a: [f64; 2],
    pub b: [f64; 2],
}

impl AbbaBlock {
    /// Of each pair ln of (incumbent's time / candidate's time): above 0 where the candidate is faster.
    pub fn log_ratios(&self) -> [f64; 2] {
        [self.a[0].ln() - self.b[0].ln(), self.a[1].ln() - self.b[1].ln()]
    }
}

/// Candidate's speed over incumbent's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Of its logarithm.
    pub log: Centre,
    pub blocks: usize,
}

impl Ratio {
    /// Of the pairs' figures, those of each trial apart. Where there are trials enough, the interval is
    /// of the trials' centres: what differs from process to process is no error of a single pair (T.
    /// Kalibera and R. Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013). `None` of no pair.
    pub fn of(trials: &[Vec<f64>]) -> Option<Ratio> {
        const ENOUGH: usize = 3;
        let blocks = trials.iter().map(Vec::len).sum::<usize>() / 2;
        let centres: Vec<f64> = trials.iter().filter_map(|t| Some(centre::centre(t)?.value)).collect();
        let log =
            if centres.len() >= ENOUGH { centre::centre(&centres) } else { centre::centre(&trials.concat()) };
        Some(Ratio { log: log?, blocks })
    }

    pub fn value(&self) -> f64 {
        self.log.value.exp()
    }

    /// The ends of its 95 % interval; `None` of a single pair.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.log.half_width.is_finite().then(|| (self.log.low().exp(), self.log.high().exp()))
    }

    /// `None` without an interval.
    pub fn speed(&self, same_within: f64) -> Option<Speed> {
        let (low, high) = self.interval()?;
        Some(if low > 1.0 + same_within {
            Speed::Faster
        } else if high < 1.0 - same_within {
            Speed::Slower
        } else {
            Speed::Same
        })
    }
}

#[cfg(test)]
mod tests;
