//! The key `values` of a tensor or a workload, and what it gives for a case.

use super::input_values::InputValues;
use super::npy::{self, NpyArray};
use super::number::{NumberText, Variables};
use crate::dtype::{CellValue, Dtype};
use crate::problem::key_error::KeyError;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// As in `values = { normal = { std = 0.5 } }`. Every bound may be an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ValuesKeys")]
pub enum ValuesText {
    Normal(NormalText),
    Uniform(RangeText),
    Integers(RangeText),
    Ascending(RangeText),
    Permutation(bool),
    Constant(NumberText),
    /// A path below the problem's folder.
    Npy(String),
}

/// The keys of `values`, of which one must be there.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "values, as in { normal = { std = 1.0 } } or { constant = 1.0 }"
)]
struct ValuesKeys {
    normal: Option<NormalText>,
    uniform: Option<RangeText>,
    integers: Option<RangeText>,
    ascending: Option<RangeText>,
    permutation: Option<bool>,
    constant: Option<NumberText>,
    npy: Option<String>,
}

impl TryFrom<ValuesKeys> for ValuesText {
    type Error = String;

    fn try_from(keys: ValuesKeys) -> Result<Self, String> {
        let found = [
            keys.normal.map(ValuesText::Normal),
            keys.uniform.map(ValuesText::Uniform),
            keys.integers.map(ValuesText::Integers),
            keys.ascending.map(ValuesText::Ascending),
            keys.permutation.map(ValuesText::Permutation),
            keys.constant.map(ValuesText::Constant),
            keys.npy.map(ValuesText::Npy),
        ];
        let found: Vec<ValuesText> = found.into_iter().flatten().collect();
        let number = found.len();
        <[ValuesText; 1]>::try_from(found).map(|[values]| values).map_err(|_| {
            format!(
                "values have exactly one of normal, uniform, integers, ascending, permutation, constant and npy, \
                 and these have {number}"
            )
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a distribution, as in { mean = 0.0, std = 1.0 }"
)]
pub struct NormalText {
    #[serde(default = "zero")]
    mean: NumberText,
    #[serde(default = "one")]
    std: NumberText,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a range, as in { low = 0, high = 9 }"
)]
pub struct RangeText {
    low: NumberText,
    high: NumberText,
}

fn zero() -> NumberText {
    NumberText::Float(0.0)
}

fn one() -> NumberText {
    NumberText::Float(1.0)
}

/// The .npy files of a problem, each read once.
#[derive(Default)]
pub struct NpyFiles {
    folder: PathBuf,
    read: RefCell<HashMap<String, Arc<NpyArray>>>,
}

impl NpyFiles {
    pub fn new(folder: &Path) -> Self {
        NpyFiles {
            folder: folder.to_owned(),
            read: RefCell::default(),
        }
    }

    fn array(&self, name: &str) -> Result<Arc<NpyArray>, String> {
        if let Some(array) = self.read.borrow().get(name) {
            return Ok(array.clone());
        }
        let array = Arc::new(npy::read(&self.folder, name)?);
        self.read
            .borrow_mut()
            .insert(name.to_owned(), array.clone());
        Ok(array)
    }
}

/// The tensor of a case that values are for.
pub struct Filled<'a> {
    pub dtype: Dtype,
    pub shape: &'a [usize],
    pub variables: Variables<'a>,
    pub files: &'a NpyFiles,
}

impl ValuesText {
    /// Returns what is wrong with an expression, whatever the workload.
    pub fn check(&self, names: &[&str]) -> Result<(), KeyError> {
        for (keys, number) in self.numbers() {
            number.check(names).map_err(|what| at(&keys, what))?;
        }
        Ok(())
    }

    /// Each number, with its keys from the innermost one.
    fn numbers(&self) -> Vec<(Vec<&'static str>, &NumberText)> {
        match self {
            ValuesText::Normal(n) => vec![
                (vec!["mean", "normal"], &n.mean),
                (vec!["std", "normal"], &n.std),
            ],
            ValuesText::Uniform(r) => r.numbers("uniform"),
            ValuesText::Integers(r) => r.numbers("integers"),
            ValuesText::Ascending(r) => r.numbers("ascending"),
            ValuesText::Constant(number) => vec![(vec!["constant"], number)],
            ValuesText::Permutation(_) | ValuesText::Npy(_) => Vec::new(),
        }
    }

    /// The values for the tensor of a case. An error names the key below `values`.
    pub fn resolve(&self, filled: &Filled) -> Result<InputValues, KeyError> {
        let value = |keys: [&'static str; 2], number: &NumberText| {
            number
                .value(&filled.variables)
                .map_err(|what| at(&keys, what))
        };
        let whole = |keys: [&'static str; 2], number: &NumberText| {
            number
                .whole(&filled.variables)
                .map_err(|what| at(&keys, what))
        };
        let values = match self {
            ValuesText::Normal(NormalText { mean, std }) => InputValues::Normal {
                mean: value(["mean", "normal"], mean)?,
                std: value(["std", "normal"], std)?,
            },
            ValuesText::Uniform(RangeText { low, high }) => InputValues::Uniform {
                low: value(["low", "uniform"], low)?,
                high: value(["high", "uniform"], high)?,
            },
            ValuesText::Integers(RangeText { low, high }) => InputValues::Integers {
                low: whole(["low", "integers"], low)?,
                high: whole(["high", "integers"], high)?,
            },
            ValuesText::Ascending(RangeText { low, high }) => InputValues::Ascending {
                low: whole(["low", "ascending"], low)?,
                high: whole(["high", "ascending"], high)?,
            },
            ValuesText::Permutation(true) => InputValues::Permutation,
            ValuesText::Permutation(false) => {
                return Err(at(
                    &["permutation"],
                    "permutation is true or left out".into(),
                ));
            }
            ValuesText::Constant(number) => InputValues::Constant(constant(number, filled)?),
            ValuesText::Npy(name) => InputValues::Npy(
                filled
                    .files
                    .array(name)
                    .map_err(|what| at(&["npy"], what))?,
            ),
        };
        values
            .check(filled.dtype, filled.shape)
            .map_err(|(keys, what)| at(&keys, what))?;
        Ok(values)
    }
}

impl RangeText {
    fn numbers(&self, key: &'static str) -> Vec<(Vec<&'static str>, &NumberText)> {
        vec![
            (vec!["low", key], &self.low),
            (vec!["high", key], &self.high),
        ]
    }
}

/// A constant: as exact as its type.
fn constant(number: &NumberText, filled: &Filled) -> Result<CellValue, KeyError> {
    if filled.dtype.integers().is_some() {
        return number
            .whole(&filled.variables)
            .map(CellValue::Integer)
            .map_err(|what| at(&["constant"], what));
    }
    number
        .value(&filled.variables)
        .map(CellValue::Float)
        .map_err(|what| at(&["constant"], what))
}

/// An error below `values`; `keys` begin with the innermost one.
fn at(keys: &[&'static str], what: String) -> KeyError {
    keys.iter()
        .fold(KeyError::new(what), |error, key| error.within(*key))
}
