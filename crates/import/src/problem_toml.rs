//! The text of problem.toml for a problem whose tensors are known.

use itertools::Itertools;

/// A tensor of the problem.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Comment lines above it.
    pub about: &'static str,
    pub name: String,
    /// `in`, `out` or `inout`.
    pub role: &'static str,
    pub kind: &'static str,
    /// Numbers and expressions over the dimensions.
    pub shape: Vec<String>,
    /// The line `values = …` of an input, with the comment above it, and other lines.
    pub values: String,
}

/// A scalar of the problem.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Comment lines above it.
    pub about: &'static str,
    pub name: String,
    pub kind: &'static str,
    /// The value as TOML, with the comment behind it.
    pub value: String,
}

/// What a problem.toml says.
#[derive(Default)]
pub struct ProblemToml<'a> {
    /// What the problem is, and where it comes from: comments, a line each.
    pub about: &'a [String],
    pub name: &'a str,
    pub entry: &'a str,
    /// Comment lines above `dims`.
    pub about_dims: &'a str,
    pub dims: &'a [String],
    /// Lines between `dims` and `cpu_max_cells`.
    pub about_cells: &'a str,
    /// Lines below `cpu_max_cells`.
    pub keys: &'a str,
    pub tensors: &'a [Tensor],
    pub scalars: &'a [Scalar],
    /// Comment lines and tables.
    pub tolerances: &'a str,
    /// Lines below `[objective]`.
    pub objective: &'a str,
    /// The tables of the workloads.
    pub workloads: &'a str,
}

impl ProblemToml<'_> {
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in self.about.iter().flat_map(|text| text.lines()) {
            out += &format!("# {}\n", line.trim());
        }
        let dims = self.dims.iter().map(|dim| format!("\"{dim}\"")).join(", ");
        out += &format!(
            "# `lab help kernels` explains every key.\nkind = \"tensor\"\nname = \"{}\"\nentry = \"{}\"\n{}dims = [{}]\n\
             {}cpu_max_cells = 300_000\n{}",
            self.name, self.entry, self.about_dims, dims, self.about_cells, self.keys
        );
        for tensor in self.tensors {
            let shape = tensor.shape.iter().map(|extent| quoted(extent)).join(", ");
            out += &format!(
                "\n{}[[tensor]]\nname = \"{}\"\nrole = \"{}\"\ntype = \"{}\"\nshape = [{}]\n{}",
                tensor.about, tensor.name, tensor.role, tensor.kind, shape, tensor.values
            );
        }
        for scalar in self.scalars {
            out += &format!(
                "\n{}[[scalar]]\nname = \"{}\"\ntype = \"{}\"\nvalue = {}\n",
                scalar.about, scalar.name, scalar.kind, scalar.value
            );
        }
        out + &format!(
            "\n{}[objective]\n{}\n{}",
            self.tolerances, self.objective, self.workloads
        )
    }
}

/// An extent: a number, or an expression in quotes.
pub fn quoted(extent: &str) -> String {
    match extent.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => format!("\"{extent}\""),
    }
}

/// A tolerance for each type of floats among these, with the numbers that belong to it.
pub fn tolerances(
    of: &str,
    kinds: impl Iterator<Item = &'static str>,
    numbers: impl Fn(&str) -> (String, String),
) -> String {
    let mut kinds: Vec<&str> = kinds.filter(|kind| kind.contains('f')).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut out = String::new();
    for kind in kinds {
        let (atol, rtol) = numbers(kind);
        out += &format!("[tolerance.{kind}]\natol = {atol}\nrtol = {rtol}\n\n");
    }
    match out.is_empty() {
        true => out,
        false => format!("# {of}\n{out}"),
    }
}
