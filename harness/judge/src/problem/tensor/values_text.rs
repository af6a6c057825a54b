//! The key `values` of a tensor or a workload, and what it gives for a case.

use super::input_values::{InputValues, PackedField};
use super::npy::{self, NpyArray};
use super::number::{self, NumberText, Variables};
use super::view::Slice;
use crate::dtype::{CellValue, Dtype};
use crate::problem::key_error::{InKey, Result, wrong};
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strum::IntoStaticStr;

/// As in `values = { normal = { std = 0.5 } }`. Every bound may be an expression.
#[derive(Clone, Debug, Deserialize, IntoStaticStr)]
#[serde(try_from = "ValuesKeys")]
#[strum(serialize_all = "lowercase")]
pub enum ValuesText {
    Normal(NormalText),
    Uniform(RangeText),
    Integers(RangeText),
    Ascending(RangeText),
    Permutation(bool),
    Constant(NumberText),
    /// A path below the problem's folder.
    Npy(String),
    Expected(ExpectedText),
    Packed(Vec<FieldText>),
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
    expected: Option<ExpectedText>,
    packed: Option<Vec<FieldText>>,
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
            keys.expected.map(ValuesText::Expected),
            keys.packed.map(ValuesText::Packed),
        ];
        let found: Vec<ValuesText> = found.into_iter().flatten().collect();
        let number = found.len();
        <[ValuesText; 1]>::try_from(found).map(|[values]| values).map_err(|_| {
            format!(
                "values have exactly one of normal, uniform, integers, ascending, permutation, constant, npy, expected and \
                 packed, and these have {number}"
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
    #[serde(default = "number::zero")]
    mean: NumberText,
    #[serde(default = "number::one")]
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

/// What the reference writes to an output for the same inputs.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an output and a range, as in { of = \"y\", low = 0, high = 9 }"
)]
pub struct ExpectedText {
    /// The name of the output.
    pub of: String,
    /// The range that the values are drawn from where nothing is compared, as under a tool.
    low: NumberText,
    high: NumberText,
}

/// A field of a packed format, as in `{ bytes = "0:2", type = "f16", values = { constant = 1 } }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a field, as in { bytes = \"0:2\", type = \"f16\", values = { constant = 1 } }"
)]
pub struct FieldText {
    /// The places along the last extent.
    bytes: String,
    #[serde(rename = "type")]
    dtype: Dtype,
    values: ValuesText,
}

impl FieldText {
    fn resolve(&self, filled: &Filled) -> Result<PackedField> {
        let (last, rows) = filled.shape.split_last().unwrap_or((&1, &[]));
        let variables = &filled.variables;
        let slice = Slice::parse(&self.bytes, 1, variables.names);
        let bytes = slice.and_then(|s| s.view("bytes", &[*last], variables.look_up));
        let bytes = bytes.within("bytes")?;
        let (size, dtype) = (self.dtype.size(), self.dtype);
        if bytes.strides != [1] || bytes.cells() % size != 0 {
            let what = format!("bytes: '{}' are no cells of {dtype}", self.bytes);
            return wrong("bytes", what);
        }
        let shape = [rows, &[bytes.cells() / size]].concat();
        let filled = Filled {
            dtype,
            shape: &shape,
            ..*filled
        };
        let values = self.values.resolve(&filled).within("values")?;
        if !values.is_by_cell() || values.expected_of().is_some() {
            let what = "the values of a field are normal, uniform, integers or constant";
            return wrong("values", what);
        }
        Ok(PackedField {
            offset: bytes.offset,
            dtype,
            shape,
            values,
        })
    }
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

    pub fn folder(&self) -> &Path {
        &self.folder
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
    /// The names of the problem's tensors.
    pub tensors: &'a [&'a str],
}

impl ValuesText {
    /// Returns what is wrong with an expression, whatever the workload.
    pub fn check(&self, names: &[&str]) -> Result {
        let mut numbers = self.numbers().into_iter();
        numbers.try_for_each(|(key, number)| self.at(key, number.check(names)))
    }

    /// Each number, with its key. A constant has no key of its own.
    fn numbers(&self) -> Vec<(Option<&'static str>, &NumberText)> {
        match self {
            ValuesText::Normal(n) => vec![(Some("mean"), &n.mean), (Some("std"), &n.std)],
            ValuesText::Uniform(r) | ValuesText::Integers(r) | ValuesText::Ascending(r) => {
                vec![(Some("low"), &r.low), (Some("high"), &r.high)]
            }
            ValuesText::Expected(e) => vec![(Some("low"), &e.low), (Some("high"), &e.high)],
            ValuesText::Constant(number) => vec![(None, number)],
            ValuesText::Permutation(_) | ValuesText::Npy(_) | ValuesText::Packed(_) => Vec::new(),
        }
    }

    /// A result whose error is of one of the keys of a distribution, or of the distribution itself.
    fn at<T>(&self, key: Option<&'static str>, checked: Result<T, String>) -> Result<T> {
        let distribution: &str = self.into();
        match key {
            Some(key) => checked.within(key).within(distribution),
            None => checked.within(distribution),
        }
    }

    /// The values for the tensor of a case. An error names the key below `values`.
    pub fn resolve(&self, filled: &Filled) -> Result<InputValues> {
        let variables = &filled.variables;
        let value = |key, number: &NumberText| self.at(key, number.value(variables));
        let whole = |key, number: &NumberText| self.at(key, number.whole(variables));
        let values = match self {
            ValuesText::Normal(NormalText { mean, std }) => InputValues::Normal {
                mean: value(Some("mean"), mean)?,
                std: value(Some("std"), std)?,
            },
            ValuesText::Uniform(RangeText { low, high }) => InputValues::Uniform {
                low: value(Some("low"), low)?,
                high: value(Some("high"), high)?,
            },
            ValuesText::Integers(RangeText { low, high }) => InputValues::Integers {
                low: whole(Some("low"), low)?,
                high: whole(Some("high"), high)?,
            },
            ValuesText::Ascending(RangeText { low, high }) => InputValues::Ascending {
                low: whole(Some("low"), low)?,
                high: whole(Some("high"), high)?,
            },
            ValuesText::Permutation(true) => InputValues::Permutation,
            ValuesText::Permutation(false) => {
                return self.at(None, Err("permutation is true or left out".into()));
            }
            // As exact as its type.
            ValuesText::Constant(number) => InputValues::Constant(match filled.dtype.integers() {
                Some(_) => CellValue::Integer(whole(None, number)?),
                None => CellValue::Float(self.at(None, number.constant(variables))?),
            }),
            ValuesText::Expected(ExpectedText { of, low, high }) => InputValues::Expected {
                of: filled
                    .tensors
                    .iter()
                    .position(|name| name == of)
                    .unwrap_or_default(),
                low: value(Some("low"), low)?,
                high: value(Some("high"), high)?,
            },
            ValuesText::Packed(fields) => {
                let fields = fields.iter().enumerate();
                let fields = fields.map(|(i, field)| field.resolve(filled).item("packed", i));
                InputValues::Packed(fields.collect::<Result<_, _>>()?)
            }
            ValuesText::Npy(name) => InputValues::Npy(self.at(None, filled.files.array(name))?),
        };
        values.check(filled.dtype, filled.shape)?;
        Ok(values)
    }
}
