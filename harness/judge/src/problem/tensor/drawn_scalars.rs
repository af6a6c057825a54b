//! Scalars that each set of inputs draws from a range: the key `draw` of a scalar.

use super::number::{NumberText, Variables};
use crate::dtype::Dtype;
use crate::problem::key_error::{InKey, Result, wrong};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;

/// As in `draw = { low = 0.7, high = 1.4, except = [0.95, 1.05] }`. Every number may be an
/// expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a range, as in { low = 0, high = 255 }"
)]
pub struct ScalarDrawText {
    low: NumberText,
    high: NumberText,
    /// The ends of a part of the range that no value lies in.
    except: Option<[NumberText; 2]>,
    /// Whether the logarithm of the value is distributed evenly, and not the value.
    #[serde(default)]
    log: bool,
}

/// How a set draws the value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarDraw {
    /// Whole numbers, both ends included.
    Whole { low: i128, high: i128 },
    /// Numbers that are distributed evenly over parts of the range, which follow one another.
    Even { parts: Vec<(f64, f64)> },
    /// Numbers whose logarithm is distributed evenly.
    Log { low: f64, high: f64 },
}

impl ScalarDrawText {
    /// Returns what is wrong whatever the workload.
    pub fn check(&self, names: &[&str]) -> Result {
        self.low.check(names).key("low")?;
        self.high.check(names).key("high")?;
        let mut ends = self.except.iter().flatten();
        ends.try_for_each(|end| end.check(names).key("except"))
    }

    /// The draw for a workload.
    pub fn resolve(&self, dtype: Dtype, variables: &Variables) -> Result<ScalarDraw> {
        if let Some((least, largest)) = dtype.integers() {
            if self.except.is_some() || self.log {
                let key = if self.log { "log" } else { "except" };
                return wrong(
                    key,
                    format!("{key} is for a float: whole numbers are distributed evenly"),
                );
            }
            let low = self.low.whole(variables).key("low")?;
            let high = self.high.whole(variables).key("high")?;
            for (key, end) in [("low", low), ("high", high)] {
                if !(least..=largest).contains(&end) {
                    return wrong(
                        key,
                        format!("{end} does not fit {dtype}, which goes from {least} to {largest}"),
                    );
                }
            }
            return if low < high {
                Ok(ScalarDraw::Whole { low, high })
            } else {
                wrong("low", "draw needs low < high")
            };
        }
        let low = self.low.value(variables).key("low")?;
        let high = self.high.value(variables).key("high")?;
        if low >= high || low.abs().max(high.abs()) > dtype.largest() {
            return wrong("low", format!("draw needs low < high, both within {dtype}"));
        }
        match (&self.except, self.log) {
            (Some(_), true) => wrong("log", "a range has either except or log"),
            (None, true) if low <= 0.0 => wrong("low", "log needs a range above 0"),
            (None, true) => Ok(ScalarDraw::Log { low, high }),
            (None, false) => Ok(ScalarDraw::Even {
                parts: vec![(low, high)],
            }),
            (Some([from, to]), false) => {
                let from = from.value(variables).key("except")?;
                let to = to.value(variables).key("except")?;
                let parts = [(low, from.min(high)), (to.max(low), high)];
                let parts: Vec<_> = parts.into_iter().filter(|(low, high)| low < high).collect();
                match from <= to && !parts.is_empty() {
                    true => Ok(ScalarDraw::Even { parts }),
                    false => wrong(
                        "except",
                        "except has a first end that is at most the second, and leaves a part of the range",
                    ),
                }
            }
        }
    }
}

impl ScalarDraw {
    /// The bytes of a value in the upper or the lower half of the range.
    pub fn draw(&self, dtype: Dtype, is_upper: bool, seed: u64) -> Vec<u8> {
        let word = ChaCha8Rng::seed_from_u64(seed).next_u64();
        let half = if is_upper { 0.5 } else { 0.0 };
        // 53 bits in the open interval of the half.
        let fraction = half + ((word >> 12) as f64 + 0.5) / (1u64 << 53) as f64;
        self.at(dtype, fraction)
    }

