//! The workloads of a problem as tables of C++ and of Python: every extent, scalar, tolerance and
//! range is a number there.

use super::super::input_values::{InputValues, PackedField};
use super::super::spec::{Case, CaseScalar, CaseTensor, ProblemSpec, TensorRole};
use super::super::view::View;
use crate::dtype::{CellValue, Dtype};
use itertools::Itertools as _;
use std::fmt::Write;

/// Most bytes of an .npy file whose cells are written into an export.
const MOST_BYTES: usize = 256 << 10;

/// Returns why an export cannot hold the values of an input: they come from a large file.
pub fn check_values(spec: &ProblemSpec) -> Result<(), String> {
    for tensor in spec.cases.iter().flat_map(|case| &case.tensors) {
        let Some(InputValues::Npy(array)) = &tensor.values else {
            continue;
        };
        let (name, bytes) = (&tensor.name, array.cells.len());
        if bytes > MOST_BYTES {
            return Err(format!(
                "{name} takes its values from {}, and its {bytes} bytes are too many for an export, which holds up to \
                 {MOST_BYTES}: give {name} a distribution in problem.toml, or a smaller file",
                array.name
            ));
        }
    }
    Ok(())
}

fn role_name(role: TensorRole) -> &'static str {
    match role {
        TensorRole::In => "IN",
        TensorRole::Out => "OUT",
        TensorRole::Inout => "INOUT",
        TensorRole::Scratch => "SCRATCH",
    }
}

/// A number as C++ reads it: the shortest text that stands for exactly this one.
pub fn number(value: f64) -> String {
    match (value.is_nan(), value.is_infinite()) {
        (true, _) => "NAN".into(),
        (_, true) if value < 0.0 => "-INFINITY".into(),
        (_, true) => "INFINITY".into(),
        _ => format!("{value:?}"),
    }
}

/// A number as Python reads it.
fn python_number(value: f64) -> String {
    let text = number(value).replace("INFINITY", "math.inf");
    text.replace("NAN", "math.nan")
}

/// A whole number of 64 bits as C++ reads it. A u64 from 2⁶³ on is the i64 of the same bits.
fn whole(value: i128) -> String {
    match value as i64 {
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

/// A finite f32 as it is written in a program: its shortest text is not that of the f64 of the same
/// value.
fn single(value: f64) -> String {
    format!("{:?}", value as f32)
}

fn python_scalar(scalar: &CaseScalar) -> String {
    match scalar.dtype.value(&scalar.bytes) {
        CellValue::Integer(value) if scalar.dtype == Dtype::Bool => truth(value != 0).into(),
        CellValue::Integer(value) => value.to_string(),
        CellValue::Float(value) if scalar.dtype == Dtype::F32 && value.is_finite() => single(value),
        CellValue::Float(value) => python_number(value),
    }
}

fn cpp_scalar(scalar: &CaseScalar) -> String {
    let text = match scalar.dtype.value(&scalar.bytes) {
        CellValue::Integer(value) => whole(value),
        CellValue::Float(value) if scalar.dtype == Dtype::F32 && value.is_finite() => {
            single(value) + "f"
        }
        CellValue::Float(value) => number(value),
    };
    format!("scalar<{}>({text})", scalar.dtype.in_source())
}

/// The numbers of a distribution, in the order of its keys.
fn numbers_of(values: &InputValues) -> Vec<CellValue> {
    match *values {
        InputValues::Normal { mean: a, std: b }
        | InputValues::Uniform { low: a, high: b }
        | InputValues::Expected {
            low: a, high: b, ..
        } => {
            vec![CellValue::Float(a), CellValue::Float(b)]
        }
        InputValues::Integers { low, high } | InputValues::Ascending { low, high } => {
            vec![CellValue::Integer(low), CellValue::Integer(high)]
        }
        InputValues::Constant(value) => vec![value],
        InputValues::Permutation | InputValues::Npy(_) | InputValues::Packed(_) => Vec::new(),
    }
}

fn cpp_values(values: Option<&InputValues>) -> String {
    let word: &str = values.map_or("none", Into::into);
    let (kind, bytes) = match values {
        Some(InputValues::Constant(CellValue::Float(_))) => ("number", None),
        Some(InputValues::Constant(CellValue::Integer(_))) => ("whole", None),
        Some(InputValues::Npy(array)) => ("bytes", Some(octal(&array.cells))),
        _ => (word, None),
    };
    let (kind, bytes) = (kind.to_uppercase(), bytes.unwrap_or("nullptr".into()));
    let (mut floats, mut wholes) = ([0.0; 2], [0; 2]);
    for (at, value) in values.map(numbers_of).iter().flatten().enumerate() {
        match value {
            CellValue::Float(value) => floats[at] = *value,
            CellValue::Integer(value) => wholes[at] = *value,
        }
    }
    let (floats, wholes) = (list(floats, number), list(wholes, whole));
    format!("{{Values::{kind}, {floats}, {wholes}, {bytes}}}")
}

pub fn list<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).join(", ")
}

