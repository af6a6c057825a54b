//! Reading the problem.toml of a tensor problem, and checking that it makes sense.

mod cases;
mod given;
mod identifier;
mod names;
mod peers;
pub mod text;
mod tolerance;

use super::expression::Expression;
use super::objective::{Figure, Objective};
use super::planted::{PlantedText, Planting};
use super::spec::{ProblemSpec, TensorRole};
use super::values_text::NpyFiles;
use crate::dtype::Dtype;
use crate::outcome::Stop;
use crate::problem::key_error::{KeyError, toml_error};
pub use identifier::PYTHON_WORDS;
use identifier::is_identifier;
use lab_protocol::When;
use names::{KEYWORDS, SIZE_OF_T};
use peers::PeersOf;
use std::path::Path;
use text::{ExtentText, ProblemFile, TensorText};

/// How the check before a keep draws shapes.
#[derive(Clone, Copy, Debug)]
pub struct KeepCheck {
    pub seed: u64,
    /// The occasion whose workloads it times.
    pub timed: When,
}

/// Reads the problem.toml at `path`, which has this text. With `held_out`, the shapes that
/// `[[keep]]` describes are drawn and added. An error names the line and the column of the key.
pub fn parse(path: &Path, text: &str, held_out: Option<KeepCheck>) -> Result<ProblemSpec, Stop> {
    let mut file = read(path, text)?;
    file.files = NpyFiles::new(path.parent().unwrap_or(Path::new(".")));
    if let Some(check) = held_out {
        file.draw_shapes(check);
    }
    file.check().map_err(|error| error.stop(path, text))
}

/// Reads the keys of the problem.toml at `path`, unchecked.
pub fn read(path: &Path, text: &str) -> Result<ProblemFile, Stop> {
    toml::from_str(text).map_err(|e| toml_error(path, text, &e))
}

/// Most launches in a row. Each check makes them all.
const MOST_STEPS: usize = 1000;

/// A file whose expressions are parsed.
struct ParsedFile<'a> {
    file: &'a ProblemFile,
    /// The names that expressions may use.
    names: Vec<&'a str>,
    tensors: Vec<ParsedTensor<'a>>,
    samples: Expression,
    bytes: Option<Expression>,
    flops: Option<Expression>,
}

/// A tensor whose shape is still expressions.
struct ParsedTensor<'a> {
    text: &'a TensorText,
    shape: Vec<Expression>,
    planted: Planting,
}

impl ProblemFile {
    fn check(&self) -> Result<ProblemSpec, KeyError> {
        self.check_names()?;
        self.check_types()?;
        let parsed = self.parsed()?;
        self.check_steps()?;
        let cases = parsed.cases()?;
        parsed.check_drawn()?;
        let graph = self.graph.unwrap_or(true);
        let of = PeersOf {
            entry: &self.entry,
            types: &self.types,
            graph,
        };
        Ok(ProblemSpec {
            name: self.name.clone(),
            dims: self.dims.clone(),
            cases,
            cpu_max_cells: self.cpu_max_cells,
            graph,
            cache: self.cache,
            objective: Objective {
                figure: self.objective.measure,
                aggregate: self.objective.aggregate,
            },
            peers: peers::peers(&self.peer, &of)?,
        })
    }

