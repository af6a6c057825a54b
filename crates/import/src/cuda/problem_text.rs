//! The text of problem.toml.

use super::plan::{Dim, Plan, Scalar, Tensor};
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
        workloads: &workloads(&plan.dims, is_slow),
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
        about: if tensor.is_guess {
            "# The shape is a guess.\n"
        } else {
            ""
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
    let value = match (scalar.kind, &scalar.first) {
        (_, Some((name, value))) => format!("{value}  # {name}"),
        ("f32" | "f64", _) => "0.5".to_owned(),
        ("bool", _) => "true".to_owned(),
        _ => "1".to_owned(),
    };
    problem_toml::Scalar {
        about: "# A guess: the value with which it is used.\n",
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

fn workloads(dims: &[Dim], is_slow: bool) -> String {
    let sizes = SIZES[(dims.len().max(1) - 1).min(SIZES.len() - 1)];
    let mut out = String::from(
        "# Workloads are checked and timed. These sizes are multiples of 8, because many published kernels need that. Replace\n\
         # them by those that matter to you. Sizes beside them are checked too, without a workload: `lab help kernels`, `ragged`.\n",
    );
    let mut seen = BTreeSet::new();
    let fits = |size: &i128| {
        let cells = size.checked_pow(u32::try_from(dims.len()).unwrap_or(u32::MAX));
        !is_slow || cells.is_some_and(|cells| cells <= ON_ONE_THREAD)
    };
    for size in sizes.into_iter().filter(fits) {
        let extent = |dim: &Dim| format!("{} = {}", dim.name, dim.fixed.unwrap_or(size));
        let extents = dims.iter().map(extent).join(", ");
        if seen.insert(extents.clone()) {
            out += &format!("[[workload]]\ndims = {{ {extents} }}\n\n");
        }
    }
    let fixed = dims.iter().filter(|dim| dim.fixed.is_some());
    if let Some(fixed) = listed(fixed.map(|dim| &dim.name)) {
        out += &format!("# The published file launches this kernel only with this {fixed}.\n");
    }
    out.trim_end().to_owned() + "\n"
}
