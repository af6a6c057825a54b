//! Reading the problem.toml of a tensor problem, and checking that it makes sense.

mod cases;
mod given;
pub mod outline;
mod peers;
mod text;
mod tolerance;

use super::expression::Expression;
use super::objective::{Figure, Objective};
use super::planted::{PlantedText, Planting};
use super::spec::{ProblemSpec, TensorRole, TensorSpec};
use super::values_text::NpyFiles;
use crate::dtype::Dtype;
use crate::outcome::Stop;
use crate::problem::key_error::{KeyError, toml_error};
use lab_protocol::When;
use peers::PeersOf;
use std::path::Path;
use text::{ExtentText, ProblemFile, TensorText, TensorType};

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
    let mut file: ProblemFile = toml::from_str(text).map_err(|e| toml_error(path, text, &e))?;
    file.files = NpyFiles::new(path.parent().unwrap_or(Path::new(".")));
    let file = match held_out {
        Some(check) => file.held_out(check),
        None => file,
    };
    file.check().map_err(|error| error.stop(path, text))
}

/// The variable that holds the bytes of the type parameter.
const SIZE_OF_T: &str = "sizeof_T";

/// Most launches in a row. Each check makes them all.
const MOST_STEPS: usize = 1000;

impl ProblemFile {
    fn check(self) -> Result<ProblemSpec, KeyError> {
        self.check_names()?;
        self.check_types()?;
        let names = self.names();
        let tensors = self.tensors(&names)?;
        self.check_scalars(&names)?;
        let expression = |key: &str, text: &str| {
            Expression::parse(text, &names).map_err(|e| KeyError::new(format!("{key}: {e}")))
        };
        let optional = |key: &str, text: &Option<String>| {
            text.as_deref()
                .map(|text| expression(key, text))
                .transpose()
                .map_err(|e| e.within(key))
        };
        let samples = expression("objective.samples", self.samples()?);
        let counts = ParsedCounts {
            samples: samples.map_err(|e| e.within("samples").within("objective"))?,
            bytes: optional("bytes", &self.bytes)?,
            flops: optional("flops", &self.flops)?,
        };
        self.check_steps()?;
        let cases = self.cases(&tensors, &counts)?;
        self.check_drawn(&tensors, &counts)?;
        let tensors = tensors.into_iter().map(|t| t.tensor).collect();
        let graph = self.graph.unwrap_or(true);
        let of = PeersOf {
            entry: &self.entry,
            types: &self.types,
            graph,
        };
        let peers = peers::peers(&self.peer, &of)?;
        let objective = Objective {
            figure: self.objective.measure,
            aggregate: self.objective.aggregate,
        };
        let scalars = self
            .scalar
            .into_iter()
            .map(|scalar| (scalar.name, scalar.dtype))
            .collect();
        Ok(ProblemSpec {
            name: self.name,
            dims: self.dims,
            tensors,
            scalars,
            cases,
            steps: self.steps,
            cpu_max_cells: self.cpu_max_cells,
            graph,
            cache: self.cache,
            objective,
            peers,
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
        Err(KeyError::new(format!("steps: {what}")).within("steps"))
    }

    /// The expression for the samples of a launch. A launch is one sample if something else is the
    /// measure and nothing is said.
    fn samples(&self) -> Result<&str, KeyError> {
        let within =
            |error: &str, key: &str| Err(KeyError::new(error).within(key).within("objective"));
        match (self.objective.measure, self.objective.samples.as_deref()) {
            (Figure::Tflops, _) if self.flops.is_none() => within(
                "objective.measure: tflops needs the operations of a launch, as in flops = \"2 * m * n * k\" at the top",
                "measure",
            ),
            (_, Some(samples)) => Ok(samples),
            (Figure::Samples, None) => within(
                "objective.samples is missing: say how many samples one launch counts, as in samples = \"rows\", or choose \
                 another measure: time, tflops, gbps",
                "samples",
            ),
            (_, None) => Ok("1"),
        }
    }

    /// The names that expressions may use.
    fn names(&self) -> Vec<&str> {
        let size = (!self.types.is_empty()).then_some(SIZE_OF_T);
        self.dims.iter().map(String::as_str).chain(size).collect()
    }

    fn check_names(&self) -> Result<(), KeyError> {
        if self.dims.is_empty() {
            let what = "dims: name at least one dimension, as in dims = [\"n\"]";
            return Err(KeyError::new(what).within("dims"));
        }
        let dims = self.dims.iter().enumerate().map(|(i, n)| ("dims", i, n));
        let tensors = self
            .tensor
            .iter()
            .enumerate()
            .map(|(i, t)| ("tensor", i, &t.name));
        let scalars = self
            .scalar
            .iter()
            .enumerate()
            .map(|(i, s)| ("scalar", i, &s.name));
        let mut seen: Vec<&str> = Vec::new();
        for (kind, i, name) in dims.chain(tensors).chain(scalars) {
            let what = if !is_identifier(name) {
                "is not a name: use letters, digits and _, and no digit first"
            } else if matches!(name.as_str(), "T" | "E" | "PI" | "TAU" | SIZE_OF_T) {
                "is reserved: choose another name"
            } else if KEYWORDS.contains(&name.as_str()) {
                "is a word of C++: choose another name"
            } else if seen.contains(&name.as_str()) {
                "is given twice"
            } else {
                seen.push(name);
                continue;
            };
            let error = KeyError::new(format!("{kind}: '{name}' {what}"));
            return Err(match kind {
                "dims" => error.within(i).within(kind),
                _ => error.within("name").within(i).within(kind),
            });
        }
        // Result lines are named after outputs, and keys of result lines are lower case.
        let shouting = |t: &TensorText| {
            t.role != TensorRole::In && t.name.bytes().any(|b| b.is_ascii_uppercase())
        };
        match self.tensor.iter().position(shouting) {
            Some(i) => {
                let name = &self.tensor[i].name;
                let what =
                    format!("tensor: the name of an output must be lower case, unlike '{name}'");
                Err(KeyError::new(what)
                    .within("name")
                    .within(i)
                    .within("tensor"))
            }
            None => Ok(()),
        }
    }

    fn check_types(&self) -> Result<(), KeyError> {
        let parameter = self.tensor.iter().position(|t| t.dtype == TensorType::T);
        let pattern = self.entry.contains("{T}");
        if let Some(i) = parameter.filter(|_| self.types.is_empty()) {
            let what = format!(
                "tensor '{}' has type T, but nothing says what T is: add types = [\"f32\", \"f16\"]",
                self.tensor[i].name
            );
            return Err(KeyError::new(what)
                .within("type")
                .within(i)
                .within("tensor"));
        }
        if !self.types.is_empty() && parameter.is_none() {
            return Err(
                KeyError::new("types is given, but no tensor has type \"T\"").within("types"),
            );
        }
        if let Some(i) = (1..self.types.len()).find(|i| self.types[..*i].contains(&self.types[*i]))
        {
            return Err(
                KeyError::new(format!("types: {} is given twice", self.types[i]))
                    .within(i)
                    .within("types"),
            );
        }
        self.check_entry(pattern).map_err(|e| e.within("entry"))?;
        for (dtype, t) in &self.tolerance {
            let wrong = t.check(&self.names()).err();
            if let Some(error) = wrong {
                let of = format!("tolerance.{dtype}");
                return Err(error.of(of).within(dtype.word()).within("tolerance"));
            }
        }
        Ok(())
    }

    fn check_entry(&self, pattern: bool) -> Result<(), KeyError> {
        let entry = &self.entry;
        if pattern == self.types.is_empty() {
            return Err(KeyError::new(format!(
                "entry: '{entry}': with types it contains {{T}}, as in \"rmsnorm_{{T}}\", and without it does not"
            )));
        }
        if !is_identifier(&entry.replace("{T}", "x")) {
            return Err(KeyError::new(format!(
                "entry: '{entry}' is not the name of a function"
            )));
        }
        if KEYWORDS.contains(&entry.as_str()) {
            return Err(KeyError::new(format!(
                "entry: '{entry}' is a word of C++: choose another name"
            )));
        }
        Ok(())
    }

    fn tensors(&self, names: &[&str]) -> Result<Vec<ParsedTensor>, KeyError> {
        if self.tensor.iter().all(|t| t.role == TensorRole::In) {
            let what = "tensor: none has role \"out\" or \"inout\", so there is nothing to compare";
            return Err(KeyError::new(what)
                .within("role")
                .within(0)
                .within("tensor"));
        }
        let tensor = |(i, t): (usize, &TensorText)| {
            let named = format!("tensor '{}'", t.name);
            self.tensor(t, names)
                .map_err(|e| e.of(named).within(i).within("tensor"))
        };
        self.tensor.iter().enumerate().map(tensor).collect()
    }

    fn tensor(&self, t: &TensorText, names: &[&str]) -> Result<ParsedTensor, KeyError> {
        if let Some(values) = &t.values {
            if t.role == TensorRole::Out {
                let what = "an output has no values: the kernel writes them";
                return Err(KeyError::new(what).within("values"));
            }
            values
                .check(names)
                .map_err(|e| e.of("values").within("values"))?;
        }
        match &t.tolerance {
            Some(_) if t.role == TensorRole::In => {
                let what = "tolerance is for outputs: an input is not compared with a tolerance";
                return Err(KeyError::new(what).within("tolerance"));
            }
            Some(tolerance) => {
                tolerance
                    .check(names)
                    .map_err(|e| e.of("tolerance").within("tolerance"))?;
            }
            None if t.role == TensorRole::In => {}
            None => {
                let without = |d: &Dtype| d.integers().is_none() && !self.tolerance.contains_key(d);
                if let Some(dtype) = self.concrete(t.dtype).into_iter().find(without) {
                    return Err(KeyError::new(format!(
                        "it is compared as {dtype}, and there is no tolerance for {dtype}: add [tolerance.{dtype}] with atol and rtol"
                    ))
                    .within("type"));
                }
            }
        }
        let extent = |(i, extent): (usize, &ExtentText)| {
            let parsed = match extent {
                ExtentText::Number(n) => Expression::parse(&n.to_string(), names),
                ExtentText::Expression(text) => Expression::parse(text, names),
            };
            parsed.map_err(|e| {
                KeyError::new(format!("shape: {e}"))
                    .within(i)
                    .within("shape")
            })
        };
        let shape: Vec<Expression> = t
            .shape
            .iter()
            .enumerate()
            .map(extent)
            .collect::<Result<_, _>>()?;
        if shape.is_empty() {
            return Err(
                KeyError::new("shape: give at least one extent, as in shape = [1]").within("shape"),
            );
        }
        let planted = self
            .planting(t, t.planted.as_ref())
            .map_err(|e| e.within("planted"))?;
        let tensor = TensorSpec {
            name: t.name.clone(),
            role: t.role,
        };
        Ok(ParsedTensor {
            tensor,
            dtype: t.dtype,
            shape,
            planted,
        })
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
    fn concrete(&self, dtype: TensorType) -> Vec<Dtype> {
        match dtype.fixed() {
            Some(fixed) => vec![fixed],
            None => self.types.clone(),
        }
    }
}

/// A tensor whose shape is still expressions.
struct ParsedTensor {
    tensor: TensorSpec,
    dtype: TensorType,
    shape: Vec<Expression>,
    planted: Planting,
}

struct ParsedCounts {
    samples: Expression,
    bytes: Option<Expression>,
    flops: Option<Expression>,
}

/// The words of C++20 that name nothing else.
const KEYWORDS: [&str; 92] = [
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

fn is_identifier(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
