//! Tasks of GPU MODE: task.yml, reference.py with `generate_input` and `ref_kernel`, and submissions
//! with `custom_kernel`. <https://github.com/gpu-mode/reference-kernels>

use super::fit::named_in;
use super::tensors::Tensors;
use super::{Answer, Observation};
use crate::problem::{NewFile, Problem};
use crate::problem_toml::{self, ProblemToml};
use crate::python::{self, Wrapper};
use crate::yaml;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A task.yml.
#[derive(Debug, Deserialize)]
pub struct Task {
    files: Vec<TaskFile>,
    lang: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    config: Map<String, Value>,
    #[serde(default)]
    templates: BTreeMap<String, String>,
    #[serde(default)]
    tests: Vec<Map<String, Value>>,
    #[serde(default)]
    benchmarks: Vec<Map<String, Value>>,
    ranking_by: Option<String>,
    #[serde(default)]
    multi_gpu: bool,
}

#[derive(Debug, Deserialize)]
struct TaskFile {
    name: String,
    source: String,
}

/// What stands for the submission in a task.yml.
const SUBMISSION: &str = "@SUBMISSION@";

/// What a problem for a task is made of.
pub struct TaskTexts<'a> {
    /// The name of the new folder.
    pub name: &'a str,
    pub reference: &'a str,
    /// The submission; without it, the kernel computes as the reference does.
    pub submission: Option<&'a str>,
    /// The other modules of the task: name and text.
    pub modules: &'a [(String, String)],
}

impl Task {
    /// Reads a task.yml. The error says what is wrong in it, or which task lab cannot judge.
    pub fn read(text: &str) -> Result<Task, String> {
        let task: Task = serde_json::from_value(yaml::read(text)?)
            .map_err(|error| format!("it is no task of GPU MODE: {error}"))?;
        if task.lang != "py" {
            return Err(format!(
                "its submissions are in {}, with a program of their own around them: `lab init` reads those in Python",
                task.lang
            ));
        }
        if task.multi_gpu {
            return Err("its kernels run on several GPUs, and lab judges on one".to_owned());
        }
        if task.tests.is_empty() && task.benchmarks.is_empty() {
            return Err("it has no tests and no benchmarks".to_owned());
        }
        Ok(task)
    }

    /// Whether a text defines what GPU MODE calls.
    pub fn is_submission(text: &str) -> bool {
        let begins = ["def custom_kernel(", "custom_kernel ="];
        text.lines()
            .any(|line| begins.iter().any(|begin| line.starts_with(begin)))
    }

    /// The modules beside the submission: name and path, which is relative to task.yml.
    pub fn modules(&self) -> impl Iterator<Item = (&str, &str)> {
        let main = self.config.get("main").and_then(Value::as_str);
        let files = self.files.iter().filter(move |file| {
            file.source != SUBMISSION
                && Some(file.name.as_str()) != main
                && file.name.ends_with(".py")
        });
        files.map(|file| (file.name.as_str(), file.source.as_str()))
    }

    /// The file with which a submission in Python begins, relative to task.yml.
    pub fn template(&self) -> Option<&str> {
        self.templates.get("Python").map(String::as_str)
    }

    /// The cases, benchmarks first.
    pub fn cases(&self) -> Vec<&Map<String, Value>> {
        self.benchmarks.iter().chain(&self.tests).collect()
    }

    /// The problem, from what was seen of it. The error says what problem.toml cannot say.
    pub fn problem(&self, texts: &TaskTexts, answer: &Answer) -> Result<Problem, String> {
        let all: Vec<&Observation> = answer.observations.iter().collect();
        let first = *all.first().ok_or("nothing was seen of it")?;
        let sizes = first.dims.iter();
        let sizes = sizes.filter(|(name, value)| value.is_i64() && *name != "seed");
        let sizes: Vec<String> = sizes.map(|(name, _)| name.clone()).collect();
        let tensors = Tensors::of(&all, &sizes, true)?;
        let submission = texts.submission.unwrap_or(texts.reference);
        let function = match texts.submission {
            Some(text) if Task::is_submission(text) => "custom_kernel",
            Some(_) => return Err("the submission has no function custom_kernel".to_owned()),
            None => "ref_kernel",
        };
        let entry = python::entry(texts.name, &[texts.reference, submission]);
        let module = |title: &str, text: &str, function: &str| {
            module(&tensors, &entry, (title, text), function)
        };
        let kernel = match texts.submission {
            Some(_) => format!("A submission for {}.", texts.name),
            None => format!(
                "{}: it computes as the reference does. Replace it by your kernel.",
                texts.name
            ),
        };
        let reference = format!("The reference of {}, as GPU MODE publishes it.", texts.name);
        let mut files = vec![
            NewFile::new(
                "problem.toml",
                self.problem_toml(texts.name, &entry, &tensors, answer)?,
            ),
            NewFile::new("kernel.py", module(&kernel, submission, function)),
            NewFile::new(
                "reference.py",
                module(&reference, texts.reference, "ref_kernel"),
            ),
        ];
        let modules = texts.modules.iter();
        files.extend(modules.map(|(name, text)| NewFile::new(name, text.clone())));
        Ok(Problem {
            entry,
            files,
            notes: self.notes(&tensors, answer),
            lacks_reference: false,
        })
    }

