//! Two kernels timed in turns: the ratio of their speeds, and its interval.
//!
//! An ABBA block is four turns: incumbent, candidate, candidate, incumbent. It holds two pairs of
//! neighbouring turns on the same inputs. The figure of a pair is the logarithm of the ratio of its
//! times. A disturbance that lasts longer than a pair (clocks, temperature) affects both times
//! alike. A drift that is linear in time enters the two pairs of a block with opposite signs: it
//! cancels in the centre and widens the interval a little.
//!
//! The interval covers what varies from turn to turn and from block to block. It cannot cover what
//! stays the same for a whole measurement and differs in the next: one kernel's process may have a
//! worse memory layout, for example. Whoever takes the turns has to exclude that: both kernels in one
//! process and on the same buffers, or several trials, each in a new process.

use crate::centre::{self, Centre};
use crate::speed::{self, Doubt, LEAST_BLOCKS, Speed};

/// The times of an ABBA block in seconds: `a` holds the incumbent's first and last turn, `b` the
/// candidate's two turns between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbbaBlock {
    /// The incumbent's first and last turn, in seconds.
    pub a: [f64; 2],
    /// The candidate's two turns between them, in seconds.
    pub b: [f64; 2],
}

impl AbbaBlock {
    /// Returns for each pair ln(incumbent's time / candidate's time), which is above 0 if the
    /// candidate is faster.
    pub fn log_ratios(&self) -> [f64; 2] {
        [
            self.a[0].ln() - self.b[0].ln(),
            self.a[1].ln() - self.b[1].ln(),
        ]
    }
}

/// How much wider the interval of a ratio is than Student's or Tukey's and McLaughlin's.
///
/// A measurement that stops as soon as its interval is narrow stops too early whenever the first
/// turns happen to agree, so the plain intervals hold the truth in only 87 to 91 of 100
/// measurements. With this factor they hold it in 95 and more, for every kind of noise that was
/// tried: `cargo test -p lab-judge --lib measure::coverage -- --nocapture` prints the figures.
const WIDENED: f64 = 1.25;

/// From this many blocks on the interval of the blocks counts with its own degrees of freedom. With
/// fewer it would be wide for its few degrees of freedom alone.
const MANY_BLOCKS: usize = 6;

/// From this many trials on the interval is that of their centres.
const ENOUGH_TRIALS: usize = 3;

/// How much wider the interval is if something disturbed the measurement.
const DISTURBED: f64 = 2.0;

/// Candidate's speed over incumbent's.
///
/// ```
/// use lab_stats::abba::{AbbaBlock, Ratio};
/// use lab_stats::speed::Speed;
///
/// // Three blocks in which the candidate takes half the incumbent's time.
/// let block = AbbaBlock { a: [2.0, 2.0], b: [1.0, 1.0] };
/// let ratio = Ratio::of_blocks(&[block; 3]).unwrap();
/// assert!((ratio.value() - 2.0).abs() < 1e-9);
/// assert_eq!(ratio.speed(0.005), Speed::Faster);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Centre and interval of the ratio's logarithm.
    pub log: Centre,
    /// Complete ABBA blocks.
    pub blocks: usize,
}

impl Ratio {
    /// Computes the ratio from the log ratios of the pairs, two a block, grouped by trial; `None`
    /// without a pair. With three or more trials, the interval is that of the trials' centres: what
    /// differs from process to process is not an error of a single pair (T. Kalibera and R. Jones,
    /// Rigorous Benchmarking in Reasonable Time, ISMM 2013).
    pub fn of(trials: &[Vec<f64>]) -> Option<Ratio> {
        Ratio::with(trials, centre::centre, true)
    }

    /// The ratio with an interval that the part `missed` of all measurements miss, for one of
    /// several ratios that are judged together ([`crate::several`]): 0.05 / 54 for one of 54.
    ///
    /// Far out in the tails every degree of freedom counts. So this interval has those of the
    /// blocks, also with few of them, and is wider than that of [`Ratio::of`] even for the same
    /// `missed`.
    pub fn of_one_among_several(trials: &[Vec<f64>], missed: f64) -> Option<Ratio> {
        Ratio::with(trials, |values| centre::centre_at(values, missed), false)
    }