fn cpp_tensor(of: &CaseTensor) -> String {
    let tolerance = &of.tolerance;
    let views = list(&of.views, |view| {
        let (shape, strides) = (
            list(&view.shape, usize::to_string),
            list(&view.strides, usize::to_string),
        );
        format!(
            "{{{}, {}, {{{shape}}}, {{{strides}}}}}",
            quoted(&view.name),
            view.offset
        )
    });
    format!(
        "{{{}, {{{}}}, {}, {}, {}, {}, {{{views}}}, {{{}}}, 0}}",
        of.dtype.word().to_uppercase(),
        list(&of.shape, usize::to_string),
        number(tolerance.atol),
        number(tolerance.rtol),
        number(tolerance.matched),
        cpp_values(of.values.as_ref()),
        list(fields(of.values.as_ref()), cpp_field)
    )
}

/// The fields of packed values.
fn fields(values: Option<&InputValues>) -> &[PackedField] {
    match values {
        Some(InputValues::Packed(fields)) => fields,
        _ => &[],
    }
}

fn cpp_field(field: &PackedField) -> String {
    format!(
        "{{{}, {{{}}}, 0, 0, 0, {}, {{}}, {{}}, {}}}",
        field.dtype.word().to_uppercase(),
        list(&field.shape, usize::to_string),
        cpp_values(Some(&field.values)),
        field.offset
    )
}

/// The tables `tensors` and `cases` of C++.
pub fn in_cpp(spec: &ProblemSpec) -> String {
    let mut out = String::from("const std::vector<Tensor> tensors = {");
    out += &list(spec.tensors(), |tensor| {
        let (name, role) = (quoted(&tensor.name), role_name(tensor.role));
        format!("{{{name}, {role}, {}}}", tensor.is_compared())
    });
    out += "};\n\nconst std::vector<Case> cases = {\n";
    for case in &spec.cases {
        let _ = write!(
            out,
            "    {{{}, {}, {}, {{{}}}, {{{}}},\n     {{",
            quoted(&case.label),
            quoted(&case.entry),
            !case.held_out,
            list(&case.dims, |(_, extent)| extent.to_string()),
            list(&case.scalars, cpp_scalar),
        );
        out += &case.tensors.iter().map(cpp_tensor).join(",\n      ");
        out += "}},\n";
    }
    out + "};\n"
}

fn python_values(values: Option<&InputValues>) -> String {
    let Some(values) = values else {
        return "None".into();
    };
    if let InputValues::Npy(array) = values {
        let cells = array.cells.iter();
        let hex: String = cells.map(|byte| format!("{byte:02x}")).collect();
        return format!("(\"bytes\", bytes.fromhex(\"{hex}\"))");
    }
    let mut items = vec![quoted(values.into())];
    items.extend(fields(Some(values)).iter().map(|field| {
        let (of, shape) = (quoted(field.dtype.word()), python_numbers(&field.shape));
        format!(
            "({}, {of}, {shape}, {})",
            field.offset,
            python_values(Some(&field.values))
        )
    }));
    items.extend(numbers_of(values).into_iter().map(|value| match value {
        CellValue::Float(value) => python_number(value),
        CellValue::Integer(value) => value.to_string(),
    }));
    python_tuple(&items)
}

/// A sequence of Python, which needs a comma behind its only item.
fn python_tuple(items: &[String]) -> String {
    match items {
        [one] => format!("({one},)"),
        items => format!("({})", items.join(", ")),
    }
}

fn python_numbers(numbers: &[usize]) -> String {
    python_tuple(&numbers.iter().map(usize::to_string).collect_vec())
}

fn python_view(view: &View) -> String {
    let (name, offset) = (quoted(&view.name), view.offset);
    let (shape, strides) = (python_numbers(&view.shape), python_numbers(&view.strides));
    format!("({name}, {offset}, {shape}, {strides})")
}

fn python_case(case: &Case) -> String {
    let tensor = |tensor: &CaseTensor| {
        format!(
            "            {}: _LabOf({}, {}, {}, {}, {}, {}, {}),\n",
            quoted(&tensor.name),
            quoted(tensor.dtype.word()),
            python_numbers(&tensor.shape),
            number(tensor.tolerance.atol),
            number(tensor.tolerance.rtol),
            number(tensor.tolerance.matched),
            python_values(tensor.values.as_ref()),
            python_tuple(&tensor.views.iter().map(python_view).collect_vec())
        )
    };
    format!(
        "    _LabCase(\n        {},\n        {},\n        {},\n        {{{}}},\n        {{{}}},\n        {{\n{}        }},\n    ),\n",
        quoted(&case.label),
        quoted(&case.entry),
        truth(!case.held_out),
        list(&case.dims, |(name, extent)| format!(
            "{}: {extent}",
            quoted(name)
        )),
        list(&case.scalars, |scalar| {
            format!("{}: {}", quoted(&scalar.name), python_scalar(scalar))
        }),
        case.tensors.iter().map(tensor).collect::<String>()
    )
}

/// A truth value of Python.
pub fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// The tables `_LAB_ROLES`, `_LAB_COMPARED` and `_LAB_CASES` of Python.
pub fn in_python(spec: &ProblemSpec) -> String {
    let roles = list(spec.tensors(), |tensor| {
        let role = role_name(tensor.role).to_lowercase();
        format!("{}: {}", quoted(&tensor.name), quoted(&role))
    });
    let compared = spec.tensors().iter().filter(|tensor| tensor.is_compared());
    let compared = compared.map(|tensor| quoted(&tensor.name)).collect_vec();
    let compared = python_tuple(&compared);
    let cases: String = spec.cases.iter().map(|case| python_case(case)).collect();
    format!("_LAB_ROLES = {{{roles}}}\n_LAB_COMPARED = {compared}\n\n_LAB_CASES = [\n{cases}]\n")
}
