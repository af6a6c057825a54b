//! Definitions of flashinfer-bench: a JSON file with axes, inputs, outputs and a reference in
//! Python. <https://github.com/flashinfer-ai/flashinfer-bench> describes the format.

mod definition;
mod exported;
mod kernel;
mod layout;
mod solution;

pub use definition::Definition;
pub use exported::Kernel;
pub use solution::Solution;

use crate::names::{Names, listed};
use crate::problem_toml::{self, ProblemToml};
use crate::python::{self, Wrapper};
use crate::values;
use crate::{NewFile, Problem};
use definition::named;
use itertools::Itertools;
use layout::Layout;
use solution::Kind;

/// The name of the file with the workloads in the new folder.
pub const WORKLOADS: &str = "workloads.jsonl";

/// The name of the copy of the definition in the new folder: an export reads it.
pub const DEFINITION: &str = "definition.json";

/// What a problem is asked for.
pub struct Request<'a> {
    /// The name of the new folder.
    pub name: &'a str,
    /// The text of the file with the workloads.
    pub workloads: Option<&'a str>,
    /// What becomes the kernel; without it, the kernel computes as the reference does.
    pub solution: Option<&'a Solution>,
    /// Of a solution in CUDA C++: the `__global__` function that becomes the kernel.
    pub function: Option<&'a str>,
}

impl Definition {
    /// The problem for it. The error names what problem.toml cannot say, or what of the solution
    /// cannot become the kernel.
    pub fn problem(&self, request: &Request) -> Result<Problem, String> {
        let mut names = Names::default();
        let axes = self.axes.iter();
        let axes = axes.map(|(axis, _)| (names.free(axis, false), axis.as_str()));
        let axes: Vec<(String, &str)> = axes.collect();
        let inputs = named(&self.inputs, false, &mut names)?;
        let outputs = named(&self.outputs, true, &mut names)?;
        let all = inputs.iter().chain(&outputs);
        let all: Vec<String> = all.map(|named| named.name.clone()).collect();
        let returned = outputs.iter();
        let returned: Vec<(String, String)> = returned
            .map(|output| (output.name.clone(), output.published.to_owned()))
            .collect();
        let mut layout = Layout::of(axes, inputs.clone(), outputs.clone());
        let reference_call = {
            let mut each = inputs.iter().map(|n| format!("{}={}", n.published, n.name));
            format!("run({})", each.join(", "))
        };
        let computes = |title: &str, entry: &str| {
            let wrapper = Wrapper {
                entry,
                parameters: &all,
                call: &reference_call,
                returned: &returned,
            };
            python::file(title, &self.reference, &wrapper.text())
        };
        let mut problem = match request.solution {
            None => {
                let entry = python::entry(&self.name, &[&self.reference]);
                let title = format!(
                    "{}: it computes as the reference does. Replace it by your kernel.",
                    self.name
                );
                Problem {
                    files: vec![NewFile::new("kernel.py", computes(&title, &entry))],
                    entry,
                    notes: Vec::new(),
                    lacks_reference: false,
                }
            }
            Some(solution) => match solution.kind()? {
                Kind::Python => self.python_kernel(solution, &all, &returned)?,
                Kind::Cuda => self.cuda_kernel(solution, request.function, &mut layout)?,
            },
        };
        let title = format!(
            "The reference of {}, as flashinfer-bench publishes it.",
            self.name
        );
        let problem_toml = self.problem_toml(request, &problem.entry, &layout)?;
        let reference = computes(&title, &problem.entry);
        let Problem { files, notes, .. } = &mut problem;
        files.insert(0, NewFile::new("problem.toml", problem_toml));
        files.push(NewFile::new("reference.py", reference));
        match request.workloads {
            Some(text) => files.push(NewFile::new(WORKLOADS, text.to_owned())),
            None => notes.push(
                "problem.toml: the workloads are a guess, because no .jsonl with them was found"
                    .to_owned(),
            ),
        }
        if request
            .workloads
            .is_some_and(|text| text.contains("\"safetensors\""))
        {
            notes.push("some inputs come from safetensors files, which lab does not read: it draws them as problem.toml says".to_owned());
        }
        Ok(problem)
    }

