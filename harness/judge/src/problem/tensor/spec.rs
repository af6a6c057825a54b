//! A checked tensor problem: every name is known, and every shape is a number.

use super::input_values::InputValues;
use super::objective::{Amounts, Objective};
use super::planted::Planting;
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::probe::bounds::{CacheState, Demand};
use crate::problem::peer::PeerSpec;
use lab_device::DeviceInfo;
use lab_protocol::When;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

/// A problem.toml that makes sense.
#[derive(Clone, Debug)]
pub struct ProblemSpec {
    pub name: Option<String>,
    pub dims: Vec<String>,
    /// One case for each workload and type, in the order of the file, held-out ones last.
    pub cases: Vec<Arc<Case>>,
    pub cpu_max_cells: Option<usize>,
    /// Whether the timed launches run as one CUDA graph, where the device has graphs.
    pub graph: bool,
    /// What is in the L2 cache when a timed launch begins.
    pub cache: CacheState,
    pub objective: Objective,
    /// Other implementations, which the kernel may be timed beside.
    pub peers: Vec<PeerSpec>,
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
    /// The place among the problem's cases, from 0.
    pub index: usize,
    /// As in `rows=3 cols=257 T=f16`. No two cases have the same one.
    pub label: String,
    /// The table of problem.toml that says its dims, as in `workload`, and its place among these
    /// tables, from 0.
    pub table: (&'static str, usize),
    pub entry: String,
    pub dims: Vec<(String, i32)>,
    /// In the order of the file, which is that of the kernel's parameters.
    pub tensors: Vec<CaseTensor>,
    pub scalars: Vec<CaseScalar>,
    /// The case is verified and never timed.
    pub held_out: bool,
    /// The first occasion at which the case is judged.
    pub when: When,
    pub amounts: Amounts,
    /// How many launches in a row a check makes on one set of inputs; what is in `inout` tensors
    /// after the last one is compared too.
    pub steps: usize,
}

/// A tensor of a case.
#[derive(Clone, Debug)]
pub struct CaseTensor {
    pub name: String,
    pub role: TensorRole,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub tolerance: Tolerance,
    /// How an input is filled; `None` for outputs.
    pub values: Option<InputValues>,
    /// The extremes that an input also holds.
    pub planted: Planting,
}

/// A scalar parameter of the kernel.
#[derive(Clone, Debug)]
pub struct CaseScalar {
    pub name: String,
    pub dtype: Dtype,
    pub bytes: Vec<u8>,
}

impl CaseTensor {
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn bytes(&self) -> usize {
        self.cells() * self.dtype.size()
    }

    /// Whether the kernel writes the tensor.
    pub fn is_output(&self) -> bool {
        self.role != TensorRole::In
    }

    pub fn extents(&self) -> Vec<u64> {
        self.shape.iter().map(|n| *n as u64).collect()
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

    /// A cell as in `y[2, 256]`, from its flat row-major index.
    pub fn cell(&self, flat: usize) -> String {
        let places: Vec<String> = self.place(flat).iter().map(usize::to_string).collect();
        format!("{}[{}]", self.name, places.join(", "))
    }
}

impl Case {
    pub fn cells(&self) -> usize {
        self.tensors.iter().map(CaseTensor::cells).sum()
    }

    /// Bytes of the tensors that satisfy a condition.
    pub fn bytes_of(&self, is_counted: impl Fn(&CaseTensor) -> bool) -> usize {
        let counted = self.tensors.iter().filter(|tensor| is_counted(tensor));
        counted
            .map(CaseTensor::bytes)
            .fold(0, usize::saturating_add)
    }

    /// The bytes of the kernel's last parameters: the scalars, then the dims.
    pub fn numbers(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let scalars = self.scalars.iter().map(|scalar| scalar.bytes.clone());
        scalars.chain(self.dims.iter().map(|(_, n)| n.to_le_bytes().to_vec()))
    }

    /// A seed for one use in the case.
    pub fn seed(&self, seed: u64, used_for: &str) -> u64 {
        let label = format!("{seed} {} {} {used_for}", self.entry, self.label);
        blake3::hash(label.as_bytes())
            .as_bytes()
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// What a launch must do. What the problem's `bytes` leaves out need not be moved. Reads count
    /// before writes.
    pub fn demand(&self, cache: CacheState) -> Demand {
        let moved = |unless: TensorRole| self.bytes_of(|tensor| tensor.role != unless) as f64;
        let reads = moved(TensorRole::Out).min(self.amounts.bytes);
        Demand {
            label: self.label.clone(),
            reads,
            writes: moved(TensorRole::In).min(self.amounts.bytes - reads),
            flops: self.amounts.flops.unwrap_or(0.0),
            cache,
            ..Demand::default()
        }
    }

    /// Whether there are outputs in which only two launches show a cell that the kernel never
    /// wrote.
    pub fn needs_two_launches(&self) -> bool {
        let mut tensors = self.tensors.iter();
        tensors.any(|t| t.role == TensorRole::Out && t.dtype.poison_is_a_value())
    }
}

impl ProblemSpec {
    /// The name; where problem.toml has none, that of the folder in which the file at `path` lies.
    pub fn name_at(&self, path: &Path) -> Option<String> {
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.map(|name| name.to_string_lossy().into_owned());
        self.name.clone().or(folder)
    }

    /// Whether the device can judge a case: the emulated one leaves out the large ones, which a
    /// caveat says.
    pub fn fits(&self, case: &Case, device: &DeviceInfo) -> bool {
        let most = self.cpu_max_cells.filter(|_| device.emulated);
        most.is_none_or(|most| case.cells() <= most)
    }

    /// The cases of this occasion that the device can judge.
    pub fn cases_of(&self, when: When, device: &DeviceInfo) -> Vec<Arc<Case>> {
        let judged = |case: &&Arc<Case>| case.when <= when && self.fits(case, device);
        self.cases.iter().filter(judged).cloned().collect()
    }

    /// `struct LabDims` of C++.
    pub fn dims_struct(&self) -> String {
        let field = |dim: &String| format!("    int {dim};\n");
        let fields: String = self.dims.iter().map(field).collect();
        format!("struct LabDims {{\n{fields}}};\n")
    }

    /// The text of `lab_problem.h`.
    pub fn header(&self) -> String {
        format!(
            "// Generated from problem.toml.\n#pragma once\n{}",
            self.dims_struct()
        )
    }

    /// The tensors. Their names and roles are the same in every case.
    pub fn tensors(&self) -> &[CaseTensor] {
        self.cases.first().map_or(&[], |case| &case.tensors)
    }

    /// The first case of each entry that kernel.cu must have.
    pub fn case_of_each_entry(&self) -> Vec<&Case> {
        let mut found: Vec<&Case> = Vec::new();
        for case in &self.cases {
            if !found.iter().any(|known| known.entry == case.entry) {
                found.push(case);
            }
        }
        found
    }
}
