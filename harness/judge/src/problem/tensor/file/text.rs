//! The keys of a tensor problem's problem.toml, as serde reads them.

use super::super::drawn_shapes::{DrawnShapes, Extents};
use super::super::number::NumberText;
use super::super::objective::Figure;
use super::super::planted::PlantedText;
use super::super::spec::TensorRole;
use super::super::values_text::{NpyFiles, ValuesText};
use super::peers::PeerText;
use crate::dtype::Dtype;
use crate::probe::bounds::CacheState;
use lab_protocol::When;
use lab_stats::aggregate::Aggregate;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemFile {
    #[serde(rename = "kind")]
    pub _kind: Option<String>,
    pub name: Option<String>,
    pub entry: String,
    #[serde(default)]
    pub types: Vec<Dtype>,
    pub dims: Vec<String>,
    pub tensor: Vec<TensorText>,
    #[serde(default)]
    pub scalar: Vec<ScalarText>,
    #[serde(default)]
    pub tolerance: BTreeMap<Dtype, ToleranceText>,
    pub objective: ObjectiveText,
    pub bytes: Option<String>,
    pub flops: Option<String>,
    pub workload: Vec<WorkloadText>,
    #[serde(default)]
    pub held_out: Vec<WorkloadText>,
    #[serde(default)]
    pub keep: Vec<DrawnShapes>,
    /// The shapes that were drawn as `keep` says, each with the number of its table there. `None`
    /// unless the problem is read for the check before a keep.
    #[serde(skip)]
    pub drawn: Option<Vec<(usize, WorkloadText)>>,
    /// In the check before a keep, the workloads of this occasion and of those before it are timed,
    /// the others only checked.
    #[serde(skip)]
    pub timed: When,
    /// Launches in a row after which `inout` tensors are compared.
    #[serde(default = "one_step")]
    pub steps: usize,
    pub cpu_max_cells: Option<usize>,
    pub graph: Option<bool>,
    #[serde(default)]
    pub peer: Vec<PeerText>,
    #[serde(default)]
    pub cache: CacheState,
    /// The files beside problem.toml.
    #[serde(skip)]
    pub files: NpyFiles,
}

fn one_step() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorText {
    pub name: String,
    pub role: TensorRole,
    /// `None` stands for the type parameter.
    #[serde(rename = "type", deserialize_with = "tensor_type")]
    pub dtype: Option<Dtype>,
    pub shape: Vec<ExtentText>,
    pub values: Option<ValuesText>,
    /// In place of the tolerance of its type.
    pub tolerance: Option<ToleranceText>,
    pub planted: Option<PlantedText>,
}

/// The type of a tensor: a type's name, or `T`.
fn tensor_type<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Dtype>, D::Error> {
    let word = String::deserialize(text)?;
    if word == "T" {
        return Ok(None);
    }
    let fixed = Dtype::ALL.into_iter().find(|dtype| dtype.word() == word);
    fixed.map(Some).ok_or_else(|| {
        let known = Dtype::ALL.map(|dtype| format!("`{dtype}`")).join(", ");
        serde::de::Error::custom(format!(
            "unknown variant `{word}`, expected one of {known} or `T`"
        ))
    })
}

/// As `"rows"`, `"2 * cols"` or a plain number.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an extent is a number or an expression in quotes"
)]
pub enum ExtentText {
    Number(u32),
    Expression(String),
}

impl ExtentText {
    /// The extent as an expression.
    pub fn text(&self) -> String {
        match self {
            ExtentText::Number(number) => number.to_string(),
            ExtentText::Expression(text) => text.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalarText {
    pub name: String,
    #[serde(rename = "type", deserialize_with = "scalar_type")]
    pub dtype: Dtype,
    pub value: NumberText,
}

/// A scalar can have fewer types than a tensor. The error for another type lists the types of
/// scalars.
fn scalar_type<'de, D: Deserializer<'de>>(text: D) -> Result<Dtype, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum ScalarType {
        F32,
        I32,
        I64,
    }
    Ok(match ScalarType::deserialize(text)? {
        ScalarType::F32 => Dtype::F32,
        ScalarType::I32 => Dtype::I32,
        ScalarType::I64 => Dtype::I64,
    })
}

/// Each limit is a number or an expression.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a tolerance, as in { atol = 1e-3, rtol = 1e-3 }"
)]
pub struct ToleranceText {
    #[serde(default = "none")]
    pub atol: NumberText,
    #[serde(default = "none")]
    pub rtol: NumberText,
    #[serde(default = "all")]
    pub matched: NumberText,
}

fn none() -> NumberText {
    NumberText::Float(0.0)
}

fn all() -> NumberText {
    NumberText::Float(1.0)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveText {
    /// Needed if the measure is samples per second.
    pub samples: Option<String>,
    #[serde(default)]
    pub measure: Figure,
    #[serde(default)]
    pub aggregate: Aggregate,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadText {
    pub dims: Extents,
    pub types: Option<Vec<Dtype>>,
    /// The values of these tensors, in place of their own.
    #[serde(default)]
    pub values: BTreeMap<String, ValuesText>,
    #[serde(default)]
    pub when: When,
    /// What is planted into an input in this workload, by its name, in place of what the tensor
    /// says.
    #[serde(default)]
    pub planted: BTreeMap<String, PlantedText>,
}
