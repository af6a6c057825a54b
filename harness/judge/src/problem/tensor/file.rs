//! Reading the problem.toml of a tensor problem, and checking that it makes sense.

mod cases;
mod text;

use super::expression::Expression;
use super::planted::PlantedText;
use super::spec::{ProblemSpec, ScalarSpec, TensorRole, TensorSpec};
use crate::dtype::Dtype;
use text::{ExtentText, ProblemFile, ScalarText, TensorText, TensorType};

/// Reads the text of a problem.toml. With the seed `held_out`, shapes that `[[keep]]` describes are drawn by it and
/// replace the workloads.
pub fn parse(text: &str, held_out: Option<u64>) -> Result<ProblemSpec, ProblemFileError> {
    let file: ProblemFile = toml::from_str(text).map_err(|e| ProblemFileError::Toml(Box::new(e)))?;
    let file = match held_out {
        Some(seed) => file.held_out(seed),
        None => file,
    };
    file.check().map_err(ProblemFileError::Sense)
}

/// What is wrong with a problem.toml.
#[derive(Debug)]
pub enum ProblemFileError {
    /// It is not TOML, or has an unknown key or value. The error knows the line.
    Toml(Box<toml::de::Error>),
    /// It says something that makes no sense. The text names the key.
    Sense(String),
}

/// The variable that holds the bytes of the type parameter.
const SIZE_OF_T: &str = "sizeof_T";

impl ProblemFile {
    fn check(self) -> Result<ProblemSpec, String> {
        self.check_names()?;
        self.check_types()?;
        let names = self.names();
        let tensors = self.tensors(&names)?;
        let scalars = self.scalars()?;
        let expression =
            |key: &str, text: &str| Expression::parse(text, &names).map_err(|e| format!("{key}: {e}"));
        let counts = ParsedCounts {
            samples: expression("objective.samples", &self.objective.samples)?,
            bytes: self.bytes.as_deref().map(|t| expression("bytes", t)).transpose()?,
            flops: self.flops.as_deref().map(|t| expression("flops", t)).transpose()?,
        };
        let cases = self.cases(&tensors, &counts)?;
        self.check_drawn(&tensors, &counts)?;
        let tensors = tensors.into_iter().map(|t| t.tensor).collect();
        let (name, dims, cpu_max_cells, cache) = (self.name, self.dims, self.cpu_max_cells, self.cache);
        let graph = self.graph.unwrap_or(true);
        Ok(ProblemSpec { name, dims, tensors, scalars, cases, cpu_max_cells, graph, cache })
    }

    /// The names that expressions may use.
    fn names(&self) -> Vec<&str> {
        let size = (!self.types.is_empty()).then_some(SIZE_OF_T);
        self.dims.iter().map(String::as_str).chain(size).collect()
    }

    fn check_names(&self) -> Result<(), String> {
        if self.dims.is_empty() {
            return Err("dims: name at least one dimension, as in dims = [\"n\"]".into());
        }
        let dims = self.dims.iter().map(|n| ("dims", n));
        let tensors = self.tensor.iter().map(|t| ("tensor", &t.name));
        let scalars = self.scalar.iter().map(|s| ("scalar", &s.name));
        let mut seen: Vec<&str> = Vec::new();
        for (kind, name) in dims.chain(tensors).chain(scalars) {
            if !is_identifier(name) {
                return Err(format!(
                    "{kind}: '{name}' is not a name: use letters, digits and _, and no digit first"
                ));
            }
            if matches!(name.as_str(), "T" | "E" | "PI" | "TAU" | SIZE_OF_T) {
                return Err(format!("{kind}: '{name}' is reserved: choose another name"));
            }
            if KEYWORDS.contains(&name.as_str()) {
                return Err(format!("{kind}: '{name}' is a word of C++: choose another name"));
            }
            if seen.contains(&name.as_str()) {
                return Err(format!("{kind}: '{name}' is given twice"));
            }
            seen.push(name);
        }
        // Result lines are named after outputs, and keys of result lines are lower case.
        let shouting =
            |t: &&TensorText| t.role != TensorRole::In && t.name.bytes().any(|b| b.is_ascii_uppercase());
        match self.tensor.iter().find(shouting) {
            Some(t) => Err(format!("tensor: the name of an output must be lower case, unlike '{}'", t.name)),
            None => Ok(()),
        }
    }

