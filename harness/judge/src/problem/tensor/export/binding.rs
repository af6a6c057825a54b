//! The C++ between PyTorch and the kernel: checks the tensors, infers the dimensions from their
//! shapes, and launches.

use super::super::file::text::{ProblemFile, ScalarText, TensorText};
use super::super::number::NumberText;
use super::super::spec::TensorRole;
use super::formula;
use super::tables::{list, number, quoted};
use super::views;
use crate::dtype::Dtype;
use itertools::Itertools as _;

const INCLUDES: &str = "#include <c10/cuda/CUDAGuard.h>\n#include <c10/cuda/CUDAStream.h>\n#include <torch/extension.h>\n\n#include <cmath>\n\
    #include <cstdint>\n#include <functional>\n#include <optional>\n#include <string>\n#include <vector>\n\n";
const INTERFACE: &str = include_str!("parts/interface.h");
const CHECKS: &str = include_str!("parts/binding.cpp");

/// A binding's source, and how its function is called.
pub struct Binding {
    pub source: String,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// The tensors that the function returns.
    pub returned: Vec<String>,
}

/// A parameter of the binding's function.
pub struct Parameter {
    pub name: String,
    /// What it is, in words.
    pub what: String,
    pub kind: ParameterKind,
    /// As C++ declares it.
    declared: String,
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

struct Writer<'a> {
    file: &'a ProblemFile,
    /// For each tensor: whether it must be given.
    required: Vec<bool>,
    /// For each dimension: the tensor and its extent that give the dimension. `None` if it is a
    /// parameter of its own.
    dims: Vec<Option<(usize, usize)>>,
}

pub fn write(file: &ProblemFile) -> Binding {
    let of_role = |role: TensorRole| {
        let results = file.tensor.iter().filter(|t| t.is_compared());
        results.filter(move |t| t.role == role)
    };
    let mut required = file
        .tensor
        .iter()
        .map(|t| t.role != TensorRole::Out)
        .collect_vec();
    let mut given = file.tensor.iter().zip(&required);
    let has_type = given.any(|(tensor, required)| *required && tensor.dtype.is_none());
    if !file.types.is_empty() && !has_type {
        // The type is known from an output alone.
        if let Some(at) = file.tensor.iter().position(|t| t.dtype.is_none()) {
            required[at] = true;
        }
    }
    if !required.contains(&true) {
        required[0] = true;
    }
    let dims = file.dims.iter();
    let dims = dims
        .map(|dim| source_of(file, &mut required, dim))
        .collect();
    for (at, tensor) in file.tensor.iter().enumerate() {
        let mut formulas = tensor.shape.iter();
        required[at] |= formulas.any(|extent| cpp_formula(file, &extent.text()).is_none());
    }
    let mut returned = of_role(TensorRole::Out)
        .map(|t| t.name.clone())
        .collect_vec();
    if returned.is_empty() {
        returned.extend(of_role(TensorRole::Inout).map(|t| t.name.clone()));
    }
    let writer = Writer {
        file,
        required,
        dims,
    };
    let parameters = writer.parameters();
    Binding {
        source: writer.source(&parameters, &returned),
        parameters,
        returned,
    }
}

/// The extent that is this dimension, in a tensor that must be given; else in an output, which then
/// must be given.
fn source_of(file: &ProblemFile, required: &mut [bool], dim: &str) -> Option<(usize, usize)> {
    let find = |wanted: bool| {
        let each = file.tensor.iter().zip(required.iter()).enumerate();
        let mut wanted = each.filter(|(_, (_, required))| **required == wanted);
        wanted.find_map(|(at, (tensor, _))| {
            let mut extents = tensor.shape.iter();
            Some((at, extents.position(|extent| extent.text().trim() == dim)?))
        })
    };
    let (tensor, extent) = find(true).or_else(|| find(false))?;
    required[tensor] = true;
    Some((tensor, extent))
}

/// An expression as C++ over the binding's variables.
pub fn cpp_formula(file: &ProblemFile, text: &str) -> Option<String> {
    formula::in_cpp(text, &|name| {
        let is_dim = file.dims.iter().any(|dim| dim == name);
        match name {
            "sizeof_T" => Some("sizeof_T".into()),
            name if is_dim => Some(format!("double(d_{name})")),
            _ => None,
        }
    })
}

/// The name of a type in PyTorch.
fn scalar_type(dtype: Dtype) -> String {
    format!("at::k{}", dtype.in_torch())
}

fn shape_text(tensor: &TensorText) -> String {
    format!(
        "({})",
        list(&tensor.shape, super::super::file::text::ExtentText::text)
    )
}

/// Of a scalar without a value, which no export has.
const NO_VALUE: NumberText = NumberText::Integer(0);

