//! Whether values fit the type and the shape of their tensor.

use super::{DEVIATIONS, InputValues};
use crate::dtype::{CellValue, Dtype};
use crate::problem::key_error::{InKey, KeyError, Result, wrong};
use rand_distr::Uniform;

impl InputValues {
    /// Returns what is wrong with the numbers, for a tensor of this type and shape. The error names
    /// the key below `values`.
    pub fn check(&self, dtype: Dtype, shape: &[usize]) -> Result {
        let key: &str = self.into();
        let article = article(dtype);
        if dtype.integers().is_some() && matches!(key, "normal" | "uniform") {
            return Err(KeyError::new(format!(
                "{article} {dtype} tensor takes integers or a constant, or ascending, permutation or npy"
            )));
        }
        let checked = match self {
            InputValues::Normal { mean, std } => check_normal(dtype, *mean, *std),
            InputValues::Uniform { low, high } => check_uniform(dtype, *low, *high),
            InputValues::Integers { low, high } | InputValues::Ascending { low, high } => {
                if low > high {
                    let what = format!("{key} needs low ≤ high, and {low} is above {high}");
                    wrong("low", what)
                } else {
                    let low = fit(dtype, *low).within("low");
                    low.and(fit(dtype, *high).within("high"))
                }
            }
            InputValues::Permutation => {
                let last = shape.last().map_or(0, |cells| cells.saturating_sub(1));
                let most = dtype.counts_to();
                match last as i128 <= most {
                    true => Ok(()),
                    false => Err(KeyError::new(format!(
                        "a permutation from 0 to {last} does not fit {dtype}, which counts to {most}"
                    ))),
                }
            }
            InputValues::Constant(CellValue::Integer(value)) => fit(dtype, *value),
            InputValues::Constant(CellValue::Float(value)) if dtype.integers().is_some() => {
                Err(KeyError::new(format!(
                    "{value} is not a whole number, which {article} {dtype} needs"
                )))
            }
            InputValues::Constant(CellValue::Float(value)) if !value.is_finite() => {
                match dtype.encodes(*value) {
                    true => Ok(()),
                    false => Err(KeyError::new(format!("{dtype} has no {value}"))),
                }
            }
            InputValues::Constant(CellValue::Float(value)) => fit_float(dtype, *value),
            InputValues::Expected { low, high, .. } => {
                let (least, largest) = match dtype.integers() {
                    Some((least, largest)) => (least as f64, largest as f64),
                    None => (-dtype.largest(), dtype.largest()),
                };
                match low <= high && *low >= least && *high <= largest {
                    true => Ok(()),
                    false => wrong(
                        "low",
                        format!("expected needs low ≤ high, both within {dtype}"),
                    ),
                }
            }
            InputValues::Packed(_) if dtype != Dtype::U8 => Err(KeyError::new(format!(
                "packed values are for a tensor of u8, and this one has {dtype}"
            ))),
            InputValues::Packed(_) => Ok(()),
            InputValues::Npy(array) => array.check(dtype, shape).map_err(KeyError::new),
        };
        checked.within(key)
    }
}

/// `an` before a type's name that begins with a vowel's sound.
fn article(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => "an",
        _ if dtype.word().starts_with('f') => "an",
        _ => "a",
    }
}

fn check_uniform(dtype: Dtype, low: f64, high: f64) -> Result {
    if low >= high {
        return wrong("low", "uniform needs low < high");
    }
    // A range that is too wide for its type has no sampler.
    if Uniform::new(low, high).is_err() {
        let what = "uniform needs a range high - low that is finite";
        return wrong("high", what);
    }
    fit_float(dtype, low).within("low")?;
    fit_float(dtype, high).within("high")
}

/// Returns an error if a normal distribution leaves the range of a float more than hardly ever.
fn check_normal(dtype: Dtype, mean: f64, std: f64) -> Result {
    if std < 0.0 {
        let what = "normal needs a finite mean and a std that is not negative";
        return wrong("std", what);
    }
    fit_float(dtype, mean).within("mean")?;
    let (largest, reach) = (dtype.largest(), mean.abs() + DEVIATIONS * std);
    if reach <= largest {
        return Ok(());
    }
    let what = format!(
        "its numbers do not fit {dtype}, which goes from -{largest} to {largest}: \
         |mean| + {DEVIATIONS} std must not be more"
    );
    wrong("std", what)
}

/// Returns an error if a whole number does not fit a type. Floats round it.
fn fit(dtype: Dtype, value: i128) -> Result {
    // A float with more bits of exponent reaches beyond every i64, which its numbers are drawn as.
    let largest = dtype.largest() as i128;
    let of_float = (
        (-largest).max(i64::MIN.into()),
        largest.min(i64::MAX.into()),
    );
    let (least, largest) = dtype.integers().unwrap_or(of_float);
    if (least..=largest).contains(&value) {
        Ok(())
    } else {
        Err(KeyError::new(format!(
            "{value} does not fit {dtype}, which goes from {least} to {largest}"
        )))
    }
}

/// Returns an error if a number is beyond the largest finite one of a float. In a cell it would be
/// an infinity or the largest number, before which results hide: twice an infinity is the same
/// infinity.
fn fit_float(dtype: Dtype, value: f64) -> Result {
    let largest = dtype.largest();
    if value.abs() <= largest {
        Ok(())
    } else {
        Err(KeyError::new(format!(
            "{value:e} does not fit {dtype}, which goes from -{largest} to {largest}"
        )))
    }
}
