//! A checked tensor problem: every name is known, and every shape is a number.

use super::drawn_scalars::ScalarDraw;
use super::fixed::FixedTensor;
use super::gate_keys::NamedGate;
use super::input_values::InputValues;
use super::objective::{Amounts, Objective};
use super::pictured::Pictured;
use super::planted::Planting;
use super::random::number_of;
use super::turn::Turn;
use super::view::View;
use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::probe::bounds::{CacheState, Demand};
use crate::problem::peer::PeerSpec;
use itertools::Itertools as _;
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
    /// Architectures that the kernel is built for beside the run's own.
    pub targets: Vec<String>,
    /// The dimensions that are not tried at an extent that no workload has: no small case has one.
    pub not_ragged: Vec<String>,
    /// Whether the timed launches run as one CUDA graph, where the device has graphs.
    pub graph: bool,
    /// What is in the L2 cache when a timed launch begins.
    pub cache: CacheState,
    pub objective: Objective,
    /// Other implementations, which the kernel may be timed beside.
    pub peers: Vec<PeerSpec>,
    /// Workloads for tools that watch every access. Without any, the tools get one of `cases`.
    pub checks: Vec<Arc<Case>>,
    /// Macros of `lab_problem.h`, each with a dimension that has one extent in all cases.
    pub macros: Vec<(String, String)>,
    /// The name of the struct that holds the scalars; `None` if each is a parameter.
    pub scalar_struct: Option<String>,
}

/// How the kernel uses a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorRole {
    #[default]
    In,
    Out,
    /// Holds values before the launch, which the kernel overwrites.
    Inout,
    /// Memory of the kernel's own: zeros before the launch, compared with nothing after it.
    Scratch,
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
    /// Sets of inputs; `None` lets their number follow from the size.
    pub sets: Option<usize>,
    /// Sets that make a timed window as long as it should be.
    pub window_sets: usize,
    /// How many timed cases the problem has; 0 of a case that is not timed.
    pub timed: usize,
    /// Whether only the cpu device, or only other devices run the case; `None` if every device
    /// does.
    pub only_emulated: Option<bool>,
    /// What the reference writes about the inputs.
    pub accepts: Vec<Accept>,
    /// The kernel takes the scalars as one struct, and no dimensions.
    pub has_struct: bool,
    /// What to do if the kernel is wrong only here.
    pub hint: Option<String>,
    /// Which of the run's joint sets are the case's; none unless the case came from
    /// [`ProblemSpec::cases_of`].
    pub turn: Turn,
}

/// A number that the reference writes beside its outputs. Inputs whose number is out of these
/// limits are drawn again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    pub name: String,
    pub least: Option<f64>,
    pub most: Option<f64>,
    /// After so many draws of a set the number is no longer asked for.
    pub attempts: Option<u32>,
}

/// A tensor of a case.
#[derive(Clone, Debug, Default)]
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
    /// The values that an input has in every set of every run.
    pub fixed: Option<FixedTensor>,
    /// The kernel gets a null pointer.
    pub is_null: bool,
    /// An output that is there and not compared. The reference writes it all the same.
    pub is_uncompared: bool,
    /// An output that no case compares, and that the reference need not write.
    pub is_workspace: bool,
    /// Gates in place of those on error and mismatches.
    pub gates: Vec<NamedGate>,
    /// The numbers of the outputs without which this one is not compared.
    pub after: Vec<usize>,
    /// The parts that the kernel gets pointers to, in place of one to the tensor.
    pub views: Vec<View>,
    /// The pictures of what was wrong in this tensor, in any case.
    pub pictured: Arc<Pictured>,
}

/// A scalar parameter of the kernel.
#[derive(Clone, Debug)]
pub struct CaseScalar {
    pub name: String,
    pub dtype: Dtype,
    /// The value; of a drawn scalar one that it may have.
    pub bytes: Vec<u8>,
    /// How each set draws the value.
    pub draw: Option<ScalarDraw>,
    /// Sets with extremes in all inputs have another value.
    pub varies: bool,
}