    fn parsed(&self) -> Result<ParsedFile<'_>, KeyError> {
        let names = self.names();
        let tensors = self.tensors(&names)?;
        self.check_scalars(&names)?;
        let expression = |key: &str, text: &str| {
            Expression::parse(text, &names).map_err(|e| KeyError::new(format!("{key}: {e}")))
        };
        let optional = |key: &str, text: &Option<String>| {
            let parsed = text.as_deref().map(|text| expression(key, text));
            parsed.transpose().map_err(|e| e.within(key))
        };
        let samples = expression("objective.samples", self.samples()?)
            .map_err(|e| e.within("samples").within("objective"))?;
        let bytes = optional("bytes", &self.bytes)?;
        let flops = optional("flops", &self.flops)?;
        Ok(ParsedFile {
            file: self,
            names,
            tensors,
            samples,
            bytes,
            flops,
        })
    }

    fn check_steps(&self) -> Result<(), KeyError> {
        let what = match self.steps {
            1 => return Ok(()),
            2..=MOST_STEPS if self.tensor.iter().any(|t| t.role == TensorRole::Inout) => {
                return Ok(());
            }
            2..=MOST_STEPS => {
                "no tensor has role \"inout\", so a launch leaves nothing to the next one".into()
            }
            steps => format!("{steps}: it must be from 1 to {MOST_STEPS}"),
        };
        Err(KeyError::at("steps", format!("steps: {what}")))
    }

    /// The expression for the samples of a launch. A launch is one sample if something else is the
    /// measure and nothing is said.
    fn samples(&self) -> Result<&str, KeyError> {
        let wrong = |key: &str, what: &str| Err(KeyError::at(key, what).within("objective"));
        match (self.objective.measure, self.objective.samples.as_deref()) {
            (Figure::Tflops, _) if self.flops.is_none() => wrong(
                "measure",
                "objective.measure: tflops needs the operations of a launch, as in flops = \"2 * m * n * k\" at the top",
            ),
            (_, Some(samples)) => Ok(samples),
            (Figure::Samples, None) => wrong(
                "samples",
                "objective.samples is missing: say how many samples one launch counts, as in samples = \"rows\", or choose \
                 another measure: time, tflops, gbps",
            ),
            (_, None) => Ok("1"),
        }
    }

    /// The names that expressions may use.
    fn names(&self) -> Vec<&str> {
        let size = (!self.types.is_empty()).then_some(SIZE_OF_T);
        self.dims.iter().map(String::as_str).chain(size).collect()
    }

    fn check_types(&self) -> Result<(), KeyError> {
        let parameter = self.tensor.iter().position(|t| t.dtype.is_none());
        if let Some(i) = parameter.filter(|_| self.types.is_empty()) {
            let what = format!(
                "tensor '{}' has type T, but nothing says what T is: add types = [\"f32\", \"f16\"]",
                self.tensor[i].name
            );
            return Err(KeyError::at("type", what).item("tensor", i));
        }
        if !self.types.is_empty() && parameter.is_none() {
            let what = "types is given, but no tensor has type \"T\"";
            return Err(KeyError::at("types", what));
        }
        if let Some(i) = (1..self.types.len()).find(|i| self.types[..*i].contains(&self.types[*i]))
        {
            let what = format!("types: {} is given twice", self.types[i]);
            return Err(KeyError::new(what).item("types", i));
        }
        self.check_entry()?;
        for (dtype, t) in &self.tolerance {
            t.check(&self.names()).map_err(|e| {
                let error = e.of(format_args!("tolerance.{dtype}"));
                error.within(dtype.word()).within("tolerance")
            })?;
        }
        Ok(())
    }

    fn check_entry(&self) -> Result<(), KeyError> {
        let entry = &self.entry;
        let what = if entry.contains("{T}") == self.types.is_empty() {
            ": with types it contains {T}, as in \"rmsnorm_{T}\", and without it does not"
        } else if !is_identifier(&entry.replace("{T}", "x")) {
            " is not the name of a function"
        } else if KEYWORDS.contains(&entry.as_str()) {
            " is a word of C++: choose another name"
        } else {
            return Ok(());
        };
        Err(KeyError::at("entry", format!("entry: '{entry}'{what}")))
    }

    fn tensors(&self, names: &[&str]) -> Result<Vec<ParsedTensor<'_>>, KeyError> {
        if self.tensor.iter().all(|t| t.role == TensorRole::In) {
            let what = "tensor: none has role \"out\" or \"inout\", so there is nothing to compare";
            return Err(KeyError::at("role", what).item("tensor", 0));
        }
        let tensor = |(i, t)| self.tensor(t, names).map_err(|e| self.of_tensor(i, e));
        self.tensor.iter().enumerate().map(tensor).collect()
    }

    /// An error of a tensor's own keys.
    fn of_tensor(&self, i: usize, error: KeyError) -> KeyError {
        let name = &self.tensor[i].name;
        error.of(format_args!("tensor '{name}'")).item("tensor", i)
    }

    fn tensor<'a>(&self, t: &'a TensorText, names: &[&str]) -> Result<ParsedTensor<'a>, KeyError> {
        if let Some(values) = &t.values {
            if t.role == TensorRole::Out {
                let what = "an output has no values: the kernel writes them";
                return Err(KeyError::at("values", what));
            }
            values
                .check(names)
                .map_err(|e| e.of("values").within("values"))?;
        }
        self.check_tolerance(t, names)?;
        let extent = |(i, extent): (usize, &ExtentText)| {
            Expression::parse(&extent.text(), names)
                .map_err(|e| KeyError::new(format!("shape: {e}")).item("shape", i))
        };
        let shape = t.shape.iter().enumerate().map(extent);
        let shape: Vec<Expression> = shape.collect::<Result<_, _>>()?;
        if shape.is_empty() {
            let what = "shape: give at least one extent, as in shape = [1]";
            return Err(KeyError::at("shape", what));
        }
        let planted = self
            .planting(t, t.planted.as_ref())
            .map_err(|e| e.within("planted"))?;
        Ok(ParsedTensor {
            text: t,
            shape,
            planted,
        })
    }

    /// Checks a tensor's own tolerance, or that each of its types has one.
    fn check_tolerance(&self, t: &TensorText, names: &[&str]) -> Result<(), KeyError> {
        let error = match &t.tolerance {
            Some(_) if t.role == TensorRole::In => {
                KeyError::new("tolerance is for outputs: an input is not compared with a tolerance")
            }
            Some(tolerance) => match tolerance.check(names) {
                Ok(()) => return Ok(()),
                Err(error) => error.of("tolerance"),
            },
            None if t.role == TensorRole::In => return Ok(()),
            None => {
                let without = |d: &Dtype| d.integers().is_none() && !self.tolerance.contains_key(d);
                let Some(dtype) = self.concrete(t.dtype).into_iter().find(without) else {
                    return Ok(());
                };
                return Err(KeyError::at(
                    "type",
                    format!(
                        "it is compared as {dtype}, and there is no tolerance for {dtype}: add [tolerance.{dtype}] with atol and rtol"
                    ),
                ));
            }
        };
        Err(error.within("tolerance"))
    }

    /// What is planted into a tensor as `text` says, which may be its own key or that of a
    /// workload.
    fn planting(&self, t: &TensorText, text: Option<&PlantedText>) -> Result<Planting, KeyError> {
        let Some(text) = text else {
            return Ok(Planting::default());
        };
        let planting = text.planting(t.shape.len(), &self.concrete(t.dtype))?;
        match t.role {
            TensorRole::Out if !planting.kinds.is_empty() => {
                Err("planted is for inputs: an output has no values".into())
            }
            _ => Ok(planting),
        }
    }

    /// The types that a tensor has in any case.
    fn concrete(&self, dtype: Option<Dtype>) -> Vec<Dtype> {
        dtype.map_or_else(|| self.types.clone(), |fixed| vec![fixed])
    }
}
