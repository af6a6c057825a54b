//! The workloads of a problem as tables of C++ and of Python: every extent, scalar, tolerance and
//! range is a number there.

use super::super::input_values::InputValues;
use super::super::spec::{Case, CaseTensor, ProblemSpec, TensorRole};
use crate::dtype::{CellValue, Dtype};
use std::fmt::Write;

/// Most bytes of an .npy file whose cells are written into an export.
const MOST_BYTES: usize = 256 << 10;

/// Returns why an export cannot hold the values of an input: they come from a large file.
pub fn check_values(spec: &ProblemSpec) -> Result<(), String> {
    for case in &spec.cases {
        for (tensor, of) in spec.tensors.iter().zip(&case.tensors) {
            if let Some(InputValues::Npy(array)) = &of.values {
                let bytes = array.cells.len();
                if bytes > MOST_BYTES {
                    return Err(format!(
                        "{} takes its values from {}, and its {bytes} bytes are too many for an export, which holds up to \
                         {MOST_BYTES}: give {} a distribution in problem.toml, or a smaller file",
                        tensor.name, array.name, tensor.name
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The name of a type in the exports' enum.
pub fn type_name(dtype: Dtype) -> String {
    dtype.word().to_uppercase()
}

fn role_name(role: TensorRole) -> &'static str {
    match role {
        TensorRole::In => "IN",
        TensorRole::Out => "OUT",
        TensorRole::Inout => "INOUT",
    }
}

/// A number as C++ and Python read it: the shortest text that stands for exactly this one.
pub fn number(value: f64) -> String {
    format!("{value:?}")
}

/// A whole number of 64 bits as C++ reads it.
fn whole(value: i64) -> String {
    match value {
        i64::MIN => "-9223372036854775807LL - 1".into(),
        value => format!("{value}LL"),
    }
}

/// A text in quotes as C++ and Python read it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_ascii_control() => out += &format!("\\{:03o}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Bytes as a string of C++ with octal escapes, which have three digits and so need no end.
fn octal(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in bytes {
        let _ = write!(out, "\\{byte:03o}");
    }
    out.push('"');
    out
}

/// A scalar as it is written in a program.
pub fn scalar_text(dtype: Dtype, bytes: &[u8]) -> String {
    match dtype.value(bytes) {
        CellValue::Integer(value) => value.to_string(),
        // The shortest text of an f32 is that of the f32, not of the f64 of the same value.
        CellValue::Float(value) => format!("{:?}", value as f32),
    }
}

fn cpp_scalar(dtype: Dtype, bytes: &[u8]) -> String {
    match (dtype, dtype.value(bytes)) {
        (Dtype::I64, CellValue::Integer(value)) => format!("scalar({})", whole(value)),
        (_, CellValue::Integer(value)) => format!("scalar(int({value}LL))"),
        (_, CellValue::Float(_)) => format!("scalar({}f)", scalar_text(dtype, bytes)),
    }
}

fn cpp_values(values: Option<&InputValues>) -> String {
    let of = |kind: &str, a: f64, b: f64, low: i64, high: i64, bytes: &str| {
        format!(
            "{{Values::{kind}, {}, {}, {}, {}, {bytes}}}",
            number(a),
            number(b),
            whole(low),
            whole(high)
        )
    };
    match values {
        None => of("NONE", 0.0, 0.0, 0, 0, "nullptr"),
        Some(InputValues::Normal { mean, std }) => of("NORMAL", *mean, *std, 0, 0, "nullptr"),
        Some(InputValues::Uniform { low, high }) => of("UNIFORM", *low, *high, 0, 0, "nullptr"),
        Some(InputValues::Integers { low, high }) => {
            of("INTEGERS", 0.0, 0.0, *low, *high, "nullptr")
        }
        Some(InputValues::Ascending { low, high }) => {
            of("ASCENDING", 0.0, 0.0, *low, *high, "nullptr")
        }
        Some(InputValues::Permutation) => of("PERMUTATION", 0.0, 0.0, 0, 0, "nullptr"),
        Some(InputValues::Constant(CellValue::Float(value))) => {
            of("NUMBER", *value, 0.0, 0, 0, "nullptr")
        }
        Some(InputValues::Constant(CellValue::Integer(value))) => {
            of("WHOLE", 0.0, 0.0, *value, 0, "nullptr")
        }
        Some(InputValues::Npy(array)) => of("BYTES", 0.0, 0.0, 0, 0, &octal(&array.cells)),
    }
}

fn list<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

fn cpp_tensor(of: &CaseTensor) -> String {
    let tolerance = &of.tolerance;
    format!(
        "{{{}, {{{}}}, {}, {}, {}, {}}}",
        type_name(of.dtype),
        list(&of.shape, usize::to_string),
        number(tolerance.atol),
        number(tolerance.rtol),
        number(tolerance.matched),
        cpp_values(of.values.as_ref())
    )
}

/// The tables `tensors` and `cases` of C++. `scalars` are the types of the scalars.
pub fn in_cpp(spec: &ProblemSpec, scalars: &[Dtype]) -> String {
    let mut out = String::from("const std::vector<Tensor> tensors = {");
    out += &list(&spec.tensors, |tensor| {
        format!("{{{}, {}}}", quoted(&tensor.name), role_name(tensor.role))
    });
    out += "};\n\nconst std::vector<Case> cases = {\n";
    for case in &spec.cases {
        let _ = write!(
            out,
            "    {{{}, {}, {}, {{{}}}, {{{}}},\n     {{",
            quoted(&case.label),
            quoted(&case.entry),
            !case.held_out,
            list(&case.dims, i32::to_string),
            list(scalars.iter().zip(&case.scalars), |(dtype, bytes)| {
                cpp_scalar(*dtype, bytes)
            }),
        );
        out += &case
            .tensors
            .iter()
            .map(cpp_tensor)
            .collect::<Vec<_>>()
            .join(",\n      ");
        out += "}},\n";
    }
    out + "};\n"
}

fn python_values(values: Option<&InputValues>) -> String {
    match values {
        None => "None".into(),
        Some(InputValues::Normal { mean, std }) => {
            format!("(\"normal\", {}, {})", number(*mean), number(*std))
        }
        Some(InputValues::Uniform { low, high }) => {
            format!("(\"uniform\", {}, {})", number(*low), number(*high))
        }
        Some(InputValues::Integers { low, high }) => format!("(\"integers\", {low}, {high})"),
        Some(InputValues::Ascending { low, high }) => format!("(\"ascending\", {low}, {high})"),
        Some(InputValues::Permutation) => "(\"permutation\",)".into(),
        Some(InputValues::Constant(CellValue::Float(value))) => {
            format!("(\"constant\", {})", number(*value))
        }
        Some(InputValues::Constant(CellValue::Integer(value))) => {
            format!("(\"constant\", {value})")
        }
        Some(InputValues::Npy(array)) => {
            let hex: String = array
                .cells
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("(\"bytes\", bytes.fromhex(\"{hex}\"))")
        }
    }
}

/// A sequence of Python, which needs a comma behind its only item.
fn python_tuple(items: &[String]) -> String {
    match items {
        [one] => format!("({one},)"),
        items => format!("({})", items.join(", ")),
    }
}

fn python_case(spec: &ProblemSpec, scalars: &[(String, Dtype)], case: &Case) -> String {
    let dims = spec.dims.iter().zip(&case.dims);
    let given = scalars.iter().zip(&case.scalars);
    let mut out = format!(
        "    _LabCase(\n        {},\n        {},\n        {},\n        {{{}}},\n        {{{}}},\n        {{\n",
        quoted(&case.label),
        quoted(&case.entry),
        if case.held_out { "False" } else { "True" },
        list(dims, |(name, extent)| format!("{}: {extent}", quoted(name))),
        list(given, |((name, dtype), bytes)| format!(
            "{}: {}",
            quoted(name),
            scalar_text(*dtype, bytes)
        )),
    );
    for (tensor, of) in spec.tensors.iter().zip(&case.tensors) {
        let shape: Vec<String> = of.shape.iter().map(usize::to_string).collect();
        let tolerance = &of.tolerance;
        let _ = writeln!(
            out,
            "            {}: _LabOf({}, {}, {}, {}, {}, {}),",
            quoted(&tensor.name),
            quoted(of.dtype.word()),
            python_tuple(&shape),
            number(tolerance.atol),
            number(tolerance.rtol),
            number(tolerance.matched),
            python_values(of.values.as_ref())
        );
    }
    out + "        },\n    ),\n"
}

/// The tables `_LAB_ROLES` and `_LAB_CASES` of Python. `scalars` are the names and types of the
/// scalars.
pub fn in_python(spec: &ProblemSpec, scalars: &[(String, Dtype)]) -> String {
    let roles = list(&spec.tensors, |tensor| {
        format!(
            "{}: {}",
            quoted(&tensor.name),
            quoted(&role_name(tensor.role).to_lowercase())
        )
    });
    let cases: String = spec
        .cases
        .iter()
        .map(|case| python_case(spec, scalars, case))
        .collect();
    format!("_LAB_ROLES = {{{roles}}}\n\n_LAB_CASES = [\n{cases}]\n")
}