impl CaseTensor {
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn bytes(&self) -> usize {
        self.cells() * self.dtype.size()
    }

    /// Whether the tensor holds results of the kernel.
    pub fn is_output(&self) -> bool {
        matches!(self.role, TensorRole::Out | TensorRole::Inout)
    }

    /// Whether what a launch leaves there is compared with what is expected.
    pub fn is_compared(&self) -> bool {
        self.is_output() && !self.is_uncompared && !self.is_workspace
    }

    /// Whether each set of inputs has a content of its own for the tensor.
    pub fn is_of_a_set(&self) -> bool {
        self.role != TensorRole::Scratch && self.fixed.is_none() && !self.is_null
    }

    /// The number of the output whose expected values the input holds.
    pub fn expected_of(&self) -> Option<usize> {
        self.values.as_ref().and_then(InputValues::expected_of)
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
        let places = self.place(flat).iter().map(usize::to_string).join(", ");
        format!("{}[{}]", self.name, places)
    }
}

impl Case {
    /// The extent of a dimension; 0 if there is none of this name.
    pub fn extent(&self, dim: &str) -> i32 {
        let mut dims = self.dims.iter();
        dims.find(|(name, _)| name == dim).map_or(0, |(_, n)| *n)
    }

    /// The cells of a set of inputs and outputs.
    pub fn cells(&self) -> usize {
        let of_a_set = self.tensors.iter().filter(|tensor| tensor.is_of_a_set());
        of_a_set.map(CaseTensor::cells).sum()
    }

    /// Whether inputs have the same values in every run, so that one launch could do work for the
    /// next.
    pub fn has_fixed(&self) -> bool {
        self.tensors.iter().any(|tensor| tensor.fixed.is_some())
    }

    /// Whether a launch finds something in what it writes.
    pub fn has_state(&self) -> bool {
        let state =
            |tensor: &CaseTensor| matches!(tensor.role, TensorRole::Inout | TensorRole::Scratch);
        self.tensors.iter().any(state)
    }

    /// The case as the reference launches it: it gets no input that holds its own results, writes
    /// every output, and a number for each of `accepts`.
    pub fn for_reference(&self) -> Case {
        let mut case = self.clone();
        for tensor in &mut case.tensors {
            tensor.is_null = tensor.expected_of().is_some();
            tensor.is_uncompared = false;
        }
        let number = |accept: &Accept| CaseTensor {
            name: accept.name.clone(),
            role: TensorRole::Out,
            dtype: Dtype::F32,
            shape: vec![1],
            ..CaseTensor::default()
        };
        case.tensors.extend(self.accepts.iter().map(number));
        case
    }

    /// Bytes of the tensors that satisfy a condition.
    pub fn bytes_of(&self, is_counted: impl Fn(&CaseTensor) -> bool) -> usize {
        let counted = self.tensors.iter().filter(|tensor| is_counted(tensor));
        counted
            .map(CaseTensor::bytes)
            .fold(0, usize::saturating_add)
    }

    /// The bytes of the `LabDims` that the launch statement gets.
    pub fn bytes_of_dims(&self) -> Vec<u8> {
        let each = self.dims.iter().flat_map(|(_, n)| n.to_le_bytes());
        each.collect()
    }

    /// The bytes of the kernel's last parameters, with these scalars: the scalars, then the dims;
    /// or one struct of the scalars.
    pub fn numbers(&self, scalars: &[Vec<u8>]) -> Vec<Vec<u8>> {
        if !self.has_struct {
            let dims = self.dims.iter().map(|(_, n)| n.to_le_bytes().to_vec());
            return scalars.iter().cloned().chain(dims).collect();
        }
        // As C++ lays it out: each member at a multiple of its size.
        let (mut bytes, mut largest) = (Vec::new(), 1);
        for scalar in scalars {
            largest = largest.max(scalar.len());
            bytes.resize(bytes.len().next_multiple_of(scalar.len().max(1)), 0);
            bytes.extend_from_slice(scalar);
        }
        bytes.resize(bytes.len().next_multiple_of(largest), 0);
        vec![bytes]
    }