    /// The bytes of the value at this fraction of the range, which is above 0 and below 1.
    pub fn at(&self, dtype: Dtype, fraction: f64) -> Vec<u8> {
        let value = match self {
            ScalarDraw::Whole { low, high } => {
                let count = high - low + 1;
                let offset = (fraction * count as f64) as i128;
                return dtype.integer_cell(low + offset.min(count - 1));
            }
            ScalarDraw::Log { low, high } => {
                let (a, b) = (low.ln(), high.ln());
                (a + fraction * (b - a)).exp().clamp(*low, *high)
            }
            ScalarDraw::Even { parts } => {
                let mut left = fraction * parts.iter().map(|(low, high)| high - low).sum::<f64>();
                let mut value = parts.first().map_or(0.0, |(low, _)| *low);
                for (low, high) in parts {
                    value = low + left.min(high - low);
                    left -= high - low;
                    if left <= 0.0 {
                        break;
                    }
                }
                value
            }
        };
        dtype.cell(value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn drawn(text: &str, dtype: Dtype) -> Result<ScalarDraw> {
        let variables = Variables {
            names: &["n"],
            look_up: &|_| 7.0,
        };
        let text: ScalarDrawText = toml::from_str(text).unwrap();
        text.check(variables.names)?;
        text.resolve(dtype, &variables)
    }

    fn values(text: &str, is_upper: bool) -> Vec<f64> {
        let draw = drawn(text, Dtype::F32).unwrap();
        let of = |seed| Dtype::F32.decode(&draw.draw(Dtype::F32, is_upper, seed));
        (0..4000).map(of).collect()
    }

    #[test]
    fn values_fill_their_half_of_the_range_and_leave_out_its_exception() {
        let text = "low = 0.7\nhigh = 1.4\nexcept = [0.95, 1.05]";
        // 0.25 below the exception and 0.35 above: the halves meet at 1.1.
        for (is_upper, from, to) in [(false, 0.7, 1.1), (true, 1.1, 1.4)] {
            let values = values(text, is_upper);
            let is_right =
                |v: &f64| (from - 1e-6..=to + 1e-6).contains(v) && (v - 1.0).abs() > 0.0499;
            assert!(values.iter().all(is_right));
            for at in (0..8).map(|i| from + f64::from(i) * (to - from) / 8.0) {
                let near = values.iter().any(|v| (v - at).abs() < 0.02);
                assert!(near || (at - 1.0).abs() < 0.07, "{at}");
            }
        }
        let middle = 0.0024f64.sqrt();
        let low = values("low = 0.02\nhigh = 0.12\nlog = true", false);
        assert!(low.iter().all(|v| (0.02..=middle + 1e-6).contains(v)));
    }

    #[test]
    fn whole_numbers_reach_both_ends() {
        let draw = drawn("low = 0\nhigh = 255", Dtype::I32).unwrap();
        let mut found: Vec<i64> = (0..20_000)
            .map(|seed| {
                let bytes = draw.draw(Dtype::I32, seed % 2 == 1, seed);
                i64::from(i32::from_le_bytes(bytes.try_into().unwrap()))
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, (0..256).collect::<Vec<_>>());
        let ends = format!("low = {}\nhigh = {}", i64::MIN, i64::MAX);
        let draw = drawn(&ends, Dtype::I64).unwrap();
        let of =
            |is_upper| i64::from_le_bytes(draw.draw(Dtype::I64, is_upper, 3).try_into().unwrap());
        assert!(of(false) < 0 && of(true) > 0);
    }

    #[test]
    fn a_range_that_makes_no_sense_is_refused() {
        let error = |text, dtype| drawn(text, dtype).unwrap_err().to_string();
        assert!(error("low = 2\nhigh = 1", Dtype::F32).contains("needs low < high"));
        assert!(error("low = 0\nhigh = 1\nlog = true", Dtype::F32).contains("above 0"));
        assert!(error("low = 0\nhigh = 1\nlog = true", Dtype::I32).contains("is for a float"));
        assert!(error("low = 0\nhigh = 3000000000", Dtype::I32).contains("does not fit i32"));
        assert!(error("low = 0\nhigh = 1\nexcept = [0, 1]", Dtype::F32).contains("leaves a part"));
        assert!(error("low = 0\nhigh = \"m\"", Dtype::F32).contains('m'));
    }
}
