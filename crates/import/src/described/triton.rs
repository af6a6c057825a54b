//! The problem for a Triton kernel, from what [`SCRIPT`] reads in its source.

use crate::cuda::plan::{Dim, Plan, Scalar, Tensor, Value};
use crate::cuda::problem_text::{self, Head};
use crate::cuda::{roles::Role, types, with_word};
use crate::names::{Names, listed};
use crate::problem::{NewFile, Problem};
use crate::python;
use itertools::Itertools;
use serde::Deserialize;
use std::path::Path;

/// The program that reads a file: `python -c SCRIPT REQUEST`.
pub const SCRIPT: &str = include_str!("triton.py");

/// A kernel with `@triton.jit`, as the program describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Triton {
    /// Why it can say nothing.
    pub error: Option<String>,
    /// The name of its function.
    pub kernel: String,
    /// The file without what it does when it is imported.
    code: String,
    /// The lines that launch the kernel.
    body: Vec<String>,
    dims: Vec<String>,
    scalars: Vec<Number>,
    tensors: Vec<Described>,
    /// What of the launch the file does not say.
    guesses: Vec<String>,
}

/// A tensor of the kernel.
#[derive(Debug, Deserialize)]
struct Described {
    name: String,
    role: String,
    shape: Vec<String>,
}

/// A number that is no size.
#[derive(Debug, Deserialize)]
struct Number {
    name: String,
    /// What the host code gives it.
    value: Option<String>,
}

/// What the program is asked. Without `entry` it takes the only kernel.
pub fn request(path: &Path, entry: Option<&str>) -> String {
    serde_json::json!({ "path": path.to_string_lossy(), "entry": entry }).to_string()
}

impl Triton {
    /// The problem. `file` is the name of the published file.
    pub fn problem(&self, name: &str, file: &str) -> Result<Problem, String> {
        let kernel = &self.kernel;
        let (plan, renamed) = self.plan()?;
        let entry = python::entry(&name.to_lowercase(), &[&self.code]);
        let tensors = plan.tensors.iter().map(|tensor| &tensor.name);
        let scalars = plan.scalars.iter().map(|scalar| &scalar.name);
        let dims = plan.dims.iter().map(|dim| &dim.name);
        let parameters = tensors.chain(scalars).chain(dims).join(", ");
        let head = format!("def {entry}({parameters}):\n");
        let body: String = renamed
            .iter()
            .chain(&self.body)
            .map(|line| format!("    {line}\n"))
            .collect();
        let title = format!(
            "{kernel} of {file}. `lab init` wrote {entry}, and left out what {file} does when it is imported."
        );
        let of_role = |is_result: bool| {
            let all = plan.tensors.iter();
            let all = all.filter(|of| (of.role != Role::In) == is_result);
            all.map(|of| &of.name).join(", ")
        };
        let (results, inputs) = (of_role(true), of_role(false));
        let from = if inputs.is_empty() {
            inputs
        } else {
            format!(" from {inputs}")
        };
        let reference = format!(
            "\"\"\"The reference: its results are what is right. It is not written yet.\"\"\"\n\n\n{head}    raise \
             NotImplementedError(\"compute {results}{from} in float64, write with {results}[...] = …, and delete this line\")\n"
        );
        let of_problem = Head {
            name,
            kernel,
            entry: &entry,
            file,
            about_dims: "# The function gets tensors, scalars and dimensions by their names.\n",
            is_slow: false,
        };
        let mut notes = vec![
            "problem.toml: shapes and types are guesses, because a Triton kernel does not say them"
                .to_owned(),
        ];
        let guesses = listed(&self.guesses);
        notes.extend(guesses.map(|what| format!("kernel.py: {what} of the launch: a guess")));
        Ok(Problem {
            entry: kernel.clone(),
            files: vec![
                NewFile::new("problem.toml", problem_text::text(&plan, &of_problem)),
                NewFile::new(
                    "kernel.py",
                    python::file(&title, &self.code, &(head + &body)),
                ),
                NewFile::new("reference.py", reference),
            ],
            notes,
            lacks_reference: true,
        })
    }

    /// The problem, and lines that give its names those of the launch.
    fn plan(&self) -> Result<(Plan, Vec<String>), String> {
        let float = types::element("float").ok_or("there is no float")?;
        let mut names = Names::default();
        let mut renamed = Vec::new();
        let mut free = |name: &String, is_lower: bool| {
            let free = names.free(name, is_lower);
            if free != *name {
                renamed.push(format!("{name} = {free}"));
            }
            free
        };
        // A size keeps its name where an output could have it too.
        let dims: Vec<(&String, String)> = self
            .dims
            .iter()
            .map(|name| (name, free(name, false)))
            .collect();
        let extent = |text: &String| {
            let dims = dims.iter();
            dims.fold(text.clone(), |text, (name, by)| with_word(&text, name, by))
        };
        let mut plan = Plan::default();
        for (number, of) in self.tensors.iter().enumerate() {
            let role = match of.role.as_str() {
                "in" => Role::In,
                "out" => Role::Out,
                _ => Role::InOut,
            };
            plan.tensors.push(Tensor {
                number,
                name: free(&of.name, role != Role::In),
                element: float.clone(),
                role,
                shape: of.shape.iter().map(extent).collect(),
                is_guess: true,
                is_role_guess: false,
                is_const: false,
                is_between: false,
            });
        }
        for (number, of) in self.scalars.iter().enumerate() {
            plan.scalars.push(Scalar {
                number,
                name: free(&of.name, false),
                kind: float.name,
                value: of.value.clone().map_or(Value::Guess, Value::Given),
            });
        }
        plan.dims = dims
            .into_iter()
            .map(|(_, name)| Dim::of_launch(name))
            .collect();
        Ok((plan, renamed))
    }
}
