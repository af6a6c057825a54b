//! Problems of KernelBench: a Python file with `Model`, `get_inputs` and `get_init_inputs`, and
//! solutions with `ModelNew`. <https://github.com/ScalingIntelligence/KernelBench>

use super::tensors::{Tensors, filled};
use super::{Answer, Observation};
use crate::problem::{NewFile, Problem};
use crate::problem_toml::{self, ProblemToml};
use crate::python::{self, Wrapper};

/// A problem of KernelBench.
pub struct KernelBench<'a> {
    /// The name of the new folder.
    pub name: &'a str,
    /// The name of the published file.
    pub file: &'a str,
    pub text: &'a str,
    /// The text of the file with `ModelNew`, if it is another one.
    pub solution: Option<&'a str>,
}

/// The tolerances of KernelBench for a type.
fn tolerance(kind: &str) -> (String, String) {
    let number = if kind == "f32" || kind == "f64" {
        "1e-4"
    } else {
        "1e-2"
    };
    (number.to_owned(), number.to_owned())
}

impl KernelBench<'_> {
    /// Whether a text is a problem of KernelBench.
    pub fn is(text: &str) -> bool {
        ["class Model(", "def get_inputs(", "def get_init_inputs("]
            .iter()
            .all(|definition| text.contains(definition))
    }

    /// Whether a text is a solution alone.
    pub fn is_solution(text: &str) -> bool {
        text.contains("class ModelNew(") && !KernelBench::is(text)
    }

    /// The problem, from what was seen of it. The error says what problem.toml cannot say.
    pub fn problem(&self, answer: &Answer) -> Result<Problem, String> {
        let all: Vec<&Observation> = answer.observations.iter().collect();
        let first = *all.first().ok_or("nothing was seen of it")?;
        // Where an extent follows from the sizes in a way that no expression has, the sizes are fixed.
        let tensors = Tensors::of(&all, &answer.free, false)
            .or_else(|_| Tensors::of(&all[..1], &[], false))?;
        let solution = self.solution.unwrap_or(self.text);
        let has_new = solution.contains("class ModelNew(");
        if self.solution.is_some() && !has_new {
            return Err("the solution has no class ModelNew".to_owned());
        }
        let entry = python::entry(&self.name.to_lowercase(), &[self.text, solution]);
        let kernel = if has_new { "ModelNew" } else { "Model" };
        let mut notes = tensors.notes.clone();
        notes.extend(tensors.guess_of_outputs(first));
        let title = match has_new {
            true => format!("ModelNew for {}.", self.file),
            false => format!(
                "Model of {}: it computes as the reference does. Replace it by your kernel.",
                self.file
            ),
        };
        let reference = format!(
            "The reference: Model of {}, as KernelBench publishes it.",
            self.file
        );
        let of_kernel = module(&tensors, first, &entry, (kernel, solution), false)?;
        let model = ("Model", self.text);
        let of_reference = module(&tensors, first, &entry, model, first.is_wide)?;
        let files = vec![
            NewFile::new("problem.toml", self.problem_toml(&tensors, first, &entry)),
            NewFile::new("kernel.py", python::file(&title, solution, &of_kernel)),
            NewFile::new(
                "reference.py",
                python::file(&reference, self.text, &of_reference),
            ),
        ];
        Ok(Problem {
            entry,
            files,
            notes,
            lacks_reference: false,
        })
    }

    fn problem_toml(&self, tensors: &Tensors, first: &Observation, entry: &str) -> String {
        let outputs = tensors.tensors.iter().filter(|tensor| tensor.role != "in");
        let tolerances = problem_toml::tolerances(
            "The tolerances of KernelBench.",
            outputs.map(|tensor| tensor.kind),
            tolerance,
        );
        let workload = tensors
            .workload(|name| first.dims.get(name), Some(0))
            .unwrap_or_default();
        ProblemToml {
            about: &[format!("{} of KernelBench.", self.file)],
            name: self.name,
            entry,
            dims: &tensors.dim_names(),
            keys: "# KernelBench asks for this size alone. Without this line lab also tries extents beside it.\nragged = false\n",
            tensors: &tensors.tensors,
            tolerances: &tolerances,
            objective: "measure = \"time\"\n",
            workloads: &format!("[[workload]]\n{workload}"),
            ..ProblemToml::default()
        }
        .text()
    }
}

/// The function that `lab` calls, with the function that makes the model of this
/// class, whose file has this text. `is_wide`: it computes
/// in f64.
fn module(
    tensors: &Tensors,
    seen: &Observation,
    entry: &str,
    (class, text): (&str, &str),
    is_wide: bool,
) -> Result<String, String> {
    let init = seen.init.as_deref();
    let init =
        init.ok_or("get_init_inputs gives something else than numbers, texts and lists of them")?;
    let called = called(tensors, seen, is_wide)?;
    let wide = if is_wide { ".double()" } else { "" };
    let parameters: Vec<String> = tensors.tensors.iter().map(|it| it.name.clone()).collect();
    let wrapper = Wrapper {
        entry,
        parameters: &parameters,
        call: &called,
        returned: &tensors.returned,
    };
    let import = match text.lines().any(|line| line.trim_end() == "import torch") {
        true => "",
        false => "import torch\n\n",
    };
    Ok(format!(
        "{import}_models = {{}}\n\n\ndef _computed(device, weights, inputs):\n    \
         \"\"\"What the model gives on this device: its weights are inputs of the problem.\"\"\"\n    \
         if device not in _models:\n        torch.manual_seed(0)\n        with torch.device(device):\n            \
         _models[device] = {class}(*{init}){wide}\n        own = {{name for name, _ in _models[device].named_parameters()}}\n        \
         if own != set(weights):\n            raise RuntimeError(f\"{class} has the weights {{sorted(own)}}, and problem.toml gives {{sorted(weights)}}: \"\n                               \
         \"change the weights of one of them\")\n    with torch.no_grad():\n        \
         return torch.func.functional_call(_models[device], weights, inputs)\n\n\n{}",
        wrapper.text()
    ))
}

/// The call of `_computed`: where, with which weights, on which inputs.
fn called(tensors: &Tensors, seen: &Observation, is_wide: bool) -> Result<String, String> {
    let is_float = |name: &String| {
        tensors
            .tensors
            .iter()
            .any(|tensor| tensor.name == *name && tensor.kind.contains('f'))
    };
    let names: Vec<String> = tensors
        .names
        .iter()
        .map(|name| match is_wide && is_float(name) {
            true => format!("{name}.double()"),
            false => name.clone(),
        })
        .collect();
    let call = filled(&seen.call, &names);
    let weights = seen.weights.clone().unwrap_or_default();
    let given: Vec<String> = weights
        .iter()
        .map(|(name, place)| format!("        {name:?}: {},\n", filled(place, &names)))
        .collect();
    let device = tensors
        .tensors
        .iter()
        .find(|tensor| tensor.role != "out")
        .map(|tensor| format!("{}.device", tensor.name))
        .ok_or("it gets no tensor")?;
    Ok(format!(
        "_computed({device}, {{\n{}    }}, {call})",
        given.concat()
    ))
}
