//! Reading the problem.toml of a tensor problem, and checking that it makes sense.

mod cases;
mod given;
mod grid;
mod jsonl;
mod names;
mod peers;
mod ragged;
mod relations;
pub mod text;
mod tolerance;

use super::gate_keys::GateOf;
use super::input_sets::ResultsOfSets;
use super::objective::{Figure, Objective};
use super::planted::{PlantedText, Planting};
use super::reference_source;
use super::spec::{ProblemSpec, TensorRole};
use super::values_text::NpyFiles;
use super::view::Slice;
use crate::dtype::Dtype;
use crate::outcome::Stop;
use crate::problem::key_error::{InKey, KeyError, Result, toml_error, wrong};
use lab_protocol::text::{is_among, is_identifier};
use lab_protocol::{Language, When};
use lab_source::expression::Expression;
use names::{KEYWORDS, SIZE_OF_T};
pub use peers::PYTHON_WORDS;
use peers::PeersOf;
use std::path::Path;
use std::sync::Arc;
use text::{ProblemFile, TensorText};

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
    let folder = path.parent().unwrap_or(Path::new("."));
    file.files = NpyFiles::new(folder);
    file.expand().map_err(|error| error.stop(path, text))?;
    let has_fast_reference = reference_source::language(folder) == Language::Cuda;
    file.results = match (has_fast_reference, &held_out) {
        (false, _) => ResultsOfSets::Slow,
        (true, None) => ResultsOfSets::Fast,
        (true, Some(_)) => ResultsOfSets::OnDisk,
    };
    if let Some(check) = held_out {
        file.draw_shapes(check);
    }
    file.check().map_err(|error| error.stop(path, text))
}

/// Reads the keys of the problem.toml at `path`, unchecked.
pub fn read(path: &Path, text: &str) -> Result<ProblemFile, Stop> {
    toml::from_str(text).map_err(|e| toml_error(path, text, &e))
}

/// Most architectures that a kernel is built for.
const MOST_TARGETS: usize = 16;

/// Most launches in a row. Each check makes them all.
const MOST_STEPS: usize = 1000;

