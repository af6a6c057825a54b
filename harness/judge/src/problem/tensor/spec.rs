//! A checked tensor problem: every name is known, and every shape is a number.

use super::input_values::InputValues;
use super::objective::{Amounts, Objective};
use super::planted::Planting;
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::probe::bounds::{CacheState, Demand};
use crate::problem::peer::PeerSpec;
use lab_protocol::When;
use serde::Deserialize;

/// A problem.toml that makes sense.
#[derive(Clone, Debug)]
pub struct ProblemSpec {
    pub name: Option<String>,
    pub dims: Vec<String>,
    pub tensors: Vec<TensorSpec>,
    /// The names and types of the scalar parameters, in the order of the file.
    pub scalars: Vec<(String, Dtype)>,
    /// One case for each workload and type, in the order of the file, held-out ones last.
    pub cases: Vec<Case>,
    /// How many launches in a row a check makes on one set of inputs; what is in `inout` tensors
    /// after the last one is compared too.
    pub steps: usize,
    pub cpu_max_cells: Option<usize>,
    /// Whether the timed launches run as one CUDA graph, where the device has graphs.
    pub graph: bool,
    /// What is in the L2 cache when a timed launch begins.
    pub cache: CacheState,
    pub objective: Objective,
    /// Other implementations, which the kernel may be timed beside.
    pub peers: Vec<PeerSpec>,
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    pub name: String,
    pub role: TensorRole,
}

/// How the kernel uses a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorRole {
    In,
    Out,
    /// Holds values before the launch, which the kernel overwrites.
    Inout,
}

/// A workload in one type, in which every extent is a number.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// As in `rows=3 cols=257 T=f16`.
    pub label: String,
    /// The table of problem.toml that says its dims, as in `workload`, and its place among these
    /// tables, from 0.
    pub table: (&'static str, usize),
    pub entry: String,
    pub dims: Vec<i32>,
    /// In the order of the spec's tensors.
    pub tensors: Vec<CaseTensor>,
    /// The bytes of the kernel's scalar parameters, in the order of the spec's scalars.
    pub scalars: Vec<Vec<u8>>,
    /// The case is verified and never timed.
    pub held_out: bool,
    /// The first occasion at which the case is judged.
    pub when: When,
    pub origin: Origin,
    pub amounts: Amounts,
}

/// Which table of problem.toml a case comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// `[[workload]]`
    #[default]
    Workload,
    /// `[[held_out]]`
    HeldOut,
    /// Drawn as `[[keep]]` says.
    Drawn,
}

/// The type, shape, tolerance and values of a tensor in a case.
#[derive(Clone, Debug)]
pub struct CaseTensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub tolerance: Tolerance,
    /// How an input is filled; `None` for outputs.
    pub values: Option<InputValues>,
    /// The extremes that an input also holds.
    pub planted: Planting,
}

impl CaseTensor {
    /// Draws the tensor's bytes; `None` for an output. The same seed gives the same bytes.
    pub fn draw(&self, seed: u64) -> Option<Vec<u8>> {
        self.values
            .as_ref()
            .map(|values| values.fill(self.dtype, &self.shape, seed))
    }

    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn bytes(&self) -> usize {
        self.cells() * self.dtype.size()
    }

    /// The index of a cell, from its flat row-major index.
    pub fn place(&self, flat: usize) -> Vec<usize> {
        let mut rest = flat;
        let mut places = Vec::new();
        for extent in self.shape.iter().rev() {
            places.push(rest % extent);
            rest /= extent;
        }
        places.reverse();
        places
    }

    /// The index of a cell as in `[2, 256]`, from its flat row-major index.
    pub fn index(&self, flat: usize) -> String {
        let places: Vec<String> = self.place(flat).iter().map(usize::to_string).collect();
        format!("[{}]", places.join(", "))
    }
}

impl Case {
    pub fn cells(&self) -> usize {
        self.tensors.iter().map(CaseTensor::cells).sum()
    }
}

impl ProblemSpec {
    /// What a launch of the case must do. What the problem's `bytes` leaves out need not be moved.
    /// Reads count before writes.
    pub fn demand(&self, case: &Case) -> Demand {
        let bytes = |unless: TensorRole| {
            let moved = self
                .tensors
                .iter()
                .zip(&case.tensors)
                .filter(|(tensor, _)| tensor.role != unless);
            moved.map(|(_, shaped)| shaped.bytes() as f64).sum::<f64>()
        };
        let reads = bytes(TensorRole::Out).min(case.amounts.bytes);
        let writes = bytes(TensorRole::In).min(case.amounts.bytes - reads);
        let flops = case.amounts.flops.unwrap_or(0.0);
        let (label, cache) = (case.label.clone(), self.cache);
        Demand {
            label,
            reads,
            writes,
            flops,
            cache,
            ..Demand::default()
        }
    }

    /// The text of `lab_problem.h`.
    pub fn header(&self) -> String {
        let fields: String = self
            .dims
            .iter()
            .map(|d| format!("    int {d};\n"))
            .collect();
        format!("// Generated from problem.toml.\n#pragma once\nstruct LabDims {{\n{fields}}};\n")
    }

    /// Whether a case has outputs in which only two launches show a cell that the kernel never
    /// wrote.
    pub fn needs_two_launches(&self, case: &Case) -> bool {
        let mut outputs = self
            .tensors
            .iter()
            .zip(&case.tensors)
            .filter(|(t, _)| t.role == TensorRole::Out);
        outputs.any(|(_, shaped)| shaped.dtype.poison_is_a_value())
    }

    /// The entries that kernel.cu must have, each once.
    pub fn entries(&self) -> Vec<&str> {
        let mut entries: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !entries.contains(&case.entry.as_str()) {
                entries.push(&case.entry);
            }
        }
        entries
    }
}