    /// `at` gives the centre of numbers with the interval that is wanted. `is_alone` says that the
    /// ratio is not one of several.
    fn with(
        trials: &[Vec<f64>],
        at: impl Fn(&[f64]) -> Option<Centre>,
        is_alone: bool,
    ) -> Option<Ratio> {
        let centres = centres(trials);
        let log = if centres.len() >= ENOUGH_TRIALS {
            at(&centres)
        } else {
            of_pairs(&trials.concat(), at, is_alone)
        };
        let blocks = trials.iter().map(Vec::len).sum::<usize>() / 2;
        Some(Ratio { log: log?, blocks })
    }

    /// The ratio of blocks that were timed one after the other; `None` without one.
    pub fn of_blocks(blocks: &[AbbaBlock]) -> Option<Ratio> {
        Ratio::of(&[blocks.iter().flat_map(AbbaBlock::log_ratios).collect()])
    }

    /// The ratio itself; above 1 the candidate is faster.
    pub fn value(&self) -> f64 {
        self.log.value.exp()
    }

    /// The ends of the 95 % interval; `None` with fewer than [`LEAST_BLOCKS`] blocks, as two pairs
    /// that happen to agree would show an interval without width.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let is_known = self.blocks >= LEAST_BLOCKS && self.log.half_width.is_finite();
        is_known.then(|| (self.log.low().exp(), self.log.high().exp()))
    }

    /// The same ratio with an interval that is twice as wide, for a measurement that something
    /// disturbed: the GPU slowed itself down, its clock moved, another process used it.
    ///
    /// A disturbance that lasts affects both kernels, and one that comes and goes widens the
    /// interval by itself. The factor is a margin for those that do neither: a *faster* or *slower*
    /// has to be clear enough to survive it.
    #[must_use]
    pub fn disturbed(self) -> Ratio {
        let half_width = self.log.half_width * DISTURBED;
        Ratio {
            log: Centre {
                half_width,
                ..self.log
            },
            ..self
        }
    }

    /// The verdict by the [rule](crate::speed).
    pub fn speed(&self, same_within: f64) -> Speed {
        speed::decide(self.log, self.blocks, same_within).unwrap_or(Speed::Undecided)
    }

    /// Why the verdict is *undecided*; `None` for any other verdict.
    pub fn doubt(&self, same_within: f64) -> Option<Doubt> {
        speed::decide(self.log, self.blocks, same_within).err()
    }
}

/// The centre of each trial that has one.
fn centres(trials: &[Vec<f64>]) -> Vec<f64> {
    trials
        .iter()
        .filter_map(|trial| Some(centre::centre(trial)?.value))
        .collect()
}

/// The mean of each block's two pairs.
fn means(pairs: &[f64]) -> Vec<f64> {
    pairs
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&[a, b]| f64::midpoint(a, b))
        .collect()
}

/// The centre of the pairs' log ratios, with an interval that holds the truth in 95 of 100
/// measurements also if a pair resembles the other pair of its block, and if the measurement
/// stopped because the interval was narrow.
///
/// The interval of the pairs assumes that every pair tells something new. If the noise of a turn
/// resembles that of its neighbour, the two pairs of a block err together, and the interval is too
/// narrow. That of the blocks' means assumes less, so the wider one of the two counts.
fn of_pairs(
    pairs: &[f64],
    at: impl Fn(&[f64]) -> Option<Centre>,
    is_alone: bool,
) -> Option<Centre> {
    let of_pairs = at(pairs)?;
    let blocks = means(pairs);
    let of_blocks = at(&blocks).map_or(f64::INFINITY, |c| c.half_width);
    let of_blocks = match blocks.len() {
        _ if !is_alone => of_blocks,
        0 | 1 => 0.0,
        n if n < MANY_BLOCKS => {
            of_blocks * centre::quantile(pairs.len() - 1) / centre::quantile(n - 1)
        }
        _ => of_blocks,
    };
    Some(Centre {
        half_width: of_pairs.half_width.max(of_blocks) * WIDENED,
        ..of_pairs
    })
}

#[cfg(test)]
mod tests;
