//! Two kernels timed in turns: the ratio of their speeds, its interval, and the verdict.
//!
//! An ABBA block is four turns: incumbent, candidate, candidate, incumbent. It holds two pairs of neighbouring turns
//! on the same inputs. The figure of a pair is the logarithm of the ratio of its times. A disturbance that lasts
//! longer than a pair (clocks, temperature) affects both times alike. A drift that is linear in time enters the two
//! pairs of a block with opposite signs: it cancels in the centre and widens the interval a little.

use super::centre::{self, Centre};
use lab_protocol::report::Speed;

/// The times of an ABBA block in seconds: `a` holds the incumbent's first and last turn, `b` the candidate's two
/// turns between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbbaBlock {
    /// The incumbent's first and last turn, in seconds.
    pub a: [f64; 2],
    /// The candidate's two turns between them, in seconds.
    pub b: [f64; 2],
}

impl AbbaBlock {
    /// Returns for each pair ln(incumbent's time / candidate's time), which is above 0 if the candidate is faster.
    pub fn log_ratios(&self) -> [f64; 2] {
        [self.a[0].ln() - self.b[0].ln(), self.a[1].ln() - self.b[1].ln()]
    }
}

/// Candidate's speed over incumbent's.
///
/// ```
/// use lab_judge::measure::abba::{AbbaBlock, Ratio};
/// use lab_protocol::report::Speed;
///
/// // Three blocks in which the candidate takes half the incumbent's time.
/// let block = AbbaBlock { a: [2.0, 2.0], b: [1.0, 1.0] };
/// let pairs = [block; 3].map(|block| block.log_ratios()).concat();
/// let ratio = Ratio::of(&[pairs]).unwrap();
/// assert!((ratio.value() - 2.0).abs() < 1e-9);
/// assert_eq!(ratio.speed(0.005), Some(Speed::Faster));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Centre and interval of the ratio's logarithm.
    pub log: Centre,
    /// Complete ABBA blocks.
    pub blocks: usize,
}

impl Ratio {
    /// Computes the ratio from the log ratios of the pairs, grouped by trial; `None` without a pair. With three or
    /// more trials, the interval is that of the trials' centres: what differs from process to process is not an error
    /// of a single pair (T. Kalibera and R. Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013).
    pub fn of(trials: &[Vec<f64>]) -> Option<Ratio> {
        const ENOUGH: usize = 3;
        let blocks = trials.iter().map(Vec::len).sum::<usize>() / 2;
        let centres: Vec<f64> = trials.iter().filter_map(|t| Some(centre::centre(t)?.value)).collect();
        let log =
            if centres.len() >= ENOUGH { centre::centre(&centres) } else { centre::centre(&trials.concat()) };
        Some(Ratio { log: log?, blocks })
    }

    /// The ratio itself; above 1 the candidate is faster.
    pub fn value(&self) -> f64 {
        self.log.value.exp()
    }

    /// The ends of the 95 % interval; `None` with a single pair.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.log.half_width.is_finite().then(|| (self.log.low().exp(), self.log.high().exp()))
    }

    /// The verdict: not *same* if the whole interval lies beyond 1 ± `same_within`. `None` without an interval.
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
