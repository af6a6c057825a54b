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
pub(super) struct ProblemFile {
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
    /// The shapes that were drawn as `keep` says; `None` unless the problem is read for the check
    /// before a keep.
    #[serde(skip)]
    pub drawn: Option<Vec<WorkloadText>>,
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
pub(super) struct TensorText {
    pub name: String,
    pub role: TensorRole,
    #[serde(rename = "type")]
    pub dtype: TensorType,
    pub shape: Vec<ExtentText>,
    pub values: Option<ValuesText>,
    /// In place of the tolerance of its type.
    pub tolerance: Option<ToleranceText>,
    pub planted: Option<PlantedText>,
}

/// The type of a tensor: a type's name, or `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorType {
    Fixed(Dtype),
    /// The type parameter.
    T,
}

impl<'de> Deserialize<'de> for TensorType {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if word == "T" {
            return Ok(TensorType::T);
        }
        let fixed = Dtype::ALL.into_iter().find(|dtype| dtype.word() == word);
        fixed.map(TensorType::Fixed).ok_or_else(|| {
            let known: Vec<String> = Dtype::ALL
                .iter()
                .map(|dtype| format!("`{dtype}`"))
                .collect();
            let known = known.join(", ");
            serde::de::Error::custom(format!(
                "unknown variant `{word}`, expected one of {known} or `T`"
            ))
        })
    }
}

/// As `"rows"`, `"2 * cols"` or a plain number.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an extent is a number or an expression in quotes"
)]
pub(super) enum ExtentText {
    Number(u32),
    Expression(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScalarText {
    pub name: String,
    #[serde(rename = "type", deserialize_with = "scalar_type")]
    pub dtype: Dtype,
    pub value: NumberText,
}

/// The types of scalars are fewer than those of tensors, and an error of another one lists these.
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
pub(super) struct ToleranceText {
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
pub(super) struct ObjectiveText {
    /// Needed if the measure is samples per second.
    pub samples: Option<String>,
    #[serde(default)]
    pub measure: Figure,
    #[serde(default)]
    pub aggregate: Aggregate,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadText {
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
    /// The number of the `[[keep]]` table that drew the shape, from 0; `None` for a workload of the
    /// file.
    #[serde(skip)]
    pub drawn_by: Option<usize>,
}

impl TensorType {
    pub fn fixed(self) -> Option<Dtype> {
        match self {
            TensorType::Fixed(dtype) => Some(dtype),
            TensorType::T => None,
        }
    }
}
