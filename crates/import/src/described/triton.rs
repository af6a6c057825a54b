//! The problem for a Triton kernel, from what [`SCRIPT`] reads in its source.

use crate::cuda::plan::{Dim, Plan, Scalar, Tensor};
use crate::cuda::problem_text::{self, Head};
use crate::cuda::{roles::Role, types};
use crate::names::listed;
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
    scalars: Vec<String>,
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

/// What the program is asked. Without `entry` it takes the only kernel.
pub fn request(path: &Path, entry: Option<&str>) -> String {
    serde_json::json!({ "path": path.to_string_lossy(), "entry": entry }).to_string()
}

impl Triton {
    /// The problem. `file` is the name of the published file.
    pub fn problem(&self, name: &str, file: &str) -> Result<Problem, String> {
        let kernel = &self.kernel;
        let plan = self.plan()?;
        let entry = python::entry(&name.to_lowercase(), &[&self.code]);
        let tensors = self.tensors.iter().map(|tensor| &tensor.name);
        let parameters = tensors.chain(&self.scalars).chain(&self.dims).join(", ");
        let head = format!("def {entry}({parameters}):\n");
        let body: String = self
            .body
            .iter()
            .map(|line| format!("    {line}\n"))
            .collect();
        let title = format!(
            "{kernel} of {file}. `lab init` wrote {entry}, and left out what {file} does when it is imported."
        );
        let of_role = |is_result: bool| {
            let all = self
                .tensors
                .iter()
                .filter(|of| (of.role != "in") == is_result);
            all.map(|of| &of.name).join(", ")
        };
        let (results, inputs) = (of_role(true), of_role(false));
        let reference = format!(
            "\"\"\"The reference: its results are what is right. It is not written yet.\"\"\"\n\n\n{head}    raise \
             NotImplementedError(\"compute {results} from {inputs} in float64, write with {results}[...] = …, and delete this line\")\n"
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

    fn plan(&self) -> Result<Plan, String> {
        let float = types::element("float").ok_or("there is no float")?;
        let tensor = |(number, of): (usize, &Described)| Tensor {
            number,
            name: of.name.clone(),
            element: float.clone(),
            role: match of.role.as_str() {
                "in" => Role::In,
                "out" => Role::Out,
                _ => Role::InOut,
            },
            shape: of.shape.clone(),
            is_guess: true,
            is_const: false,
            is_between: false,
        };
        let scalar = |(number, name): (usize, &String)| Scalar {
            number,
            name: name.clone(),
            kind: float.name,
            first: None,
        };
        let dim = |name: &String| Dim {
            number: None,
            name: name.clone(),
            fixed: None,
        };
        Ok(Plan {
            tensors: self.tensors.iter().enumerate().map(tensor).collect(),
            scalars: self.scalars.iter().enumerate().map(scalar).collect(),
            dims: self.dims.iter().map(dim).collect(),
            ..Plan::default()
        })
    }
}
