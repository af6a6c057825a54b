//! The text of problem.toml.

use super::plan::{Dim, Plan, Tensor};
use super::roles::Role;
use crate::values;
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
        is_slow,
    } = head;
    let dims: Vec<String> = plan
        .dims
        .iter()
        .map(|dim| format!("\"{}\"", dim.name))
        .collect();
    let mut out = format!(
        "# {kernel} of {file}. `lab init` wrote this from the kernel's parameters: look at each line that says \"guess\".\n\
         # `lab help kernels` explains every key.\n\
         kind = \"tensor\"\nname = \"{name}\"\nentry = \"{entry}\"\n\
         # The entry gets the pointers of the tensors, then the scalars, then the dimensions as int.\n\
         dims = [{}]\n\n\
         # \"cold\": the L2 cache is flushed before each timed launch. \"warm\": a launch may find the data of the launch before.\n\
         cache = \"cold\"\n\n\
         # The emulated device leaves out workloads with more cells than this in all tensors together.\n\
         cpu_max_cells = 300_000\n",
        dims.join(", ")
    );
    plan.tensors
        .iter()
        .for_each(|tensor| out += &self::tensor(tensor));
    for scalar in &plan.scalars {
        let value = match scalar.kind {
            "f32" | "f64" => "0.5",
            "bool" => "true",
            _ => "1",
        };
        out += &format!(
            "\n# A guess: the value with which it is used.\n[[scalar]]\nname = \"{}\"\ntype = \"{}\"\nvalue = {value}\n",
            scalar.name, scalar.kind
        );
    }
    out += &tolerances(&plan.tensors);
    out += &objective(&plan.tensors);
    out + &workloads(&plan.dims, *is_slow)
}

fn tensor(tensor: &Tensor) -> String {
    let role = match tensor.role {
        Role::In => "in",
        Role::Out => "out",
        Role::InOut => "inout",
    };
    let shape: Vec<String> = tensor.shape.iter().map(|extent| quoted(extent)).collect();
    let note = if tensor.is_guess {
        "# The shape is a guess.\n"
    } else {
        ""
    };
    let between = if tensor.is_between {
        "# A guess: only a later kernel reads it, so it is not compared.\ncompare = false\n"
    } else {
        ""
    };
    let values = if tensor.role == Role::Out {
        ""
    } else {
        values::of(tensor.element.name)
    };
    format!(
        "\n{note}[[tensor]]\nname = \"{}\"\nrole = \"{role}\"\ntype = \"{}\"\nshape = [{}]\n{values}{between}",
        tensor.name,
        tensor.element.name,
        shape.join(", ")
    )
}

/// An extent: a number, or an expression in quotes.
fn quoted(extent: &str) -> String {
    match extent.parse::<u64>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("\"{extent}\""),
    }
}

/// A tolerance for each type of floats that an output has.
fn tolerances(tensors: &[Tensor]) -> String {
    let outputs = tensors.iter().filter(|tensor| tensor.is_result());
    let kinds: BTreeSet<&str> = outputs.map(|tensor| tensor.element.name).collect();
    let mut out = String::new();
    for kind in kinds {
        let (atol, rtol) = match kind {
            "f64" => ("1e-9", "1e-9"),
            "f32" => ("1e-4", "1e-4"),
            "f16" => ("1e-2", "1e-2"),
            "bf16" => ("5e-2", "2e-2"),
            "f8e4m3" | "f8e5m2" => ("1e-1", "1.3e-1"),
            _ => continue,
        };
        out += &format!("\n[tolerance.{kind}]\natol = {atol}\nrtol = {rtol}\n");
    }
    match out.is_empty() {
        true => out,
        false => {
            format!("\n# A guess. A cell matches if |got - want| <= atol + rtol * |want|.{out}")
        }
    }
}

fn objective(tensors: &[Tensor]) -> String {
    let output = tensors.iter().find(|tensor| tensor.is_result());
    let shape = output
        .map(|tensor| tensor.shape.join(" * "))
        .unwrap_or_default();
    format!("\n# throughput_sps counts cells of the result.\n[objective]\nsamples = \"{shape}\"\n")
}

fn workloads(dims: &[Dim], is_slow: bool) -> String {
    let sizes = SIZES[(dims.len().max(1) - 1).min(SIZES.len() - 1)];
    let mut out = String::from(
        "\n# Workloads are checked and timed. These sizes are multiples of 8, because many published kernels need that. Replace\n\
         # them by those that matter to you. Sizes beside them are checked too, without a workload: `lab help kernels`, `ragged`.\n",
    );
    let mut seen = BTreeSet::new();
    let fits = |size: &i128| {
        let cells = size.checked_pow(u32::try_from(dims.len()).unwrap_or(u32::MAX));
        !is_slow || cells.is_some_and(|cells| cells <= ON_ONE_THREAD)
    };
    for size in sizes.into_iter().filter(fits) {
        let extents: Vec<String> = dims
            .iter()
            .map(|dim| format!("{} = {}", dim.name, dim.fixed.unwrap_or(size)))
            .collect();
        let extents = extents.join(", ");
        if seen.insert(extents.clone()) {
            out += &format!("[[workload]]\ndims = {{ {extents} }}\n\n");
        }
    }
    let fixed: Vec<&str> = dims
        .iter()
        .filter(|dim| dim.fixed.is_some())
        .map(|dim| dim.name.as_str())
        .collect();
    if !fixed.is_empty() {
        out += &format!(
            "# The published file launches this kernel only with this {}.\n",
            fixed.join(", ")
        );
    }
    out.trim_end().to_owned() + "\n"
}
