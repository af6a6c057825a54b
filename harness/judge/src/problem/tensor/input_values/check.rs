//! Whether values fit the type and the shape of their tensor.

use super::{DEVIATIONS, InputValues};
use crate::dtype::{CellValue, Dtype};
use rand_distr::Uniform;

/// What is wrong with values: the key, from the innermost one, and why.
pub type WrongValues = (Vec<&'static str>, String);

impl InputValues {
    /// Returns what is wrong with the numbers, for a tensor of this type and shape.
    pub fn check(&self, dtype: Dtype, shape: &[usize]) -> Result<(), WrongValues> {
        let wrong = |keys: &[&'static str], what: &str| Err((keys.to_vec(), what.to_owned()));
        let whole = |key: &'static str, low: i64, high: i64| match low > high {
            true => wrong(
                &["low", key],
                &format!("{key} needs low ≤ high, and {low} is above {high}"),
            ),
            false => fit(dtype, "low", low)
                .and(fit(dtype, "high", high))
                .map_err(|(end, what)| (vec![end, key], what)),
        };
        if dtype.integers().is_some()
            && matches!(
                self,
                InputValues::Normal { .. } | InputValues::Uniform { .. }
            )
        {
            let what = format!(
                "{} {dtype} tensor takes integers or a constant",
                article(dtype)
            );
            return wrong(&[], &format!("{what}, or ascending, permutation or npy"));
        }
        match self {
            InputValues::Normal { std, .. } if *std < 0.0 => wrong(
                &["std", "normal"],
                "normal needs a finite mean and a std that is not negative",
            ),
            InputValues::Uniform { low, high } if low >= high => {
                wrong(&["low", "uniform"], "uniform needs low < high")
            }
            // A range that is too wide for its type has no sampler.
            InputValues::Uniform { low, high } if Uniform::new(*low, *high).is_err() => wrong(
                &["high", "uniform"],
                "uniform needs a range high - low that is finite",
            ),
            InputValues::Uniform { low, high } => fit_float(dtype, "low", *low)
                .and(fit_float(dtype, "high", *high))
                .map_err(|(end, what)| (vec![end, "uniform"], what)),
            InputValues::Normal { mean, std } => fit_float(dtype, "mean", *mean)
                .and(fit_normal(dtype, *mean, *std))
                .map_err(|(key, what)| (vec![key, "normal"], what)),
            InputValues::Integers { low, high } => whole("integers", *low, *high),
            InputValues::Ascending { low, high } => whole("ascending", *low, *high),
            InputValues::Permutation => {
                let last = shape.last().map_or(0, |cells| cells.saturating_sub(1));
                match i64::try_from(last).is_ok_and(|last| last <= dtype.counts_to()) {
                    true => Ok(()),
                    false => wrong(
                        &["permutation"],
                        &format!(
                            "a permutation from 0 to {last} does not fit {dtype}, which counts to {}",
                            dtype.counts_to()
                        ),
                    ),
                }
            }
            InputValues::Constant(CellValue::Integer(value)) => {
                fit(dtype, "constant", *value).map_err(|(key, what)| (vec![key], what))
            }
            InputValues::Constant(CellValue::Float(value)) if dtype.integers().is_some() => wrong(
                &["constant"],
                &format!(
                    "{value} is not a whole number, which {} {dtype} needs",
                    article(dtype)
                ),
            ),
            InputValues::Constant(CellValue::Float(value)) => {
                fit_float(dtype, "constant", *value).map_err(|(key, what)| (vec![key], what))
            }
            InputValues::Npy(array) => array
                .check(dtype, shape)
                .map_err(|what| (vec!["npy"], what)),
        }
    }
}

/// `an` before a type's name that begins with a vowel's sound.
fn article(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I8
        | Dtype::I32
        | Dtype::I64
        | Dtype::F32
        | Dtype::F16
        | Dtype::F8e4m3
        | Dtype::F8e5m2 => "an",
        Dtype::U8 | Dtype::Bf16 | Dtype::Bool => "a",
    }
}

/// Returns an error if a whole number does not fit a type. Floats round it.
fn fit(dtype: Dtype, key: &'static str, value: i64) -> Result<(), (&'static str, String)> {
    // An f32 and a bf16 reach beyond every i64.
    let of_float = (-(dtype.largest() as i64), dtype.largest() as i64);
    let (least, largest) = match dtype.integers() {
        Some(ends) => ends,
        None if dtype.largest() < i64::MAX as f64 => of_float,
        None => return Ok(()),
    };
    match (least..=largest).contains(&value) {
        true => Ok(()),
        false => Err((
            key,
            format!("{value} does not fit {dtype}, which goes from {least} to {largest}"),
        )),
    }
}

/// Returns an error if a number is beyond the largest finite one of a float. In a cell it would be
/// an infinity or the largest number, before which results hide: twice an infinity is the same
/// infinity.
fn fit_float(dtype: Dtype, key: &'static str, value: f64) -> Result<(), (&'static str, String)> {
    let largest = dtype.largest();
    match value.abs() <= largest {
        true => Ok(()),
        false => Err((
            key,
            format!("{value:e} does not fit {dtype}, which goes from -{largest} to {largest}"),
        )),
    }
}

/// Returns an error if a normal distribution leaves the range of a float more than hardly ever.
fn fit_normal(dtype: Dtype, mean: f64, std: f64) -> Result<(), (&'static str, String)> {
    let (largest, reach) = (dtype.largest(), mean.abs() + DEVIATIONS * std);
    match reach <= largest {
        true => Ok(()),
        false => {
            let what = format!(
                "its numbers do not fit {dtype}, which goes from -{largest} to {largest}: \
                 |mean| + {DEVIATIONS} std must not be more"
            );
            Err(("std", what))
        }
    }
}
