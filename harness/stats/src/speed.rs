//! The rule that turns the ratio of two speeds into a verdict.
//!
//! The rule looks at the 95 % interval of the ratio's logarithm and at θ = ln(1 + `same_within`),
//! the difference that does not matter:
//!
//! | verdict | when |
//! |---|---|
//! | faster | the whole interval lies above θ |
//! | slower | the whole interval lies below −θ |
//! | same | the whole interval lies within ± [`SURELY_SAME`]·θ, or it contains 0 and lies within ± [`LIKELY_SAME`]·θ |
//! | undecided | anything else, and fewer than [`LEAST_BLOCKS`] blocks |
//!
//! *Same* is a claim of its own, shown by an interval that excludes any larger difference (an
//! equivalence test: D. J. Schuirmann, A Comparison of the Two One-Sided Tests Procedure and the
//! Power Approach, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). It is not what
//! remains if no difference was found: a wide interval shows nothing, and is *undecided*. With the
//! usual θ of 0.5 %, *same* excludes differences of 1.5 % and more.
//!
//! An interval whose half width is at most θ/2 is always decided: if it is not wholly beyond θ, it
//! ends before 2θ. A measurement on save goes on until then (`narrow` is half of `same_within`
//! unless lab.toml says otherwise).

use crate::centre::Centre;
use std::fmt;

/// Fewer ABBA blocks than this give no verdict.
pub const LEAST_BLOCKS: usize = 3;

/// An interval within this many θ on either side is *same*, wherever it lies.
pub const SURELY_SAME: f64 = 2.0;

/// An interval that contains 1 is *same* within this many θ on either side.
pub const LIKELY_SAME: f64 = 3.0;

/// The verdict on speed.
///
/// See the [rule](self).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::EnumString,
    strum::IntoStaticStr,
    schemars::JsonSchema,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Speed {
    /// The whole interval lies above the threshold.
    Faster,
    /// The whole interval lies below the threshold.
    Slower,
    /// The interval excludes a difference that matters.
    Same,
    /// The measurement shows none of the three.
    Undecided,
    /// One of several workloads is slower, and the whole or another workload is not.
    ///
    /// See [`Speed::of_whole`]. The rule gives this verdict to no single ratio.
    Mixed,
}

impl Speed {
    /// The verdict on a whole of several workloads: `aggregate` is the verdict on their aggregate,
    /// `each` those on the workloads.
    ///
    /// A slower workload makes the whole *mixed*, unless the aggregate is *slower* too and no
    /// workload is *faster*: that kernel is plainly slower.
    ///
    /// ```
    /// use lab_stats::speed::Speed::{self, *};
    ///
    /// assert_eq!(Speed::of_whole(Faster, &[Faster, Same]), Faster);
    /// assert_eq!(Speed::of_whole(Faster, &[Faster, Slower]), Mixed);
    /// assert_eq!(Speed::of_whole(Slower, &[Same, Slower]), Slower);
    /// assert_eq!(Speed::of_whole(Slower, &[Faster, Slower]), Mixed);
    /// ```
    pub fn of_whole(aggregate: Speed, each: &[Speed]) -> Speed {
        let any = |wanted: Speed| each.contains(&wanted);
        match aggregate {
            _ if !any(Speed::Slower) => aggregate,
            Speed::Slower if !any(Speed::Faster) => Speed::Slower,
            _ => Speed::Mixed,
        }
    }

    /// Whether a ratio's interval denies the verdict, whatever threshold somebody else has:
    /// *faster* is denied unless the whole interval is above 1, *slower* unless it is below, and
    /// *same* if it lies beyond [`SURELY_SAME`] times `same_within` (0.005 for 0.5 %).
    ///
    /// ```
    /// use lab_stats::speed::Speed::{self, *};
    ///
    /// assert!(Faster.is_denied_by(0.4, 0.6, 0.005));
    /// assert!(!Faster.is_denied_by(1.002, 1.004, 0.005));
    /// assert!(Same.is_denied_by(1.4, 1.6, 0.005));
    /// ```
    pub fn is_denied_by(self, low: f64, high: f64, same_within: f64) -> bool {
        let most = SURELY_SAME * same_within;
        match self {
            Speed::Faster => low <= 1.0,
            Speed::Slower => high >= 1.0,
            Speed::Same => low > 1.0 + most || high < 1.0 - most,
            Speed::Undecided | Speed::Mixed => false,
        }
    }