    fn check_types(&self) -> Result<(), String> {
        let parameter = self.tensor.iter().find(|t| t.dtype == TensorType::T);
        let pattern = self.entry.contains("{T}");
        if let Some(tensor) = parameter.filter(|_| self.types.is_empty()) {
            return Err(format!(
                "tensor '{}' has type T, but nothing says what T is: add types = [\"f32\", \"f16\"]",
                tensor.name
            ));
        }
        if !self.types.is_empty() && parameter.is_none() {
            return Err("types is given, but no tensor has type \"T\"".into());
        }
        if pattern == self.types.is_empty() {
            return Err(format!(
                "entry: '{}': with types it contains {{T}}, as in \"rmsnorm_{{T}}\", and without it does not",
                self.entry
            ));
        }
        if !is_identifier(&self.entry.replace("{T}", "x")) {
            return Err(format!("entry: '{}' is not the name of a function", self.entry));
        }
        if KEYWORDS.contains(&self.entry.as_str()) {
            return Err(format!("entry: '{}' is a word of C++: choose another name", self.entry));
        }
        for (dtype, t) in &self.tolerance {
            let right = |limit: f64| limit.is_finite() && limit >= 0.0;
            if !(right(t.atol) && right(t.rtol) && t.matched > 0.0 && t.matched <= 1.0) {
                return Err(format!(
                    "tolerance.{dtype}: atol and rtol must not be negative, and matched must be above 0 and at most 1"
                ));
            }
        }
        Ok(())
    }

    fn tensors(&self, names: &[&str]) -> Result<Vec<ParsedTensor>, String> {
        if self.tensor.iter().all(|t| t.role == TensorRole::In) {
            return Err("tensor: none has role \"out\" or \"inout\", so there is nothing to compare".into());
        }
        self.tensor
            .iter()
            .map(|t| self.tensor(t, names).map_err(|e| format!("tensor '{}': {e}", t.name)))
            .collect()
    }

    fn tensor(&self, t: &TensorText, names: &[&str]) -> Result<ParsedTensor, String> {
        match (t.role, &t.values) {
            (TensorRole::Out, Some(_)) => {
                return Err("an output has no values: the kernel writes them".into());
            }
            (TensorRole::In | TensorRole::Inout, None) => {
                return Err("an input needs values, as in values = { normal = { std = 1.0 } }".into());
            }
            (_, None) => {}
            (_, Some(values)) => {
                for dtype in self.concrete(t.dtype) {
                    values.check(dtype).map_err(|e| format!("values: {e}"))?;
                }
            }
        }
        if t.role != TensorRole::In {
            let without = |d: &Dtype| *d != Dtype::I32 && !self.tolerance.contains_key(d);
            if let Some(dtype) = self.concrete(t.dtype).into_iter().find(without) {
                return Err(format!(
                    "it is compared as {dtype}, and there is no tolerance for {dtype}: add [tolerance.{dtype}] with atol and rtol"
                ));
            }
        }
        let shape = t.shape.iter().map(|extent| match extent {
            ExtentText::Number(n) => Expression::parse(&n.to_string(), names),
            ExtentText::Expression(text) => Expression::parse(text, names),
        });
        let shape: Vec<Expression> = shape.collect::<Result<_, _>>().map_err(|e| format!("shape: {e}"))?;
        if shape.is_empty() {
            return Err("shape: give at least one extent, as in shape = [1]".into());
        }
        let planted = t.planted.as_ref().map(PlantedText::kinds).unwrap_or_default();
        if !planted.is_empty() && t.role == TensorRole::Out {
            return Err("planted is for inputs: an output has no values".into());
        }
        let tensor = TensorSpec { name: t.name.clone(), role: t.role, values: t.values, planted };
        Ok(ParsedTensor { tensor, dtype: t.dtype, shape })
    }

    /// The types that a tensor has in any case.
    fn concrete(&self, dtype: TensorType) -> Vec<Dtype> {
        match dtype.fixed() {
            Some(fixed) => vec![fixed],
            None => self.types.clone(),
        }
    }

    fn scalars(&self) -> Result<Vec<ScalarSpec>, String> {
        let scalar = |s: &ScalarText| {
            let whole = s.value.fract() == 0.0 && s.value.abs() <= f64::from(i32::MAX);
            if !matches!(s.dtype, Dtype::F32 | Dtype::I32) || (s.dtype == Dtype::I32 && !whole) {
                return Err(format!(
                    "scalar '{}': a scalar must be an f32, or an i32 with a whole value",
                    s.name
                ));
            }
            let mut bytes = Vec::new();
            s.dtype.encode(s.value, &mut bytes);
            Ok(ScalarSpec { bytes })
        };
        self.scalar.iter().map(scalar).collect()
    }
}

/// A tensor whose shape is still expressions.
struct ParsedTensor {
    tensor: TensorSpec,
    dtype: TensorType,
    shape: Vec<Expression>,
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
    letters.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
