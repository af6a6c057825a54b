//! How many differences are how large, with one bin for each octave.

use super::{attribute, first_word, number};
use itertools::Itertools;
use std::fmt;

/// Counts of differences by size. Bin `i` counts the differences of at least `2^(-40 + i)` and less
/// than twice that, for `i` from 0 to 63. The first and the last bin also count what lies beyond
/// them.
///
/// ```
/// use lab_protocol::report::Histogram;
///
/// let mut histogram = Histogram::default();
/// for difference in [0.0, 0.25, 0.3, 0.5, f64::NAN] {
///     histogram.add(difference);
/// }
/// assert_eq!(histogram.to_string(), "2,1 from=-2 exact=1 not_finite=1");
/// assert_eq!(histogram.bins().next(), Some((0.25, 0.5, 2)));
/// assert_eq!(Histogram::parse(&histogram.to_string()), Some(histogram));
/// ```
#[derive(Clone, PartialEq)]
pub struct Histogram {
    octaves: [u64; Histogram::BINS],
    /// Differences of zero.
    pub exact: u64,
    /// Differences that are NaN or infinite.
    pub not_finite: u64,
}

impl Histogram {
    const BINS: usize = 64;
    /// The exponent of the first bin. 2^-40 is 9e-13, which is less than any useful limit.
    const FIRST: i32 = -40;

    /// Counts one difference, which is not negative.
    pub fn add(&mut self, difference: f64) {
        /// The exponent bits of NaN and infinity.
        const LAST: u64 = (1 << 11) - 1;
        // A number below the normal range counts as zero.
        match (difference.to_bits() >> 52) & LAST {
            0 => self.exact += 1,
            LAST => self.not_finite += 1,
            bits => {
                let bin = bits as i32 - 1023 - Self::FIRST;
                self.octaves[bin.clamp(0, Self::BINS as i32 - 1) as usize] += 1;
            }
        }
    }

    /// The histogram with these counts, the first octave first.
    pub fn of_octaves(counts: &[u64], exact: u64, not_finite: u64) -> Self {
        let mut found = Histogram {
            exact,
            not_finite,
            ..Self::default()
        };
        for (octave, count) in found.octaves.iter_mut().zip(counts) {
            *octave = *count;
        }
        found
    }

    /// Adds the counts of another histogram.
    pub fn join(&mut self, other: &Histogram) {
        self.exact += other.exact;
        self.not_finite += other.not_finite;
        self.octaves
            .iter_mut()
            .zip(&other.octaves)
            .for_each(|(sum, more)| *sum += more);
    }

    /// The number of differences counted.
    pub fn count(&self) -> u64 {
        self.octaves.iter().sum::<u64>() + self.exact + self.not_finite
    }

    /// The lower end, the upper end and the count of each bin, without the empty bins at either
    /// end.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let (first, end) = self.used();
        (first..end).map(|at| {
            let from = 2f64.powi(Self::FIRST + at as i32);
            (from, 2.0 * from, self.octaves[at])
        })
    }

    /// The range of bins that holds every count.
    fn used(&self) -> (usize, usize) {
        let first = self
            .octaves
            .iter()
            .position(|count| *count > 0)
            .unwrap_or(0);
        let end = self
            .octaves
            .iter()
            .rposition(|count| *count > 0)
            .map_or(0, |last| last + 1);
        (first, end)
    }

    /// Reads what [`fmt::Display`] writes; `None` if `value` is something else.
    pub fn parse(value: &str) -> Option<Self> {
        let whole = |name| attribute(value, name).and_then(number);
        let count = |name| whole(name).map_or(0, |n| n as u64);
        let mut found = Histogram {
            exact: count("exact"),
            not_finite: count("not_finite"),
            ..Self::default()
        };
        let from = whole("from")? as i32;
        for (at, word) in first_word(value).split(',').enumerate() {
            let place = from
                .checked_sub(Self::FIRST)
                .and_then(|first| usize::try_from(first).ok()?.checked_add(at))?;
            let bin = found.octaves.get_mut(place)?;
            *bin = word.parse().ok()?;
        }
        Some(found)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            octaves: [0; Self::BINS],
            exact: 0,
            not_finite: 0,
        }
    }
}

/// Writes the value of a result line: `3,50,0,210 from=-22 exact=12 not_finite=0`.
impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (first, end) = self.used();
        let counts = self.octaves[first..end.max(first + 1)].iter().join(",");
        let (from, exact) = (Self::FIRST + first as i32, self.exact);
        write!(
            f,
            "{counts} from={from} exact={exact} not_finite={}",
            self.not_finite
        )
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Histogram({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_difference_is_in_its_octave() {
        let mut sum = Histogram::default();
        for difference in [0.0, 0.25, 0.3, 0.5, 2.0, f64::NAN, f64::INFINITY] {
            sum.add(difference);
        }
        assert_eq!(sum.to_string(), "2,1,0,1 from=-2 exact=1 not_finite=2");
        assert_eq!(sum.bins().next(), Some((0.25, 0.5, 2)));
        assert_eq!((sum.count(), sum.bins().count()), (7, 4));
        assert_eq!(
            Histogram::default().to_string(),
            "0 from=-40 exact=0 not_finite=0"
        );
        assert_eq!(Histogram::default().bins().count(), 0);
    }

    #[test]
    fn text_that_is_not_a_histogram_is_none() {
        for odd in [
            "",
            "1,2",
            "1,x from=0",
            "1 from=2000000000",
            "1 from=9e99",
            "1 from=-41",
            "1,-2 from=0",
            "nan from=nan,",
        ] {
            assert_eq!(Histogram::parse(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(differences in prop::collection::vec(any::<f64>().prop_map(f64::abs), 0..50)) {
            let (mut all, mut half) = (Histogram::default(), Histogram::default());
            for (at, difference) in differences.iter().enumerate() {
                if at % 2 == 0 { &mut all } else { &mut half }.add(*difference);
            }
            all.join(&half);
            prop_assert_eq!(all.count(), differences.len() as u64);
            prop_assert_eq!(Histogram::parse(&all.to_string()), Some(all.clone()));
            let finite = differences.iter().filter(|d| d.is_finite() && **d > 1e-11 && **d < 1e6);
            for difference in finite {
                prop_assert!(all.bins().any(|(from, to, n)| n > 0 && from <= *difference && *difference < to));
            }
        }
    }
}