    /// The word in the line `speed:`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Why a verdict on speed is *undecided*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// There are only so many ABBA blocks.
    FewBlocks(usize),
    /// The interval reaches from `low` to `high`, as ratios.
    Wide {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

/// `only 2 ABBA blocks, and a verdict needs 3`; `the interval -1.82 … +0.61 % is too wide`.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Doubt::FewBlocks(0) => write!(
                f,
                "no complete ABBA block, and a verdict needs {LEAST_BLOCKS}"
            ),
            Doubt::FewBlocks(1) => {
                write!(f, "only 1 ABBA block, and a verdict needs {LEAST_BLOCKS}")
            }
            Doubt::FewBlocks(n) => write!(
                f,
                "only {n} ABBA blocks, and a verdict needs {LEAST_BLOCKS}"
            ),
            Doubt::Wide { low, high } => {
                let percent = |ratio: f64| (ratio - 1.0) * 100.0;
                let (low, high) = (percent(low), percent(high));
                write!(f, "the interval {low:+.2} … {high:+.2} % is too wide")
            }
        }
    }
}

/// Applies the [rule](self). `log` is the centre of the logarithm of the ratio (candidate's speed
/// over incumbent's), `blocks` the number of complete ABBA blocks, and `same_within` a fraction:
/// 0.005 for 0.5 %.
///
/// ```
/// use lab_stats::centre::Centre;
/// use lab_stats::speed::{Doubt, Speed, decide};
///
/// let log = |value, half_width| Centre { value, half_width };
/// assert_eq!(decide(log(0.020, 0.010), 5, 0.005), Ok(Speed::Faster));
/// assert_eq!(decide(log(-0.020, 0.010), 5, 0.005), Ok(Speed::Slower));
/// assert_eq!(decide(log(0.003, 0.010), 5, 0.005), Ok(Speed::Same));
/// assert!(matches!(decide(log(0.020, 0.018), 5, 0.005), Err(Doubt::Wide { .. })));
/// assert_eq!(decide(log(0.020, 0.010), 2, 0.005), Err(Doubt::FewBlocks(2)));
/// ```
pub fn decide(log: Centre, blocks: usize, same_within: f64) -> Result<Speed, Doubt> {
    if blocks < LEAST_BLOCKS || !log.half_width.is_finite() {
        return Err(Doubt::FewBlocks(blocks.min(LEAST_BLOCKS - 1)));
    }
    let theta = same_within.ln_1p();
    let (low, high) = (log.low(), log.high());
    let within = |thetas: f64| low >= -thetas * theta && high <= thetas * theta;
    let contains_none = low <= 0.0 && high >= 0.0;
    if low > theta {
        Ok(Speed::Faster)
    } else if high < -theta {
        Ok(Speed::Slower)
    } else if within(SURELY_SAME) || (contains_none && within(LIKELY_SAME)) {
        Ok(Speed::Same)
    } else {
        Err(Doubt::Wide {
            low: low.exp(),
            high: high.exp(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const WITHIN: f64 = 0.005;

    /// The verdict on an interval in percent, of five blocks.
    fn on(low: f64, high: f64) -> Speed {
        let (low, high) = ((low / 100.0).ln_1p(), (high / 100.0).ln_1p());
        let log = Centre {
            value: f64::midpoint(low, high),
            half_width: (high - low) / 2.0,
        };
        decide(log, 5, WITHIN).unwrap_or(Speed::Undecided)
    }

    #[test]
    fn the_interval_decides() {
        let cases = [
            (0.6, 3.0, Speed::Faster),
            (-3.0, -0.6, Speed::Slower),
            // Whether it is half a percent or none is not known; that it is less than one percent
            // is.
            (0.1, 0.9, Speed::Same),
            (-0.9, -0.4, Speed::Same),
            (-0.4, 0.4, Speed::Same),
            (-1.4, 1.4, Speed::Same),
            // It may be half a percent or more, and it may be none.
            (0.1, 1.4, Speed::Undecided),
            (-1.4, -0.2, Speed::Undecided),
            (-1.6, 1.0, Speed::Undecided),
            (-10.5, 12.2, Speed::Undecided),
            (0.4, 9.0, Speed::Undecided),
        ];
        for (low, high, wanted) in cases {
            assert_eq!(on(low, high), wanted, "{low} … {high}");
        }
    }

    #[test]
    fn without_blocks_or_an_interval_nothing_is_decided() {
        let narrow = Centre {
            value: 0.1,
            half_width: 1e-6,
        };
        assert_eq!(decide(narrow, 2, WITHIN), Err(Doubt::FewBlocks(2)));
        assert_eq!(decide(narrow, 3, WITHIN), Ok(Speed::Faster));
        let none = Centre {
            value: 0.1,
            half_width: f64::INFINITY,
        };
        assert!(decide(none, 3, WITHIN).is_err());
        assert!(
            decide(
                Centre {
                    value: 0.1,
                    half_width: f64::NAN
                },
                9,
                WITHIN
            )
            .is_err()
        );
    }

    #[test]
    fn a_doubt_says_what_is_missing() {
        let words = |log, blocks| decide(log, blocks, WITHIN).unwrap_err().to_string();
        let wide = Centre {
            value: -0.006,
            half_width: 0.0121,
        };
        assert_eq!(words(wide, 2), "only 2 ABBA blocks, and a verdict needs 3");
        assert_eq!(words(wide, 4), "the interval -1.79 … +0.61 % is too wide");
    }

    #[test]
    fn every_verdict_has_a_word_of_its_own() {
        use Speed::{Faster, Mixed, Same, Slower, Undecided};
        for speed in [Faster, Slower, Same, Undecided, Mixed] {
            assert_eq!(speed.word().parse(), Ok(speed));
        }
        assert!("none".parse::<Speed>().is_err());
    }

    proptest! {
        /// An interval that is as narrow as a save asks for is always decided.
        #[test]
        fn a_narrow_interval_is_decided(value in -0.1f64..0.1, half_width in 0.0f64..=0.0024) {
            let log = Centre { value, half_width };
            prop_assert!(decide(log, 3, WITHIN).is_ok());
        }

        /// A wider interval never turns one verdict into another one: it is the same verdict, or
        /// undecided, or *same* if the narrow one was below twice the threshold.
        #[test]
        fn a_wider_interval_never_turns_the_direction(
            value in -0.1f64..0.1, half_width in 0.0f64..0.05, more in 0.0f64..0.05,
        ) {
            let narrow = decide(Centre { value, half_width }, 5, WITHIN);
            let wide = decide(Centre { value, half_width: half_width + more }, 5, WITHIN);
            match wide {
                Ok(Speed::Faster | Speed::Slower) => prop_assert_eq!(narrow, wide),
                Ok(Speed::Same) => prop_assert!(narrow.is_ok() && value.abs() <= SURELY_SAME * WITHIN),
                _ => {}
            }
        }

        /// Swapping the two kernels swaps the verdict.
        #[test]
        fn the_rule_favours_no_kernel(value in -0.1f64..0.1, half_width in 0.0f64..0.05) {
            let swapped = match decide(Centre { value: -value, half_width }, 5, WITHIN) {
                Ok(Speed::Faster) => Some(Speed::Slower),
                Ok(Speed::Slower) => Some(Speed::Faster),
                other => other.ok(),
            };
            prop_assert_eq!(decide(Centre { value, half_width }, 5, WITHIN).ok(), swapped);
        }
    }
}