    fn problem_toml(
        &self,
        request: &Request,
        entry: &str,
        layout: &Layout,
    ) -> Result<String, String> {
        let about = self
            .description
            .as_deref()
            .unwrap_or(&self.name)
            .replace('\n', " ");
        let solution = request.solution.map_or(String::new(), |solution| {
            format!(", its kernel from the solution {}", solution.title())
        });
        let from = format!(
            "From the definition {} of flashinfer-bench{solution}.",
            self.name
        );
        let tensors = self.tensors(layout)?;
        let scalars = layout.scalars.iter().map(|(named, value)| {
            let guess = if named.kind == "bool" { "true" } else { "1" };
            problem_toml::Scalar {
                about: "",
                name: named.name.clone(),
                kind: named.kind,
                value: value
                    .clone()
                    .unwrap_or_else(|| format!("{guess}  # the workloads may say another one")),
            }
        });
        let outputs = || tensors.iter().filter(|tensor| tensor.role == "out");
        let samples = outputs()
            .next()
            .ok_or("it has no output")?
            .shape
            .join(" * ");
        let tolerances = problem_toml::tolerances(
            "The tolerances that flashinfer-bench takes by default.",
            outputs().map(|tensor| tensor.kind),
            |_| ("1e-2".to_owned(), "1e-2".to_owned()),
        );
        let names: Vec<String> = layout.axes.iter().map(|(name, _)| name.clone()).collect();
        Ok(ProblemToml {
            about: &[about, from],
            name: request.name,
            entry,
            dims: &names,
            tensors: &tensors,
            scalars: &scalars.collect::<Vec<_>>(),
            tolerances: &tolerances,
            objective: &format!("samples = \"{samples}\"\n"),
            workloads: &self.workload(request.workloads.is_some(), layout),
            ..ProblemToml::default()
        }
        .text())
    }

    fn tensors(&self, layout: &Layout) -> Result<Vec<problem_toml::Tensor>, String> {
        let tensors = layout.tensors.iter().map(|(named, role)| {
            let values = match *role {
                "in" => values::of(named.kind),
                _ => "",
            };
            Ok(problem_toml::Tensor {
                about: "",
                name: named.name.clone(),
                role,
                kind: named.kind,
                shape: self.extents(named, &layout.axes)?,
                values: values.to_owned(),
            })
        });
        tensors.collect()
    }

    /// The table of the workloads.
    fn workload(&self, has_workloads: bool, layout: &Layout) -> String {
        let fixed = layout.axes.iter().filter_map(|(name, axis)| {
            let value = self.axis(axis)?.value.or((!has_workloads).then_some(64))?;
            Some(format!("{name} = {value}"))
        });
        let dims = listed(fixed).map(|fixed| format!("dims = {{ {fixed} }}\n"));
        let lines = match has_workloads {
            true => format!("jsonl = \"{WORKLOADS}\"\n"),
            false => String::new(),
        };
        format!("[[workload]]\n{lines}{}", dims.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const DEFINITION: &str = r#"{"name": "norm_d64", "op_type": "norm", "axes": {"batch": {"type": "var"}, "d": {"type": "const", "value": 64}},
        "inputs": {"X": {"shape": ["batch", "d"], "dtype": "float16"}, "eps": {"shape": null, "dtype": "float32"}},
        "outputs": {"Y": {"shape": ["batch", "d"], "dtype": "float16"}, "A": {"shape": ["batch"], "dtype": "float32"}},
        "reference": "def run(X, eps):\n    return X + eps, X[:, 0]"}"#;

    const ASKED: Request = Request {
        name: "norm",
        workloads: None,
        solution: None,
        function: None,
    };

    #[test]
    fn a_definition_becomes_a_problem_in_the_order_of_its_keys() {
        let definition = Definition::read(DEFINITION).unwrap();
        let problem = definition
            .problem(&Request {
                workloads: Some("{\"axes\": {\"batch\": 4}}\n"),
                ..ASKED
            })
            .unwrap();
        let text = |name: &str| {
            let file = problem.files.iter().find(|file| file.name == name);
            file.unwrap().text.clone()
        };
        let toml = text("problem.toml");
        for wanted in [
            "dims = [\"batch\", \"d\"]",
            "name = \"y\"\nrole = \"out\"\ntype = \"f16\"\nshape = [\"batch\", \"d\"]",
            "[[scalar]]\nname = \"eps\"\ntype = \"f32\"",
            "jsonl = \"workloads.jsonl\"\ndims = { d = 64 }",
        ] {
            assert!(toml.contains(wanted), "{wanted} is not in {toml}");
        }
        let python = text("reference.py");
        for wanted in [
            "def norm_d64(X, eps, y, a):",
            "run(X=X, eps=eps)",
            "for _into, _result in zip([y, a], _results):",
        ] {
            assert!(python.contains(wanted), "{wanted} is not in {python}");
        }
        let alone = definition.problem(&ASKED).unwrap();
        assert!(
            alone.files[0]
                .text
                .contains("dims = { batch = 64, d = 64 }")
        );
    }

    #[test]
    fn what_cannot_be_said_is_named() {
        let four_bits = DEFINITION.replace("float16", "float4_e2m1");
        let error = Definition::read(&four_bits)
            .unwrap()
            .problem(&ASKED)
            .unwrap_err();
        assert_eq!(
            error,
            "X has the type float4_e2m1, which problem.toml does not have"
        );
        assert!(
            Definition::read("{}")
                .unwrap_err()
                .contains("missing field")
        );
    }
}
