//! The C++ between PyTorch and the kernel: checks the tensors, infers the dimensions from their
//! shapes, and launches.

use super::super::file::outline::{Outline, OutlinedTensor};
use super::super::number::NumberText;
use super::super::spec::TensorRole;
use super::Parts;
use super::formula;
use super::tables::{number, quoted};
use crate::dtype::Dtype;
use std::fmt::Write;

const INTERFACE: &str = include_str!("parts/interface.h");
const CHECKS: &str = include_str!("parts/binding.cpp");

/// How the function of the binding is called.
pub struct Signature {
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// The tensors that it returns.
    pub returned: Vec<String>,
}

/// A parameter of the binding's function.
pub struct Parameter {
    pub name: String,
    /// What it is, in words.
    pub what: String,
    pub kind: ParameterKind,
}

/// How a parameter is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    Tensor,
    /// An output, which is allocated where none is given.
    Output,
    /// A scalar with a default.
    Scalar,
    /// A scalar or a dimension that must be given.
    Number,
}

/// A binding's source, and how it is called.
pub struct Binding {
    pub source: String,
    pub signature: Signature,
}

/// Where a dimension comes from.
enum DimSource {
    /// An extent of a tensor.
    Extent(usize, usize),
    /// A parameter of its own.
    Parameter,
}

struct Writer<'a> {
    outline: &'a Outline,
    /// For each tensor: whether it must be given.
    required: Vec<bool>,
    dims: Vec<DimSource>,
}

pub fn write(parts: &Parts) -> Binding {
    let outline = &parts.outline;
    let mut required: Vec<bool> = outline
        .tensors
        .iter()
        .map(|t| t.role != TensorRole::Out)
        .collect();
    let has_t = |required: &[bool]| {
        outline.types.is_empty()
            || outline
                .tensors
                .iter()
                .zip(required)
                .any(|(t, required)| *required && t.dtype.is_none())
    };
    if !has_t(&required) {
        // The type is known from an output alone.
        if let Some(at) = outline.tensors.iter().position(|t| t.dtype.is_none()) {
            required[at] = true;
        }
    }
    if !required.contains(&true) {
        required[0] = true;
    }
    let dims = outline
        .dims
        .iter()
        .map(|dim| source_of(outline, &mut required, dim))
        .collect();
    for (at, tensor) in outline.tensors.iter().enumerate() {
        required[at] |= tensor
            .shape
            .iter()
            .any(|text| cpp_formula(outline, text).is_none());
    }
    let writer = Writer {
        outline,
        required,
        dims,
    };
    Binding {
        source: writer.source(),
        signature: writer.signature(),
    }
}

/// The extent that is this dimension, in a tensor that must be given; else in an output, which then
/// must be given.
fn source_of(outline: &Outline, required: &mut [bool], dim: &str) -> DimSource {
    let extent = |tensor: &OutlinedTensor| tensor.shape.iter().position(|text| text.trim() == dim);
    let find = |wanted: bool| {
        let mut each = outline.tensors.iter().zip(required.iter()).enumerate();
        each.find_map(|(at, (tensor, required))| {
            (*required == wanted)
                .then(|| extent(tensor))
                .flatten()
                .map(|extent| (at, extent))
        })
    };
    match find(true).or_else(|| find(false)) {
        Some((tensor, extent)) => {
            required[tensor] = true;
            DimSource::Extent(tensor, extent)
        }
        None => DimSource::Parameter,
    }
}

/// An expression as C++ over the binding's variables.
fn cpp_formula(outline: &Outline, text: &str) -> Option<String> {
    formula::in_cpp(text, &|name| {
        let is_dim = outline.dims.iter().any(|dim| dim == name);
        match name {
            "sizeof_T" => Some("sizeof_T".into()),
            name if is_dim => Some(format!("double(d_{name})")),
            _ => None,
        }
    })
}

fn scalar_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "at::kFloat",
        Dtype::F16 => "at::kHalf",
        Dtype::Bf16 => "at::kBFloat16",
        Dtype::F8e4m3 => "at::kFloat8_e4m3fn",
        Dtype::F8e5m2 => "at::kFloat8_e5m2",
        Dtype::I8 => "at::kChar",
        Dtype::U8 => "at::kByte",
        Dtype::I32 => "at::kInt",
        Dtype::I64 => "at::kLong",
        Dtype::Bool => "at::kBool",
    }
}

/// The place of a type in the enum of the code that launches.
fn type_number(dtype: Dtype) -> usize {
    use Dtype::{Bf16, Bool, F8e4m3, F8e5m2, F16, F32, I8, I32, I64, U8};
    [F32, F16, Bf16, F8e4m3, F8e5m2, I8, U8, I32, I64, Bool]
        .iter()
        .position(|d| *d == dtype)
        .unwrap_or(0)
}

fn shape_text(tensor: &OutlinedTensor) -> String {
    format!("({})", tensor.shape.join(", "))
}

