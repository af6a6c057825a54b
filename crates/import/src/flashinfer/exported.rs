//! A kernel of lab as a solution of flashinfer-bench.

use super::definition::{Definition, named};
use crate::names::Names;
use itertools::Itertools;
use serde_json::json;

/// A kernel of a problem that comes from a definition.
pub struct Kernel<'a> {
    /// The name of the solution.
    pub name: &'a str,
    pub author: &'a str,
    /// Where the kernel comes from, and what was measured.
    pub description: &'a str,
    /// Of problem.toml.
    pub entry: &'a str,
    /// A Python file: the kernel, or an extension for PyTorch that holds it.
    pub text: &'a str,
    /// The file is an extension that `lab export --to torch` writes.
    pub is_extension: bool,
    /// What it was measured on.
    pub hardware: &'a str,
}

impl Definition {
    /// The text of the solution. The error says which axis is no extent.
    pub fn solution(&self, kernel: &Kernel) -> Result<String, String> {
        let (parameters, given) = self.given()?;
        let call = match kernel.is_extension {
            true => format!("    _lab_call(\"kernel\", {{{given}}})\n"),
            false => format!(
                "    given = {{{given}}}\n    wanted = _lab_inspect.signature({0}).parameters\n    \
                 {0}(**{{name: given[name] for name in wanted}})\n",
                kernel.entry
            ),
        };
        let import = match kernel.is_extension {
            true => "",
            false => "import inspect as _lab_inspect\n\n\n",
        };
        let text = format!(
            "{}\n\n\n{import}def lab_solution({parameters}):\n    \"\"\"What flashinfer-bench calls: it writes into the outputs.\"\"\"\n{call}",
            kernel.text.trim_end()
        );
        let language = match kernel.text.contains("import triton") {
            true => "triton",
            false => "python",
        };
        let dependencies = match language {
            "triton" => vec!["torch", "triton"],
            _ => vec!["torch"],
        };
        let solution = json!({
            "name": kernel.name,
            "definition": self.name,
            "author": kernel.author,
            "description": kernel.description,
            "spec": {
                "language": language,
                "target_hardware": [kernel.hardware],
                "entry_point": "kernel.py::lab_solution",
                "dependencies": dependencies,
                "destination_passing_style": true,
            },
            "sources": [{ "path": "kernel.py", "content": text }],
        });
        Ok(format!("{solution:#}\n"))
    }

    /// The parameters that flashinfer-bench gives, and what of them has which name in problem.toml.
    fn given(&self) -> Result<(String, String), String> {
        let mut names = Names::default();
        let axes = self.axes.iter();
        let axes: Vec<String> = axes.map(|(axis, _)| names.free(axis, false)).collect();
        let inputs = named(&self.inputs, false, &mut names)?;
        let outputs = named(&self.outputs, true, &mut names)?;
        let tensors: Vec<_> = inputs.iter().chain(&outputs).collect();
        let mut given: Vec<String> = tensors
            .iter()
            .map(|named| format!("\"{}\": {}", named.name, named.published))
            .collect();
        for ((axis, about), name) in self.axes.iter().zip(&axes) {
            let extent = tensors.iter().find_map(|named| {
                let at = named
                    .tensor
                    .shape
                    .as_ref()?
                    .iter()
                    .position(|of| of == axis)?;
                Some(format!("{}.shape[{at}]", named.published))
            });
            let value = about.value.map(|value| value.to_string()).or(extent);
            let value = value.ok_or_else(|| format!("the axis {axis} is no extent of a tensor"))?;
            given.push(format!("\"{name}\": {value}"));
        }
        let parameters = tensors.iter().map(|named| named.published).join(", ");
        Ok((parameters, given.join(", ")))
    }
}
