//! The text of problem.toml.

use super::interval;
use super::plan::{Dim, Plan, Scalar, Tensor, Value};
use super::roles::Role;
use crate::names::listed;
use crate::problem_toml::{self, ProblemToml};
use crate::values;
use itertools::Itertools;
use std::collections::BTreeSet;

/// The sizes of the workloads by the number of dimensions: for the first run, and for a GPU.
const SIZES: [[i128; 3]; 4] = [
    [1024, 65_536, 16_777_216],
    [64, 256, 4096],
    [32, 64, 1024],
    [8, 16, 64],
];

/// Most cells of a tensor in a workload: 256 MiB of f32.
const MOST_CELLS: i128 = 1 << 26;

/// Most cells of all tensors in the smallest workload, so that the emulated device takes it too.
const ON_CPU: i128 = 300_000;

/// Extents below this are not halved for the emulated device.
const LEAST: i128 = 8;

/// Threads of a block where a dimension says how many.
const THREADS: i128 = 256;

/// Most threads of a block.
const MOST_THREADS: i128 = 1024;

/// Most cells of a workload whose reference computes everything on one thread.
const ON_ONE_THREAD: i128 = 1 << 20;

/// What problem.toml says in its comments and its head.
pub struct Head<'a> {
    /// The problem's name.
    pub name: &'a str,
    /// The published kernel.
    pub kernel: &'a str,
    pub entry: &'a str,
    /// The published file's name.
    pub file: &'a str,
    /// Comment lines above `dims`.
    pub about_dims: &'a str,
    /// The reference computes everything on one thread.
    pub is_slow: bool,
}

/// Writes problem.toml.
pub fn text(plan: &Plan, head: &Head) -> String {
    let Head {
        name,
        kernel,
        entry,
        file,
        about_dims,
        is_slow,
    } = *head;
    let results = || plan.tensors.iter().filter(|tensor| tensor.is_result());
    let tolerances = problem_toml::tolerances(
        "A guess. A cell matches if |got - want| <= atol + rtol * |want|.",
        results().map(|tensor| tensor.element.name),
        tolerance,
    );
    let samples = results().next().map(|tensor| tensor.shape.join(" * "));
    ProblemToml {
        about: &[format!(
            "{kernel} of {file}. `lab init` wrote this from the kernel's parameters: look at each line that says \"guess\"."
        )],
        name,
        entry,
        about_dims,
        dims: &plan.dims.iter().map(|dim| dim.name.clone()).collect::<Vec<_>>(),
        about_cells: "\n# \"cold\": the L2 cache is flushed before each timed launch. \"warm\": a launch may find the data of the launch before.\n\
                      cache = \"cold\"\n\n\
                      # The emulated device leaves out workloads with more cells than this in all tensors together.\n",
        keys: &multiples(plan),
        tensors: &plan.tensors.iter().map(tensor).collect::<Vec<_>>(),
        scalars: &plan.scalars.iter().map(scalar).collect::<Vec<_>>(),
        tolerances: &(tolerances + "# throughput_sps counts cells of the result.\n"),
        objective: &format!("samples = \"{}\"\n", samples.unwrap_or_default()),
        workloads: &workloads(plan, is_slow),
    }
    .text()
}

/// The key `multiple_of` for rows that the kernel reads by vectors such as `float4`.
fn multiples(plan: &Plan) -> String {
    let width = |dim: &Dim| {
        let rows = plan.tensors.iter().filter(|tensor| {
            tensor.shape.last() == Some(&dim.name) && tensor.element.packed.is_none()
        });
        rows.map(|tensor| tensor.element.width).max()
    };
    let of_dim = |dim: &Dim| match width(dim) {
        // The workloads are multiples of these.
        Some(width @ (2 | 4)) if dim.fixed.is_none() => Some(format!("{} = {width}", dim.name)),
        _ => None,
    };
    let all = plan.dims.iter().filter_map(of_dim).join(", ");
    match all.is_empty() {
        true => all,
        false => format!(
            "\n# A guess: the kernel reads so many numbers at a time.\nmultiple_of = {{ {all} }}\n"
        ),
    }
}

fn tensor(tensor: &Tensor) -> problem_toml::Tensor {
    let values = match tensor.role {
        Role::Out => "",
        _ => values::of(tensor.element.name),
    };
    let between = match tensor.is_between {
        true => {
            "# A guess: only a later kernel reads it, so it is not compared.\ncompare = false\n"
        }
        false => "",
    };
    let packed = tensor.element.packed.as_ref().map(|of| {
        format!(
            "# A guess: the bytes of {of}, {} in each. Set `values` so that each part of it is a sensible number.\n",
            tensor.element.width
        )
    });
    problem_toml::Tensor {
        about: match (tensor.is_guess, tensor.is_role_guess) {
            (true, true) => "# The shape and the role are guesses.\n",
            (true, false) => "# The shape is a guess.\n",
            (false, true) => "# The role is a guess.\n",
            (false, false) => "",
        },
        name: tensor.name.clone(),
        role: match tensor.role {
            Role::In => "in",
            Role::Out => "out",
            Role::InOut => "inout",
        },
        kind: tensor.element.name,
        shape: tensor.shape.clone(),
        values: packed.unwrap_or_default() + values + between,
    }
}

