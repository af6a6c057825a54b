//! The inputs of a run: the seed of its noise, its start states and its sampling parameters. All of
//! them follow from the run's seed and the ranges in problem.toml.

use crate::problem::philox::evenly;
use serde::Deserialize;

/// The sampling parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingParams {
    /// Tokens to generate.
    pub steps: usize,
    /// The input of step 0.
    pub first_token: usize,
    /// Divides the logits.
    pub temperature: f32,
    /// Tokens below this fraction of the largest probability are dropped.
    pub min_p: f32,
}

/// The values from `low` to `high`, both included. In problem.toml a single value is a range of
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(
    from = "WrittenRange<T>",
    bound = "T: Copy + serde::de::DeserializeOwned"
)]
pub struct ValueRange<T> {
    /// The smallest value.
    pub low: T,
    /// The largest value.
    pub high: T,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, or a range [LOW, HIGH]")]
enum WrittenRange<T> {
    Value(T),
    Range([T; 2]),
}

impl<T: Copy> From<WrittenRange<T>> for ValueRange<T> {
    fn from(written: WrittenRange<T>) -> Self {
        let (low, high) = match written {
            WrittenRange::Value(value) => (value, value),
            WrittenRange::Range([low, high]) => (low, high),
        };
        ValueRange { low, high }
    }
}

/// What the sampling parameters of a run are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingRanges {
    /// Temperatures.
    pub temperature: ValueRange<f32>,
    /// Fractions of the largest probability.
    pub min_p: ValueRange<f32>,
    /// Tokens.
    pub first_token: ValueRange<usize>,
}

/// The temperature that changes nothing. A range gives no temperature nearer to it than `APART`,
/// because a kernel that ignores the temperature would then be right.
pub const NEUTRAL_TEMPERATURE: f32 = 1.0;
const APART: f64 = 0.05;

/// The random stream of the sampling parameters. Streams 1 and 2 are the start states.
const PARAMETERS: u32 = 3;

impl SamplingRanges {
    /// Draws the parameters of the run with this seed.
    ///
    /// The lowest bit of the seed selects the half of the min-p range: even seeds have the lower
    /// one. So two runs can be taken whose min-p differ.
    fn draw(&self, steps: usize, seed: u64) -> SamplingParams {
        // Each is in (0, 1).
        let mut numbers = evenly(seed, PARAMETERS).map(|v| f64::midpoint(v, 1.0));
        let mut next = || numbers.next().unwrap_or(0.5);
        let (temperature, min_p, first_token) = (next(), next(), next());
        let tokens = (self.first_token.high - self.first_token.low + 1) as f64;
        SamplingParams {
            steps,
            first_token: self.first_token.low + (first_token * tokens) as usize,
            temperature: self.temperature_at(temperature),
            min_p: self.min_p_at(f64::midpoint(min_p, (seed & 1) as f64)),
        }
    }

    /// The temperature at this fraction of the range, without the part around
    /// [`NEUTRAL_TEMPERATURE`].
    fn temperature_at(&self, fraction: f64) -> f32 {
        let ValueRange { low, high } = self.temperature;
        let (low, high, neutral) = (
            f64::from(low),
            f64::from(high),
            f64::from(NEUTRAL_TEMPERATURE),
        );
        let below = (neutral - APART - low).max(0.0).min(high - low);
        let above = (high - neutral - APART).max(0.0).min(high - low);
        if low > neutral + APART || high < neutral - APART || below + above == 0.0 {
            return (low + fraction * (high - low)) as f32;
        }
        let at = fraction * (below + above);
        (if at < below {
            low + at
        } else {
            high - (below + above - at)
        }) as f32
    }

    /// The min-p at this fraction of the range, whose logarithm is distributed uniformly.
    fn min_p_at(&self, fraction: f64) -> f32 {
        let ValueRange { low, high } = self.min_p;
        let (low, high) = (f64::from(low).ln(), f64::from(high).ln());
        ((low + fraction * (high - low)).exp() as f32).clamp(self.min_p.low, self.min_p.high)
    }