impl Writer<'_> {
    /// The C++ for a scalar's default; `None` if it must be given.
    fn default_of(&self, value: &NumberText) -> Option<String> {
        match value {
            NumberText::Integer(value) => Some(format!("{value}LL")),
            NumberText::Float(value) => Some(number(*value)),
            NumberText::Expression(text) => cpp_formula(self.outline, text),
        }
    }

    fn signature(&self) -> Signature {
        let types = self
            .outline
            .types
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" or ");
        let mut parameters = Vec::new();
        for (tensor, required) in self.outline.tensors.iter().zip(&self.required) {
            let role = match tensor.role {
                TensorRole::In => "input",
                TensorRole::Out => "output",
                TensorRole::Inout => "changed in place",
            };
            let dtype = tensor
                .dtype
                .map_or_else(|| types.clone(), |dtype| dtype.to_string());
            let what = format!("{role}, {dtype}, {}", shape_text(tensor));
            let kind = if *required {
                ParameterKind::Tensor
            } else {
                ParameterKind::Output
            };
            parameters.push(Parameter {
                name: tensor.name.clone(),
                what,
                kind,
            });
        }
        for scalar in &self.outline.scalars {
            let (kind, default) = match (&scalar.value, self.default_of(&scalar.value)) {
                (_, None) => (ParameterKind::Number, String::new()),
                (NumberText::Integer(value), _) => {
                    (ParameterKind::Scalar, format!(", {value} by default"))
                }
                (NumberText::Float(value), _) => {
                    (ParameterKind::Scalar, format!(", {value:?} by default"))
                }
                (NumberText::Expression(text), _) => {
                    (ParameterKind::Scalar, format!(", {text} by default"))
                }
            };
            parameters.push(Parameter {
                name: scalar.name.clone(),
                what: format!("{}{default}", scalar.dtype),
                kind,
            });
        }
        for (dim, source) in self.outline.dims.iter().zip(&self.dims) {
            if matches!(source, DimSource::Parameter) {
                let what = "dimension".to_owned();
                parameters.push(Parameter {
                    name: dim.clone(),
                    what,
                    kind: ParameterKind::Number,
                });
            }
        }
        let named = |role: TensorRole| {
            let tensors = self
                .outline
                .tensors
                .iter()
                .filter(move |tensor| tensor.role == role);
            tensors
                .map(|tensor| tensor.name.clone())
                .collect::<Vec<_>>()
        };
        let outputs = named(TensorRole::Out);
        let returned = if outputs.is_empty() {
            named(TensorRole::Inout)
        } else {
            outputs
        };
        Signature {
            parameters,
            returned,
        }
    }

    fn source(&self) -> String {
        let mut out = String::from(
            "#include <c10/cuda/CUDAGuard.h>\n#include <c10/cuda/CUDAStream.h>\n#include <torch/extension.h>\n\n#include <cmath>\n\
             #include <cstdint>\n#include <functional>\n#include <optional>\n#include <string>\n#include <vector>\n\n",
        );
        out += INTERFACE;
        out.push('\n');
        out += CHECKS;
        let _ = write!(
            out,
            "\nstd::vector<at::Tensor> run({}) {{\n",
            self.cpp_parameters()
        );
        self.device_and_type(&mut out);
        self.cpp_dims(&mut out);
        self.cpp_tensors(&mut out);
        self.cpp_call(&mut out);
        out + "}\n"
    }

    fn cpp_parameters(&self) -> String {
        let tensors =
            self.outline.tensors.iter().zip(&self.required).map(
                |(tensor, required)| match required {
                    true => format!("at::Tensor t_{}", tensor.name),
                    false => format!("std::optional<at::Tensor> o_{}", tensor.name),
                },
            );
        let scalars = self.outline.scalars.iter().map(|scalar| {
            let of = if scalar.dtype.integers().is_some() {
                "int64_t"
            } else {
                "double"
            };
            match self.default_of(&scalar.value) {
                Some(_) => format!("std::optional<{of}> o_{}", scalar.name),
                None => format!("{of} o_{}", scalar.name),
            }
        });
        let dims = self.outline.dims.iter().zip(&self.dims);
        let dims = dims.filter(|(_, source)| matches!(source, DimSource::Parameter));
        let dims = dims.map(|(dim, _)| format!("int64_t d_{dim}"));
        tensors
            .chain(scalars)
            .chain(dims)
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn given(&self) -> impl Iterator<Item = &OutlinedTensor> {
        self.outline
            .tensors
            .iter()
            .zip(&self.required)
            .filter(|(_, required)| **required)
            .map(|(t, _)| t)
    }

    fn device_and_type(&self, out: &mut String) {
        let Some(first) = self.given().next() else {
            return;
        };
        let name = &first.name;
        let _ = writeln!(out, "    const c10::Device device = t_{name}.device();");
        let _ = writeln!(
            out,
            "    TORCH_CHECK(device.is_cuda(), \"{name} is on \", device, \": it must be on a CUDA device\");"
        );
        out.push_str("    const c10::cuda::CUDAGuard guard(device);\n");
        let entry = &self.outline.entry;
        let Some(typed) = self.given().find(|tensor| tensor.dtype.is_none()) else {
            let _ = writeln!(out, "    const std::string entry = {};", quoted(entry));
            return;
        };
        let name = &typed.name;
        let _ = writeln!(out, "    const at::ScalarType T = t_{name}.scalar_type();");
        out.push_str(
            "    std::string entry;\n    int number_of_T = 0;\n    [[maybe_unused]] double sizeof_T = 0;\n",
        );
        for dtype in &self.outline.types {
            let entry = quoted(&entry.replace("{T}", dtype.word()));
            let (of, at, size) = (scalar_type(*dtype), type_number(*dtype), dtype.size());
            let _ = writeln!(
                out,
                "    if (T == {of}) entry = {entry}, number_of_T = {at}, sizeof_T = {size};"
            );
        }
        let types = self
            .outline
            .types
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" or ");
        let _ = writeln!(
            out,
            "    TORCH_CHECK(!entry.empty(), \"{name} has the type \", T, \": it must be {types}\");"
        );
    }

    fn cpp_dims(&self, out: &mut String) {
        for tensor in self.given() {
            let (name, rank) = (&tensor.name, tensor.shape.len());
            let _ = writeln!(
                out,
                "    check_rank(t_{name}, \"{name}\", {rank}, {});",
                quoted(&shape_text(tensor))
            );
        }
        for (dim, source) in self.outline.dims.iter().zip(&self.dims) {
            if let DimSource::Extent(tensor, extent) = source {
                let name = &self.outline.tensors[*tensor].name;
                let _ = writeln!(out, "    const int64_t d_{dim} = t_{name}.size({extent});");
            }
            let _ = writeln!(out, "    check_dim(d_{dim}, \"{dim}\");");
        }
    }

    fn cpp_extent(&self, tensor: &OutlinedTensor, at: usize) -> String {
        let (text, name) = (tensor.shape[at].trim(), &tensor.name);
        if self.outline.dims.iter().any(|dim| dim == text) {
            return format!("d_{text}");
        }
        if text.parse::<u32>().is_ok() {
            return text.to_owned();
        }
        match cpp_formula(self.outline, text) {
            Some(formula) => format!("extent({formula}, \"{name}\")"),
            // An expression that has no C++ here: such a tensor is given.
            None => format!("t_{name}.size({at})"),
        }
    }

    fn cpp_tensors(&self, out: &mut String) {
        for (tensor, required) in self.outline.tensors.iter().zip(&self.required) {
            let name = &tensor.name;
            let of = tensor.dtype.map_or("T", scalar_type);
            let shape: Vec<String> = (0..tensor.shape.len())
                .map(|at| self.cpp_extent(tensor, at))
                .collect();
            let _ = writeln!(
                out,
                "    const std::vector<int64_t> shape_of_{name} = {{{}}};",
                shape.join(", ")
            );
            if !required {
                let _ = writeln!(
                    out,
                    "    at::Tensor t_{name} = o_{name} ? *o_{name} : at::empty(shape_of_{name}, \
                     at::TensorOptions().device(device).dtype({of}));"
                );
            }
            let _ = writeln!(
                out,
                "    check_tensor(t_{name}, \"{name}\", {of}, shape_of_{name}, device);"
            );
        }
    }

    fn cpp_call(&self, out: &mut String) {
        let dims = self
            .outline
            .dims
            .iter()
            .map(|dim| format!("int(d_{dim})"))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(out, "    const std::vector<int> dims = {{{dims}}};");
        let tensors: Vec<String> = self
            .outline
            .tensors
            .iter()
            .map(|tensor| {
                let of = tensor
                    .dtype
                    .map_or_else(|| "number_of_T".to_owned(), |d| type_number(d).to_string());
                format!("buffer(t_{0}, \"{0}\", {of})", tensor.name)
            })
            .collect();
        let _ = writeln!(
            out,
            "    const std::vector<LabBuffer> tensors = {{{}}};",
            tensors.join(", ")
        );
        let scalars: Vec<String> = self
            .outline
            .scalars
            .iter()
            .map(|scalar| {
                let of = match scalar.dtype {
                    Dtype::I64 => "int64_t",
                    Dtype::I32 => "int32_t",
                    _ => "float",
                };
                match self.default_of(&scalar.value) {
                    Some(default) => {
                        format!("bytes({of}(o_{0} ? *o_{0} : {default}))", scalar.name)
                    }
                    None => format!("bytes({of}(o_{}))", scalar.name),
                }
            })
            .collect();
        let _ = writeln!(
            out,
            "    const std::vector<std::string> scalars = {{{}}};",
            scalars.join(", ")
        );
        out.push_str(
            "    at::Tensor memory;\n    const auto scratch = [&](size_t size) {\n        memory = at::empty({int64_t(size)}, \
             at::TensorOptions().device(device).dtype(at::kByte));\n        return memory.data_ptr();\n    };\n    lab_run(entry, dims, \
             tensors, scalars, scratch, c10::cuda::getCurrentCUDAStream(device.index()).stream());\n",
        );
        let returned = self.signature().returned;
        let returned: Vec<String> = returned.iter().map(|name| format!("t_{name}")).collect();
        let _ = writeln!(out, "    return {{{}}};", returned.join(", "));
    }
}
