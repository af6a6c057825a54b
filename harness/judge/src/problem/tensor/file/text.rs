//! The keys of a tensor problem's problem.toml, as serde reads them.

use super::super::drawn_scalars::ScalarDrawText;
use super::super::drawn_shapes::{DrawnShapes, Extents};
use super::super::fixed::FixedTensors;
use super::super::gate_keys::NamedGate;
use super::super::input_sets::ResultsOfSets;
use super::super::number::{self, NumberText};
use super::super::objective::{Figure, TimeOf};
use super::super::planted::PlantedText;
use super::super::spec::{Accept, TensorRole};
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
    /// Macros of `lab_problem.h`, each with the dimension whose extent it is.
    #[serde(default)]
    pub macros: BTreeMap<String, String>,
    pub tensor: Vec<TensorText>,
    #[serde(default)]
    pub scalar: Vec<ScalarText>,
    /// The name of the struct that holds all scalars, if the kernel takes them as one parameter.
    #[serde(rename = "struct")]
    pub scalar_struct: Option<String>,
    /// What the reference writes about the inputs.
    #[serde(default)]
    pub accept: Vec<Accept>,
    #[serde(default)]
    pub tolerance: BTreeMap<Dtype, ToleranceText>,
    pub objective: ObjectiveText,
    pub bytes: Option<String>,
    pub flops: Option<String>,
    /// Steps of a launch, each of which needs what all units computed in the step before.
    pub dependent_steps: Option<String>,
    /// Exchanges in such a step that must follow one another.
    pub exchanges: Option<u32>,
    pub workload: Vec<WorkloadText>,
    #[serde(default)]
    pub held_out: Vec<WorkloadText>,
    #[serde(default)]
    pub keep: Vec<DrawnShapes>,
    /// Workloads for tools that watch every access, in place of the others.
    #[serde(default)]
    pub check: Vec<WorkloadText>,
    /// The shapes that were drawn as `keep` says, each with the number of its table there. `None`
    /// unless the problem is read for the check before a keep.
    #[serde(skip)]
    pub drawn: Option<Vec<(usize, WorkloadText)>>,
    /// What the results of a further set of inputs cost.
    #[serde(skip)]
    pub results: ResultsOfSets,
    /// In the check before a keep, the workloads of this occasion and of those before it are timed,
    /// the others only checked.
    #[serde(skip)]
    pub timed: When,
    /// Launches in a row after which `inout` tensors are compared.
    #[serde(default = "one_step")]
    pub steps: usize,
    pub cpu_max_cells: Option<usize>,
    /// `false`: nothing is planted into the inputs that do not ask for it.
    pub planted: Option<bool>,
    pub graph: Option<bool>,
    #[serde(default)]
    pub targets: Vec<String>,
    /// What the extents of a dimension are multiples of, so that a kernel may rely on it.
    #[serde(default)]
    pub multiple_of: BTreeMap<String, i32>,
    /// `false`: no extents are tried that no workload has.
    pub ragged: Option<bool>,
    #[serde(default)]
    pub peer: Vec<PeerText>,
    #[serde(default)]
    pub cache: CacheState,
    /// The files beside problem.toml.
    #[serde(skip)]
    pub files: NpyFiles,
    /// The values of the tensors that have a `fixed_seed`.
    #[serde(skip)]
    pub fixed: FixedTensors,
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
    /// Parts that the kernel gets pointers to, in place of one to the tensor.
    #[serde(default)]
    pub views: Vec<ViewText>,
    /// In place of the tolerance of its type.
    pub tolerance: Option<ToleranceText>,
    pub planted: Option<PlantedText>,
    /// The values follow from this seed in every set of every run.
    pub fixed_seed: Option<u64>,
    /// Named gates, in place of those on error and mismatches.
    #[serde(default)]
    pub gates: Vec<NamedGate>,
    /// `false`: what the kernel writes to the output is compared with nothing.
    pub compare: Option<bool>,
    /// The output is compared only where these outputs are right.
    #[serde(default)]
    pub after: Vec<String>,
}

/// As in `{ name = "q", slice = ":, 0" }`.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a view, as in { name = \"q\", slice = \":, 0\" }"
)]
pub struct ViewText {
    pub name: String,
    pub slice: String,
}