fn scalar(scalar: &Scalar) -> problem_toml::Scalar {
    let value = match (scalar.kind, &scalar.value) {
        (_, Value::Enumerator(name, value)) => format!("{value}  # {name}"),
        (_, Value::Given(value)) => value.clone(),
        (_, Value::Stride(columns)) => format!("\"{columns}\""),
        ("f32" | "f64", _) => "0.5".to_owned(),
        ("bool", _) => "true".to_owned(),
        _ => "1".to_owned(),
    };
    problem_toml::Scalar {
        about: match scalar.value {
            Value::Stride(_) => "# A guess: a row begins right behind the row before it.\n",
            Value::Given(_) => "# A guess: the value that the file gives it.\n",
            _ => "# A guess: nothing in the file says the value.\n",
        },
        name: scalar.name.clone(),
        kind: scalar.kind,
        value,
    }
}

/// The tolerances for a type of floats.
fn tolerance(kind: &str) -> (String, String) {
    let (atol, rtol) = match kind {
        "f64" => ("1e-9", "1e-9"),
        "f32" => ("1e-4", "1e-4"),
        "f16" => ("1e-2", "1e-2"),
        "bf16" => ("5e-2", "2e-2"),
        _ => ("1e-1", "1.3e-1"),
    };
    (atol.to_owned(), rtol.to_owned())
}

/// The extents of the dimensions in a workload, in their order.
type Extents<'a> = Vec<(&'a str, i128)>;

fn workloads(plan: &Plan, is_slow: bool) -> String {
    let dims = &plan.dims;
    let mut out = String::from(
        "# Workloads are checked and timed. These sizes are multiples of 8, because many published kernels need that. Replace\n\
         # them by those that matter to you. Sizes beside them are checked too, without a workload: `lab help kernels`, `ragged`.\n",
    );
    let is_free = |dim: &&Dim| dim.fixed.is_none() && !is_block(plan, dim);
    let count = dims.iter().filter(is_free).count();
    let mut seen = BTreeSet::new();
    for (at, size) in SIZES[(count.max(1) - 1).min(SIZES.len() - 1)]
        .into_iter()
        .enumerate()
    {
        let extents = fitting(plan, size, at == 0);
        let all = extents.iter().map(|(_, extent)| *extent);
        let on_one_thread = all.fold(1, i128::saturating_mul);
        if is_slow && on_one_thread > ON_ONE_THREAD {
            continue;
        }
        let extents = extents.iter();
        let mut extents = extents.map(|(name, extent)| format!("{name} = {extent}"));
        let extents = extents.join(", ");
        if seen.insert(extents.clone()) {
            out += &format!("[[workload]]\ndims = {{ {extents} }}\n\n");
        }
    }
    let fixed = dims.iter().filter(|dim| dim.fixed.is_some());
    if let Some(fixed) = listed(fixed.map(|dim| &dim.name)) {
        out += &format!("# The published file launches this kernel only with this {fixed}.\n");
    }
    let threads = dims.iter().filter(|dim| is_block(plan, dim));
    if let Some(threads) = listed(threads.map(|dim| &dim.name)) {
        out += &format!("# A guess: {threads}, the number of threads in a block.\n");
    }
    out.trim_end().to_owned() + "\n"
}

/// Whether a dimension says how many threads a block has, and nothing else.
fn is_block(plan: &Plan, dim: &Dim) -> bool {
    let mut shapes = plan.tensors.iter().flat_map(|tensor| &tensor.shape);
    dim.fixed.is_none() && dim.is_threads && !shapes.any(|extent| names(extent, &dim.name))
}

/// Whether an extent names a dimension.
fn names(extent: &str, name: &str) -> bool {
    lab_source::cpp::words(extent).contains(&name)
}

/// A workload of this size, or the next smaller one that `lab` takes. In the smallest workload no
/// two neighbours are alike, so that a kernel that mixes up two dimensions fails there.
fn fitting(plan: &Plan, size: i128, is_smallest: bool) -> Extents<'_> {
    let mut size = size;
    loop {
        let mut number = 0;
        let extent = |dim: &'_ Dim| {
            if let Some(fixed) = dim.fixed {
                return fixed;
            }
            if is_block(plan, dim) {
                return THREADS;
            }
            let extent = if is_smallest {
                size << (number % 3)
            } else {
                size
            };
            number += 1;
            if dim.is_threads {
                extent.min(MOST_THREADS)
            } else {
                extent
            }
        };
        let each = plan.dims.iter();
        let values: Vec<i128> = each.map(extent).collect();
        let extents: Extents = plan
            .dims
            .iter()
            .map(|dim| dim.name.as_str())
            .zip(values)
            .collect();
        let cells = cells(plan, &extents);
        let all = cells.iter().copied().fold(0, i128::saturating_add);
        let largest = cells.into_iter().max().unwrap_or(0);
        let is_small = size <= LEAST || !is_smallest || all <= ON_CPU;
        if size <= 1 || (largest <= MOST_CELLS && is_small) {
            return extents;
        }
        size /= 2;
    }
}

/// The cells of each tensor whose shape can be computed.
fn cells(plan: &Plan, extents: &Extents) -> Vec<i128> {
    let look = |name: &str| {
        let mut known = extents.iter().filter(|(known, _)| *known == name);
        known.next().map(|(_, extent)| *extent)
    };
    let of = plan.tensors.iter().map(|tensor| {
        let extents = tensor.shape.iter();
        let mut extents = extents.map(|extent| interval::constant(extent, &look));
        extents.try_fold(1_i128, |all, extent| all.checked_mul(extent?))
    });
    of.flatten().collect()
}
