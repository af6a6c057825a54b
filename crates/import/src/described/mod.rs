//! Problems whose tensors only a program in Python knows: those of KernelBench, and tasks of GPU
//! MODE. [`SCRIPT`] says what it saw of them, and this module what problem that is.

mod fit;
mod kernelbench;
mod task;
mod tensors;
mod triton;

pub use kernelbench::KernelBench;
pub use task::{Task, TaskTexts};
pub use triton::{SCRIPT as TRITON, Triton, request as triton_request};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The program that looks at a problem: `python -c SCRIPT REQUEST`.
pub const SCRIPT: &str = include_str!("describe.py");

/// What the line with its answer begins with.
pub const MARK: &str = "lab-describes: ";

/// What the program says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Why it can say nothing.
    pub error: Option<String>,
    /// The names of sizes that may differ.
    free: Vec<String>,
    observations: Vec<Observation>,
    /// The stated tolerances of a task.
    tolerance: Option<BTreeMap<String, f64>>,
    /// A task compares for equality.
    exact: bool,
    /// The tolerances are not those of the task.
    is_guess: bool,
}

/// One call of the published function.
#[derive(Debug, Deserialize)]
struct Observation {
    /// The sizes, and what else the call was told.
    dims: IndexMap<String, Value>,
    /// What the function gets, with `{0}`, `{1}`, … for the leaves.
    call: String,
    leaves: Vec<Leaf>,
    /// The leaves that the function returns, in its order.
    returned: Vec<usize>,
    /// The arguments with which a model is made, as Python.
    init: Option<String>,
    /// The weights of a model, with the placeholder of each.
    weights: Option<BTreeMap<String, String>>,
    /// The number of the case; `None` for one that the program made up.
    case: Option<usize>,
    /// The shapes of the outputs are a guess.
    #[serde(default)]
    is_guessed: bool,
    /// The model computes in f64 too.
    #[serde(default)]
    is_wide: bool,
}

/// A tensor, or a whole number.
#[derive(Debug, Deserialize)]
struct Leaf {
    name: String,
    number: Option<i64>,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    shape: Vec<i64>,
    values: Option<Drawn>,
    #[serde(default)]
    role: String,
}

/// How the cells of a tensor are drawn.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Drawn {
    Uniform(f64, f64),
    Normal(f64, f64),
    Integers(i64, i64),
    Constant(f64),
    /// Not at all.
    Empty(bool),
}

/// What a request says of what is executed.
pub fn request(form: &str, run: bool, more: Value) -> String {
    let mut request = serde_json::json!({ "form": form, "run": run });
    if let (Value::Object(request), Value::Object(more)) = (&mut request, more) {
        request.extend(more);
    }
    request.to_string()
}

#[cfg(test)]
mod tests;