impl Writer<'_> {
    /// The C++ for a scalar's default; `None` if it must be given.
    fn default_of(&self, value: &NumberText) -> Option<String> {
        match value {
            NumberText::Integer(value) => Some(format!("{value}LL")),
            NumberText::Float(value) => Some(number(*value)),
            NumberText::Expression(text) => cpp_formula(self.file, text),
        }
    }

    /// The names of the problem's types.
    fn types(&self) -> String {
        self.file
            .types
            .iter()
            .map(|dtype| dtype.word())
            .join(" or ")
    }

    /// The tensors, and whether each must be given.
    fn tensors(&self) -> impl Iterator<Item = (&TensorText, bool)> {
        self.file.tensor.iter().zip(self.required.iter().copied())
    }

    fn given(&self) -> impl Iterator<Item = &TensorText> {
        let given = self.tensors().filter(|(_, required)| *required);
        given.map(|(tensor, _)| tensor)
    }

    /// The dimensions, and where each comes from.
    fn dims(&self) -> impl Iterator<Item = (&String, Option<(usize, usize)>)> {
        self.file.dims.iter().zip(self.dims.iter().copied())
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut all = Vec::new();
        let mut add = |name: &str, kind: ParameterKind, what: String, prefix: String| {
            all.push(Parameter {
                name: name.to_owned(),
                what,
                kind,
                declared: prefix + name,
            });
        };
        for (tensor, required) in self.tensors() {
            let role = match tensor.role {
                _ if tensor.compare == Some(false) => "workspace",
                TensorRole::In => "input",
                TensorRole::Out => "output",
                TensorRole::Inout => "changed in place",
                TensorRole::Scratch => "scratch",
            };
            let dtype = tensor.dtype.map(|dtype| dtype.to_string());
            let dtype = dtype.unwrap_or_else(|| self.types());
            let what = format!("{role}, {dtype}, {}", shape_text(tensor));
            let (kind, prefix) = if required {
                (ParameterKind::Tensor, "at::Tensor t_")
            } else {
                (ParameterKind::Output, "std::optional<at::Tensor> o_")
            };
            add(&tensor.name, kind, what, prefix.into());
        }
        for ScalarText {
            name, dtype, value, ..
        } in &self.file.scalar
        {
            let value = value.as_ref().unwrap_or(&NO_VALUE);
            let of = match dtype.integers() {
                Some((0, 1)) => "bool",
                Some((0, _)) => "uint64_t",
                Some(_) => "int64_t",
                None => "double",
            };
            let default = match value {
                NumberText::Integer(value) => value.to_string(),
                NumberText::Float(value) => number(*value),
                NumberText::Expression(text) => text.clone(),
            };
            match self.default_of(value) {
                Some(_) => add(
                    name,
                    ParameterKind::Scalar,
                    format!("{dtype}, {default} by default"),
                    format!("std::optional<{of}> o_"),
                ),
                None => add(
                    name,
                    ParameterKind::Number,
                    dtype.to_string(),
                    format!("{of} o_"),
                ),
            }
        }
        for (dim, _) in self.dims().filter(|(_, source)| source.is_none()) {
            let what = "dimension".into();
            add(dim, ParameterKind::Number, what, "int64_t d_".into());
        }
        all
    }

    fn source(&self, parameters: &[Parameter], returned: &[String]) -> String {
        let sections = [
            format!(
                "{INCLUDES}{INTERFACE}\n{CHECKS}\nstd::vector<at::Tensor> run({}) {{\n",
                list(parameters, |parameter| parameter.declared.clone())
            ),
            self.device_and_type(),
            self.cpp_dims(),
            self.tensors()
                .map(|(tensor, required)| self.cpp_tensor(tensor, required))
                .collect(),
            self.cpp_call(),
            format!(
                "    return {{{}}};\n}}\n",
                list(returned, |name| format!("t_{name}"))
            ),
        ];
        sections.concat()
    }

    fn device_and_type(&self) -> String {
        let Some(first) = self.given().next() else {
            return String::new();
        };
        let (name, entry) = (&first.name, &self.file.entry);
        let device = format!(
            "    const c10::Device device = t_{name}.device();\n    \
             TORCH_CHECK(device.is_cuda(), \"{name} is on \", device, \": it must be on a CUDA device\");\n    \
             const c10::cuda::CUDAGuard guard(device);\n"
        );
        let Some(typed) = self.given().find(|tensor| tensor.dtype.is_none()) else {
            return format!("{device}    const std::string entry = {};\n", quoted(entry));
        };
        let of_type = |dtype: &Dtype| {
            let entry = quoted(&entry.replace("{T}", dtype.word()));
            let (of, at, size) = (scalar_type(*dtype), dtype.number(), dtype.size());
            format!("    if (T == {of}) entry = {entry}, number_of_T = {at}, sizeof_T = {size};\n")
        };
        let of_types: String = self.file.types.iter().map(of_type).collect();
        let (name, types) = (&typed.name, self.types());
        format!(
            "{device}    const at::ScalarType T = t_{name}.scalar_type();\n    \
             std::string entry;\n    int number_of_T = 0;\n    [[maybe_unused]] double sizeof_T = 0;\n{of_types}    \
             TORCH_CHECK(!entry.empty(), \"{name} has the type \", T, \": it must be {types}\");\n"
        )
    }

    fn cpp_dims(&self) -> String {
        let rank = |tensor: &TensorText| {
            let (name, rank, shape) = (&tensor.name, tensor.shape.len(), shape_text(tensor));
            format!(
                "    check_rank(t_{name}, \"{name}\", {rank}, {});\n",
                quoted(&shape)
            )
        };
        let dim = |(dim, source): (&String, Option<(usize, usize)>)| {
            let value = source.map(|(tensor, extent)| {
                let name = &self.file.tensor[tensor].name;
                format!("    const int64_t d_{dim} = t_{name}.size({extent});\n")
            });
            let value = value.unwrap_or_default();
            format!("{value}    check_dim(d_{dim}, \"{dim}\");\n")
        };
        self.given().map(rank).chain(self.dims().map(dim)).collect()
    }

    fn cpp_extent(&self, tensor: &TensorText, at: usize) -> String {
        let (text, name) = (tensor.shape[at].text(), &tensor.name);
        let text = text.trim();
        if self.file.dims.iter().any(|dim| dim == text) {
            return format!("d_{text}");
        }
        if text.parse::<u32>().is_ok() {
            return text.to_owned();
        }
        match cpp_formula(self.file, text) {
            Some(formula) => format!("extent({formula}, \"{name}\")"),
            // An expression that has no C++ here: such a tensor is given.
            None => format!("t_{name}.size({at})"),
        }
    }

    fn cpp_tensor(&self, tensor: &TensorText, required: bool) -> String {
        let name = &tensor.name;
        let of = tensor.dtype.map_or("T".into(), scalar_type);
        let shape = list(0..tensor.shape.len(), |at| self.cpp_extent(tensor, at));
        let allocated = if required {
            String::new()
        } else {
            format!(
                "    at::Tensor t_{name} = o_{name} ? *o_{name} : at::empty(shape_of_{name}, \
                 at::TensorOptions().device(device).dtype({of}));\n"
            )
        };
        format!(
            "    const std::vector<int64_t> shape_of_{name} = {{{shape}}};\n{allocated}    \
             check_tensor(t_{name}, \"{name}\", {of}, shape_of_{name}, device);\n"
        )
    }

    fn cpp_call(&self) -> String {
        let dims = list(&self.file.dims, |dim| format!("int(d_{dim})"));
        let tensors = self.file.tensor.iter().flat_map(|tensor| {
            let (name, of) = (&tensor.name, tensor.dtype.map(Dtype::number));
            let of = of.map_or_else(|| "number_of_T".to_owned(), |number| number.to_string());
            let whole = [format!("buffer(t_{name}, \"{name}\", {of})")];
            let views = tensor.views.iter().map(move |view| {
                let formula = |text: &str| cpp_formula(self.file, text);
                let (part, view) = (views::in_cpp(tensor, view, &formula), &view.name);
                format!("buffer({part}, \"{view}\", {of})")
            });
            let whole = whole.into_iter().filter(|_| tensor.views.is_empty());
            views.chain(whole).collect_vec()
        });
        let tensors = list(tensors, |buffer| buffer);
        let scalars = list(&self.file.scalar, |scalar| {
            let of = scalar.dtype.in_source();
            let name = &scalar.name;
            match self.default_of(scalar.value.as_ref().unwrap_or(&NO_VALUE)) {
                Some(default) => format!("bytes<{of}>(o_{name} ? *o_{name} : {default})"),
                None => format!("bytes<{of}>(o_{name})"),
            }
        });
        format!(
            "    const std::vector<int> dims = {{{dims}}};\n    \
             const std::vector<LabBuffer> tensors = {{{tensors}}};\n    \
             const std::vector<std::string> scalars = {{{scalars}}};\n    \
             at::Tensor memory;\n    const auto scratch = [&](size_t size) {{\n        memory = at::empty({{int64_t(size)}}, \
             at::TensorOptions().device(device).dtype(at::kByte));\n        return memory.data_ptr();\n    }};\n    lab_run(entry, dims, \
             tensors, scalars, scratch, c10::cuda::getCurrentCUDAStream(device.index()).stream());\n"
        )
    }
}