    /// The min-p between the halves of the range that even and odd seeds have.
    pub fn middle_min_p(&self) -> f64 {
        f64::from(self.min_p_at(0.5))
    }
}

/// The inputs of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInputs {
    /// The seed of the noise. All other inputs follow from it.
    pub seed: u64,
    /// The sampling parameters.
    pub sampling: SamplingParams,
    /// The start state of layer 0.
    pub h0: Vec<f32>,
    /// The start state of layer 1.
    pub h1: Vec<f32>,
}

impl RunInputs {
    /// Draws the inputs of the run with this seed. Start states are distributed uniformly over (−½,
    /// ½).
    pub fn draw(hidden: usize, steps: usize, ranges: &SamplingRanges, seed: u64) -> Self {
        let state = |stream| {
            evenly(seed, stream)
                .take(hidden)
                .map(|v| (0.5 * v) as f32)
                .collect()
        };
        RunInputs {
            seed,
            sampling: ranges.draw(steps, seed),
            h0: state(1),
            h1: state(2),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RANGES: SamplingRanges = SamplingRanges {
        temperature: ValueRange {
            low: 0.7,
            high: 1.4,
        },
        min_p: ValueRange {
            low: 0.02,
            high: 0.12,
        },
        first_token: ValueRange { low: 0, high: 255 },
    };

    #[test]
    fn parameters_fill_their_ranges_and_no_temperature_is_near_one() {
        let drawn: Vec<(u64, SamplingParams)> = (0..4000)
            .map(|seed| (seed, RANGES.draw(64, seed)))
            .collect();
        let temperatures = || drawn.iter().map(|(_, p)| p.temperature);
        assert!(temperatures().all(|t| (0.7..=1.4).contains(&t) && (t - 1.0).abs() > 0.0499));
        for from in [0.7f32, 0.8, 0.9, 1.06, 1.2, 1.3] {
            assert!(
                temperatures()
                    .filter(|t| (from..from + 0.05).contains(t))
                    .count()
                    > 200,
                "{from}"
            );
        }
        let middle = RANGES.min_p_at(0.5);
        assert!((middle - 0.04899).abs() < 1e-4);
        for (seed, parameters) in &drawn {
            assert!((0.02..=0.12).contains(&parameters.min_p));
            assert_eq!(parameters.min_p < middle, seed % 2 == 0);
        }
        let mut tokens: Vec<usize> = drawn.iter().map(|(_, p)| p.first_token).collect();
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens, (0..256).collect::<Vec<_>>());
    }

    #[test]
    fn a_range_of_one_gives_its_value_and_a_range_beside_one_is_whole() {
        let fixed = |low, high| SamplingRanges {
            temperature: ValueRange { low, high },
            ..RANGES
        };
        assert_eq!(fixed(0.9, 0.9).temperature_at(0.3), 0.9);
        assert_eq!(fixed(1.0, 1.0).temperature_at(0.3), 1.0);
        assert!((fixed(1.2, 1.4).temperature_at(0.001) - 1.2).abs() < 1e-3);
        assert!((fixed(0.5, 0.7).temperature_at(0.999) - 0.7).abs() < 1e-3);
        assert!(fixed(0.7, 1.0).temperature_at(0.999) <= 0.95);
    }

    #[test]
    fn a_range_is_written_as_a_number_or_as_two() {
        #[derive(Deserialize, Debug)]
        struct File {
            min_p: ValueRange<f32>,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.min_p);
        assert_eq!(
            read("min_p = 0.05").unwrap(),
            ValueRange {
                low: 0.05,
                high: 0.05
            }
        );
        assert_eq!(read("min_p = [0.02, 0.12]").unwrap(), RANGES.min_p);
        let error = read("min_p = [0.02]").unwrap_err().to_string();
        assert!(
            error.contains("expected a number, or a range [LOW, HIGH]"),
            "{error}"
        );
    }
}
