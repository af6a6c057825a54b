//! A tensor problem that makes sense: every name is known, every shape is a number.

use super::input_values::InputValues;
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::probe::bounds::CacheState;
use serde::Deserialize;

/// What a problem.toml says.
#[derive(Clone, Debug)]
pub struct ProblemSpec {
    pub name: Option<String>,
    pub dims: Vec<String>,
    pub tensors: Vec<TensorSpec>,
    pub scalars: Vec<ScalarSpec>,
    /// In the file's order, held-out ones last; one for each type.
    pub cases: Vec<Case>,
    pub cpu_max_cells: Option<usize>,
    /// What is in the L2 cache when a timed launch begins.
    pub cache: CacheState,
}

#[derive(Clone, Debug)]
pub struct TensorSpec {
    pub name: String,
    pub role: TensorRole,
    /// Of inputs.
    pub values: Option<InputValues>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorRole {
    In,
    Out,
    /// Holds values before the launch and others after it.
    Inout,
}

#[derive(Clone, Debug)]
pub struct ScalarSpec {
    /// The bytes that the kernel's parameter takes.
    pub bytes: Vec<u8>,
}

/// A workload in one type: everything about it is a number.
#[derive(Clone, Debug)]
pub struct Case {
    /// `rows=3 cols=257 T=f16`.
    pub label: String,
    pub entry: String,
    pub dims: Vec<i32>,
    /// In the order of the spec's tensors.
    pub tensors: Vec<CaseTensor>,
    /// Checked, never timed.
    pub held_out: bool,
    /// What one launch counts in `throughput_sps`.
    pub samples: f64,
    /// What one launch must move and compute.
    pub bytes: f64,
    pub flops: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct CaseTensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub tolerance: Tolerance,
}

impl CaseTensor {
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn bytes(&self) -> usize {
        self.cells() * self.dtype.size()
    }

    /// `[2, 256]` of a flat index, row-major.
    pub fn index(&self, flat: usize) -> String {
        let mut rest = flat;
        let mut places: Vec<String> = Vec::new();
        for extent in self.shape.iter().rev() {
            places.push((rest % extent).to_string());
            rest /= extent;
        }
        places.reverse();
        format!("[{}]", places.join(", "))
    }
}

impl Case {
    pub fn cells(&self) -> usize {
        self.tensors.iter().map(CaseTensor::cells).sum()
    }
}

impl ProblemSpec {
    /// `lab_problem.h`.
    pub fn header(&self) -> String {
        let fields: String = self.dims.iter().map(|d| format!("    int {d};\n")).collect();
        format!("// Generated from problem.toml.\n#pragma once\nstruct LabDims {{\n{fields}}};\n")
    }

    /// Every entry that kernel.cu must have, each once.
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