impl TensorText {
    pub fn is_output(&self) -> bool {
        matches!(self.role, TensorRole::Out | TensorRole::Inout)
    }

    /// Whether what the kernel leaves there is compared, unless a workload says otherwise.
    pub fn is_compared(&self) -> bool {
        self.is_output() && self.compare != Some(false)
    }
}

/// The type of a tensor: a type's name, or `T`.
fn tensor_type<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Dtype>, D::Error> {
    let word = String::deserialize(text)?;
    if word == "T" {
        return Ok(None);
    }
    let fixed = Dtype::ALL.iter().find(|dtype| dtype.word() == word);
    fixed.map(|dtype| Some(*dtype)).ok_or_else(|| {
        let known: Vec<_> = Dtype::ALL
            .iter()
            .map(|dtype| format!("`{dtype}`"))
            .collect();
        let known = known.join(", ");
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
    /// Either this or `draw` must be there.
    #[serde(default, deserialize_with = "scalar_value")]
    pub value: Option<NumberText>,
    /// How each set of inputs draws its value.
    pub draw: Option<ScalarDrawText>,
    /// A float with a value has that value in every set.
    #[serde(default)]
    pub fixed: bool,
}

/// The type of a scalar. A float of 8 or 16 bits is none.
fn scalar_type<'de, D: Deserializer<'de>>(text: D) -> Result<Dtype, D::Error> {
    match Dtype::deserialize(text)? {
        dtype if dtype.integers().is_some() || dtype.size() >= 4 => Ok(dtype),
        dtype => Err(serde::de::Error::custom(format!(
            "no scalar has the type {dtype}: pass an f32, which the kernel rounds"
        ))),
    }
}

/// A number, or `true` and `false` for 1 and 0.
fn scalar_value<'de, D: Deserializer<'de>>(text: D) -> Result<Option<NumberText>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a number, an expression in quotes, or true or false"
    )]
    enum Value {
        Truth(bool),
        Number(NumberText),
    }
    Ok(Some(match Value::deserialize(text)? {
        Value::Truth(value) => NumberText::Integer(value.into()),
        Value::Number(number) => number,
    }))
}

/// Each limit is a number or an expression.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a tolerance, as in { atol = 1e-3, rtol = 1e-3 }"
)]
pub struct ToleranceText {
    #[serde(default = "number::zero")]
    pub atol: NumberText,
    #[serde(default = "number::zero")]
    pub rtol: NumberText,
    #[serde(default = "number::one")]
    pub matched: NumberText,
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
    /// What `kernel_us` is the time of.
    #[serde(default)]
    pub kernel_us_of: TimeOf,
}

/// One extent, or those of several workloads.
#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "an extent of a workload is a number, or a list of numbers for several workloads"
)]
pub enum ExtentsText {
    One(i64),
    Several(Vec<i64>),
}

impl ExtentsText {
    pub fn numbers(&self) -> &[i64] {
        match self {
            ExtentsText::One(number) => std::slice::from_ref(number),
            ExtentsText::Several(numbers) => numbers,
        }
    }
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadText {
    /// As the table states it: each extent a number, or a list of which every number is in a workload
    /// of its own.
    #[serde(rename = "dims", default)]
    pub stated: BTreeMap<String, ExtentsText>,
    /// Dimensions whose lists run together: the first numbers of all are in one workload.
    #[serde(default)]
    pub together: Vec<String>,
    /// A file beside problem.toml that holds a workload in each line.
    pub jsonl: Option<String>,
    /// Values of scalars, in place of their own.
    #[serde(default)]
    pub scalars: BTreeMap<String, NumberText>,
    /// The extents of one workload.
    #[serde(skip)]
    pub dims: Extents,
    /// The number of the table among those of its kind, from 0.
    #[serde(skip)]
    pub number: usize,
    /// Extents that the cpu device has in place of those of `dims`.
    #[serde(default)]
    pub cpu: Extents,
    /// Inputs that the kernel gets a null pointer for.
    #[serde(default)]
    pub null: Vec<String>,
    /// Outputs that are there and not compared.
    #[serde(default)]
    pub uncompared: Vec<String>,
    /// Sets of inputs; `None` lets their number follow from the size.
    pub sets: Option<usize>,
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