    /// The bytes of each scalar in the set with this number.
    pub fn draw_scalars(&self, seed: u64, set: usize) -> Vec<Vec<u8>> {
        let of = |scalar: &CaseScalar| match &scalar.draw {
            None => scalar.bytes.clone(),
            Some(draw) => {
                let seed_of =
                    |what: &str| self.seed(seed, &format!("{what} scalar {}", scalar.name));
                // Neighbouring sets have values from different halves of the range.
                let half = (set as u64 ^ seed_of("half of")) & 1;
                draw.draw(scalar.dtype, half == 1, seed_of(&set.to_string()))
            }
        };
        self.scalars.iter().map(of).collect()
    }

    /// Whether a kernel tells the cases apart by their null pointers.
    pub fn has_other_pointers(&self, other: &Case) -> bool {
        let nulls = |case: &Case| -> Vec<bool> {
            case.tensors.iter().map(|tensor| tensor.is_null).collect()
        };
        nulls(self) != nulls(other)
    }

    /// Whether a device of this kind runs the case.
    pub fn is_for(&self, device: &DeviceInfo) -> bool {
        self.only_emulated
            .is_none_or(|emulated| emulated == device.emulated)
    }

    /// A seed for one use in the case.
    pub fn seed(&self, seed: u64, used_for: &str) -> u64 {
        number_of(&format!("{seed} {} {} {used_for}", self.entry, self.label))
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
            steps: self.amounts.dependent_steps,
            exchanges: self.amounts.exchanges,
        }
    }

    /// Whether there are outputs in which only two launches show a cell that the kernel never
    /// wrote.
    pub fn needs_two_launches(&self) -> bool {
        let mut tensors = self.tensors.iter().filter(|tensor| tensor.is_compared());
        tensors.any(|t| t.role == TensorRole::Out && t.dtype.marks().is_none())
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
        case.is_for(device) && most.is_none_or(|most| case.cells() <= most)
    }

    /// The cases of this occasion that the device can judge.
    pub fn cases_of(&self, when: When, device: &DeviceInfo) -> Vec<Arc<Case>> {
        let judged = |case: &&Arc<Case>| case.when <= when && self.fits(case, device);
        let judged = self.cases.iter().filter(judged).cloned();
        let mut judged = judged.collect_vec();
        // A case that is checked for its extents alone holds no extremes.
        let cells = judged.iter().map(|case| match case.hint {
            Some(_) => usize::MAX,
            None => case.cells(),
        });
        let cells = cells.collect_vec();
        for (case, turn) in judged.iter_mut().zip(Turn::of_each(&cells, device)) {
            Arc::make_mut(case).turn = turn;
        }
        judged
    }

    /// `struct LabDims` of C++.
    pub fn dims_struct(&self) -> String {
        let field = |dim: &String| format!("    int {dim};\n");
        let fields: String = self.dims.iter().map(field).collect();
        format!("struct LabDims {{\n{fields}}};\n")
    }

    /// The text of `lab_problem.h` for this case.
    pub fn header(&self, case: Option<&Case>) -> String {
        let mut text = "// Generated from problem.toml.\n#pragma once\n".to_owned();
        for (name, of) in &self.macros {
            let mut dims = case.iter().flat_map(|case| &case.dims);
            let extent = dims.find(|(dim, _)| dim == of).map_or(0, |(_, n)| *n);
            text += &format!("#define {name} {extent}\n");
        }
        text += &self.dims_struct();
        if let (Some(name), Some(case)) = (&self.scalar_struct, case) {
            let member = |scalar: &CaseScalar| {
                format!("    {} {};\n", scalar.dtype.in_source(), scalar.name)
            };
            let members: String = case.scalars.iter().map(member).collect();
            text += &format!("struct {name} {{\n{members}}};\n");
        }
        text
    }

    /// A case that this device runs, for what all cases have in common.
    pub fn any_case(&self, device: &DeviceInfo) -> Option<&Case> {
        let mut cases = self.cases.iter().filter(|case| case.is_for(device));
        cases.next().map(|case| &**case)
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