    /// What is a guess, and what is not carried over.
    fn notes(&self, tensors: &Tensors, answer: &Answer) -> Vec<String> {
        let mut notes = tensors.notes.clone();
        notes.extend(
            answer
                .observations
                .first()
                .and_then(|first| tensors.guess_of_outputs(first)),
        );
        let kept = |name: &String| tensors.dims.iter().any(|(_, published)| published == name);
        let cases = self.cases();
        let mut left: Vec<&str> = Vec::new();
        for name in cases
            .iter()
            .flat_map(|case| case.keys())
            .filter(|name| !kept(name))
        {
            if !left.contains(&name.as_str()) {
                left.push(name);
            }
        }
        let left = match left.is_empty() {
            true => String::new(),
            false => format!(", and nothing depends on {}", left.join(", ")),
        };
        notes.push(format!(
            "generate_input is not carried over: lab draws the inputs anew in each run, as problem.toml says{left}"
        ));
        if answer.is_guess {
            notes.push("problem.toml: the tolerances are a guess, because check_implementation computes them".to_owned());
        }
        if self.ranking_by.as_deref().is_none_or(|by| by == "last") {
            notes.push("the task ranks by its last benchmark, and lab by all of them: delete other tables [[workload]] for that".to_owned());
        }
        notes
    }

    fn problem_toml(
        &self,
        name: &str,
        entry: &str,
        tensors: &Tensors,
        answer: &Answer,
    ) -> Result<String, String> {
        let outputs = tensors.tensors.iter().filter(|tensor| tensor.role != "in");
        let stated = |key: &str, usual: &str| {
            let stated = answer.tolerance.as_ref().and_then(|stated| stated.get(key));
            stated.map_or_else(|| usual.to_owned(), |number| format!("{number:e}"))
        };
        let numbers = |_: &str| match answer.exact {
            true => ("0".to_owned(), "0".to_owned()),
            false => (stated("atol", "1e-4"), stated("rtol", "1e-4")),
        };
        let of = match answer.is_guess {
            true => "A guess: check_implementation computes the tolerances.",
            false => "The tolerances of check_implementation.",
        };
        let tolerances = problem_toml::tolerances(of, outputs.map(|tensor| tensor.kind), numbers);
        let aggregate = match self.ranking_by.as_deref() {
            Some("mean") => "aggregate = \"arithmetic\"\n",
            _ => "",
        };
        let about: Vec<String> = self.description.lines().map(str::to_owned).collect();
        let about = [vec![format!("The task {name} of GPU MODE.")], about].concat();
        Ok(ProblemToml {
            about: &about,
            name,
            entry,
            dims: &tensors.dim_names(),
            keys: "# The task asks for these sizes alone. Without this line lab also tries extents beside them.\nragged = false\n",
            tensors: &tensors.tensors,
            tolerances: &tolerances,
            objective: &format!("measure = \"time\"\n{aggregate}"),
            workloads: &self.workloads(tensors, answer)?,
            ..ProblemToml::default()
        }
        .text())
    }

    /// Benchmarks are timed, tests are not. Cases that differ in nothing that lab knows are one.
    fn workloads(&self, tensors: &Tensors, answer: &Answer) -> Result<String, String> {
        let mut tables: Vec<String> = Vec::new();
        let mut out = String::new();
        for (at, case) in self.cases().into_iter().enumerate() {
            let seen = answer
                .observations
                .iter()
                .position(|seen| seen.case == Some(at));
            let table = tensors
                .workload(|name| case.get(name), seen)
                .ok_or_else(|| {
                    format!(
                        "the extents of the case {} are not known",
                        Value::Object(case.clone())
                    )
                })?;
            if tables.contains(&table) {
                continue;
            }
            let is_timed = at < self.benchmarks.len() || self.benchmarks.is_empty();
            out += if is_timed {
                "[[workload]]\n"
            } else {
                "[[held_out]]\n"
            };
            out += &format!("{table}\n");
            tables.push(table);
        }
        Ok(out.trim_end().to_owned() + "\n")
    }
}

/// A Python file with this title and text, and the function that `lab` calls.
fn module(tensors: &Tensors, entry: &str, (title, text): (&str, &str), function: &str) -> String {
    let dims = tensors.dim_names();
    let is_used = |dim: &&String| tensors.names.iter().any(|name| named_in(name, dim));
    let used = dims.iter().filter(is_used).cloned();
    let names = tensors.tensors.iter().map(|tensor| tensor.name.clone());
    let parameters: Vec<String> = names.chain(used).collect();
    let wrapper = Wrapper {
        entry,
        parameters: &parameters,
        call: &format!("{function}({})", tensors.call),
        returned: &tensors.returned,
    };
    python::file(title, text, &wrapper.text())
}