impl ProblemFile {
    fn check(&self) -> Result<ProblemSpec> {
        self.check_names()?;
        self.check_further_names()?;
        self.check_types()?;
        self.check_tensors()?;
        self.check_scalars()?;
        self.check_amounts()?;
        self.check_steps()?;
        self.check_targets()?;
        let (cases, not_ragged) = self.cases()?;
        let drawn = self.check_drawn()?;
        let checks = self.cases_of_check()?;
        let judged: Vec<_> = cases.iter().chain(&drawn).map(Arc::as_ref).collect();
        let checked: Vec<_> = checks.iter().map(Arc::as_ref).collect();
        [judged, checked]
            .iter()
            .try_for_each(|all| self.check_macros(all))?;
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
            targets: self.targets.clone(),
            not_ragged,
            graph,
            cache: self.cache,
            objective: Objective {
                figure: self.objective.measure,
                aggregate: self.objective.aggregate,
                time_of: self.objective.kernel_us_of,
            },
            peers: peers::peers(&self.peer, &of)?,
            checks,
            macros: self.macros.clone().into_iter().collect(),
            scalar_struct: self.scalar_struct.clone(),
        })
    }

    /// Checks that the expressions for a launch's amounts can be read.
    fn check_amounts(&self) -> Result {
        let names = self.names();
        let check = |text: &str| Expression::parse(text, &names).map(drop);
        in_samples(check(self.samples()?))?;
        let amounts = [
            ("bytes", &self.bytes),
            ("flops", &self.flops),
            ("dependent_steps", &self.dependent_steps),
        ];
        for (key, text) in amounts {
            text.as_deref().map_or(Ok(()), check).key(key)?;
        }
        match self.exchanges.is_some() && self.dependent_steps.is_none() {
            true => wrong(
                "exchanges",
                "exchanges are those of a step: add dependent_steps",
            ),
            false => Ok(()),
        }
    }

    fn check_targets(&self) -> Result {
        for (i, target) in self.targets.iter().enumerate() {
            let number = target.strip_prefix("sm_").unwrap_or_default();
            let digits = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
            let is_arch = !digits.is_empty()
                && digits.bytes().all(|digit| digit.is_ascii_digit())
                && number.len() - digits.len() <= 1;
            let what = if !is_arch {
                "is not an architecture: write it like sm_80 or sm_90a"
            } else if self.targets[..i].contains(target) {
                "is given twice"
            } else {
                continue;
            };
            let what = format!("targets: '{target}' {what}");
            return Err(KeyError::new(what).item("targets", i));
        }
        match self.targets.len() > MOST_TARGETS {
            true => wrong(
                "targets",
                format!("targets: at most {MOST_TARGETS}, because each is built on every save"),
            ),
            false => Ok(()),
        }
    }

    fn check_steps(&self) -> Result {
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
        wrong("steps", format!("steps: {what}"))
    }

    /// The expression for the samples of a launch. A launch is one sample if something else is the
    /// measure and nothing is said.
    fn samples(&self) -> Result<&str> {
        let samples = match (self.objective.measure, self.objective.samples.as_deref()) {
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
        };
        samples.within("objective")
    }

    /// The names that expressions may use.
    fn names(&self) -> Vec<&str> {
        let size = (!self.types.is_empty()).then_some(SIZE_OF_T);
        self.dims.iter().map(String::as_str).chain(size).collect()
    }

    fn check_types(&self) -> Result {
        let parameter = self.tensor.iter().position(|t| t.dtype.is_none());
        if let Some(i) = parameter.filter(|_| self.types.is_empty()) {
            let what = format!(
                "tensor '{}' has type T, but nothing says what T is: add types = [\"f32\", \"f16\"]",
                self.tensor[i].name
            );
            return wrong("type", what).item("tensor", i);
        }
        if !self.types.is_empty() && parameter.is_none() {
            let what = "types is given, but no tensor has type \"T\"";
            return wrong("types", what);
        }
        if let Some(i) = (1..self.types.len()).find(|i| self.types[..*i].contains(&self.types[*i]))
        {
            let what = format!("types: {} is given twice", self.types[i]);
            return Err(KeyError::new(what).item("types", i));
        }
        self.check_entry()?;
        for (dtype, t) in &self.tolerance {
            of_type(*dtype, t.check(&self.names()))?;
        }
        Ok(())
    }

    fn check_entry(&self) -> Result {
        let entry = &self.entry;
        let what = if entry.contains("{T}") == self.types.is_empty() {
            ": with types it contains {T}, as in \"rmsnorm_{T}\", and without it does not"
        } else if !is_identifier(&entry.replace("{T}", "x")) {
            " is not the name of a function"
        } else if is_among(entry, KEYWORDS) {
            " is a word of C++: choose another name"
        } else {
            return Ok(());
        };
        wrong("entry", format!("entry: '{entry}'{what}"))
    }

    fn check_tensors(&self) -> Result {
        if !self.tensor.iter().any(TensorText::is_compared) {
            let what = "tensor: none has role \"out\" or \"inout\" and is compared, so there is nothing to compare";
            return wrong("role", what).item("tensor", 0);
        }
        let mut tensors = self.tensor.iter().enumerate();
        tensors.try_for_each(|(i, t)| self.of_tensor(i, self.check_tensor(t)))
    }

    /// A result whose error is one of a tensor's own keys.
    fn of_tensor<T>(&self, i: usize, checked: Result<T>) -> Result<T> {
        let name = &self.tensor[i].name;
        checked
            .of(format_args!("tensor '{name}'"))
            .item("tensor", i)
    }

    fn check_tensor(&self, t: &TensorText) -> Result {
        let names = self.names();
        if let Some(values) = &t.values {
            let what = match t.role {
                TensorRole::Out => "an output has no values: the kernel writes them",
                TensorRole::Scratch => "scratch memory has no values: it holds zeros",
                TensorRole::In | TensorRole::Inout => "",
            };
            if !what.is_empty() {
                return wrong("values", what);
            }
            values.check(&names).key("values")?;
        }
        self.check_tolerance(t, &names)?;
        self.check_relations(t)?;
        for (i, extent) in t.shape.iter().enumerate() {
            let parsed = Expression::parse(&extent.text(), &names);
            parsed.of("shape").item("shape", i)?;
        }
        for (i, view) in t.views.iter().enumerate() {
            let parsed = Slice::parse(&view.slice, t.shape.len(), &names);
            parsed.key("slice").item("views", i)?;
        }
        if t.shape.is_empty() {
            let what = "shape: give at least one extent, as in shape = [1]";
            return wrong("shape", what);
        }
        let planted = self.planting(t, t.planted.as_ref());
        planted.map(drop).within("planted")
    }

    /// Checks a tensor's own tolerance, or that each of its types has one.
    fn check_tolerance(&self, t: &TensorText, names: &[&str]) -> Result {
        let is_input = !t.is_compared();
        match &t.tolerance {
            Some(_) if is_input => {
                let what = "tolerance is for outputs that are compared, and this tensor is none";
                wrong("tolerance", what)
            }
            Some(tolerance) => tolerance.check(names).key("tolerance"),
            None => {
                let is_limited = t
                    .gates
                    .iter()
                    .any(|gate| gate.of == GateOf::Largest && gate.limit.is_some());
                let is_missing = |d: &Dtype| {
                    !is_input
                        && !is_limited
                        && d.integers().is_none()
                        && !self.tolerance.contains_key(d)
                };
                let what = match self.concrete(t.dtype).into_iter().find(is_missing) {
                    None => return Ok(()),
                    Some(dtype) => format!(
                        "it is compared as {dtype}, and there is no tolerance for {dtype}: add [tolerance.{dtype}] with atol and rtol"
                    ),
                };
                wrong("type", what)
            }
        }
    }

    /// Returns what is planted into a tensor. `text` may be its own key or that of a
    /// workload.
    fn planting(&self, t: &TensorText, text: Option<&PlantedText>) -> Result<Planting> {
        let is_input = matches!(t.role, TensorRole::In | TensorRole::Inout);
        let Some(text) = text else {
            return Ok(if is_input && self.planted != Some(false) {
                Planting::by_default(t.shape.len())
            } else {
                Planting::default()
            });
        };
        let planting = text.planting(t.shape.len(), &self.concrete(t.dtype))?;
        match t.role {
            TensorRole::Out | TensorRole::Scratch if !planting.kinds.is_empty() => {
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

/// A result whose error is about the samples of a launch.
fn in_samples<T, E: Into<KeyError>>(checked: Result<T, E>) -> Result<T> {
    let checked = checked.of("objective.samples");
    checked.within("samples").within("objective")
}

/// A result whose error is about the tolerance of a type.
fn of_type<T>(dtype: Dtype, checked: Result<T>) -> Result<T> {
    let checked = checked.of(format_args!("tolerance.{dtype}"));
    checked.within(dtype.word()).within("tolerance")
}
