//! The export as a Python file with a PyTorch extension.

use super::binding::{self, Parameter, ParameterKind, Signature};
use super::source::{Flattened, Frame, flatten};
use super::{Exported, Parts, Source, lab_header, tables};
use crate::dtype::Dtype;
use crate::probe::bounds::CacheState;

const STATEMENTS: &str = include_str!("parts/statements.h");
const LAUNCHING: &str = include_str!("parts/launching.h");
const INTERFACE: &str = include_str!("parts/interface.h");
const RUN: &str = include_str!("parts/run.cu");
const BUILD: &str = include_str!("parts/build.py");
const CHECK: &str = include_str!("parts/check.py");

const INCLUDES: &str = "#include <cuda.h>\n#include <cuda_runtime.h>\n\n#include <functional>\n#include <map>\n#include <memory>\n\
    #include <mutex>\n#include <stdexcept>\n#include <string>\n#include <tuple>\n#include <utility>\n#include <vector>\n";

/// What the Python file imports.
pub const IMPORTS: &str = "import collections\nimport functools\nimport hashlib\nimport inspect\nimport math\nimport statistics\nimport sys\nimport types\n\nimport torch\n";

/// Words of Python that are no words of C++, and so may be names in a problem.toml.
const KEYWORDS: [&str; 26] = [
    "as", "assert", "async", "await", "def", "del", "elif", "except", "finally", "from", "global",
    "import", "in", "is", "lambda", "nonlocal", "pass", "raise", "with", "yield", "None", "True",
    "False", "match", "type", "torch",
];

pub fn write(parts: &Parts) -> Result<Exported, String> {
    let material = parts.material;
    let sources = Sources::of(parts, Some(material.kernel))?;
    let binding = binding::write(parts);
    let function = function_name(&parts.name);
    let python = Python::of(parts)?;
    let sections = [
        head(parts, &function),
        IMPORTS.to_owned(),
        sources.text(Some(material.kernel), parts.reference)?,
        bound(&binding, parts)?,
        BUILD.to_owned(),
        public_function(parts, &function, &binding.signature),
        CHECK.to_owned(),
        python.tables,
        python.reference,
        main(&parameters_by_name("kernel")),
    ];
    Ok(Exported {
        text: joined(&sections),
        command: parts.python_command(),
    })
}

/// The sections with two blank lines between them.
pub fn joined(sections: &[String]) -> String {
    let sections = sections
        .iter()
        .map(|section| section.trim_matches('\n'))
        .filter(|section| !section.is_empty());
    sections.collect::<Vec<_>>().join("\n\n\n") + "\n"
}

/// The CUDA sources of a file.
pub struct Sources {
    header: String,
    kernel: Option<Flattened>,
    reference: Option<Flattened>,
}

impl Sources {
    /// Flattens the kernel, if it is CUDA, and the reference, if it is.
    pub fn of(parts: &Parts, kernel: Option<Source>) -> Result<Sources, String> {
        let frame = Frame {
            namespace: None,
            opening: "",
        };
        let flat = |source: Source| {
            flatten(source.text, &frame, parts.material.read)
                .map_err(|e| format!("{}: {e}", source.path))
        };
        let kernel = kernel.map(flat).transpose()?;
        let reference = Some(parts.reference)
            .filter(|reference| !reference.is_python())
            .map(flat)
            .transpose()?;
        let texts: Vec<&str> = kernel
            .iter()
            .chain(&reference)
            .map(|flat| flat.text.as_str())
            .collect();
        let header = [
            INCLUDES,
            &lab_header::structs(),
            STATEMENTS,
            &lab_header::helpers(&texts),
            &parts.dims(),
        ];
        let header = header.map(str::trim_end).join("\n\n") + "\n";
        Ok(Sources {
            header,
            kernel,
            reference,
        })
    }

    /// The sources as texts of Python; nothing if there are none.
    pub fn text(&self, kernel: Option<Source>, reference: Source) -> Result<String, String> {
        if self.kernel.is_none() && self.reference.is_none() {
            return Ok(String::new());
        }
        let body = |flat: &Flattened| {
            let undefined: String = flat
                .macros
                .iter()
                .map(|name| format!("#undef {name}\n"))
                .collect();
            format!("{}\n\n{undefined}", flat.text.trim())
                .trim_end()
                .to_owned()
                + "\n"
        };
        let mut out = format!(
            "# lab.h: launch statements, and the helpers that the sources use.\n_LAB_HEADER = {}\n",
            python_text(&self.header)
        );
        if let (Some(flat), Some(source)) = (&self.kernel, kernel) {
            out += &format!(
                "\n# {}: the kernel.\n_LAB_KERNEL = {}\n",
                source.path,
                python_text(&body(flat))
            );
        } else {
            out += "\n_LAB_KERNEL = None\n";
        }
        if let Some(flat) = &self.reference {
            out += &format!(
                "\n# {}: the reference.\n_LAB_REFERENCE = {}\n",
                reference.path,
                python_text(&body(flat))
            );
        } else {
            out += "\n_LAB_REFERENCE = None\n";
        }
        let launching = format!("{LAUNCHING}\n{INTERFACE}\n{RUN}");
        out += &format!(
            "\n# How the kernels are launched.\n_LAB_LAUNCHING = {}\n",
            python_text(&launching)
        );
        Ok(out)
    }
}

/// The binding, the order of its parameters, and the options of nvcc.
pub fn bound(binding: &binding::Binding, parts: &Parts) -> Result<String, String> {
    let names: Vec<String> = binding
        .signature
        .parameters
        .iter()
        .map(|p| tables::quoted(&p.name))
        .collect();
    let options = parts.options();
    let options = options
        .iter()
        .filter(|option| !option.starts_with("--std="));
    let options: Vec<String> = options.map(|option| tables::quoted(option)).collect();
    Ok(format!(
        "# Checks the tensors, infers the dimensions, and launches on PyTorch's stream.\n_LAB_BINDING = {}\n\n# The binding's \
         parameters, in order.\n_LAB_PARAMETERS = [{}]\n\n# The options of nvcc that lab.toml gives.\n_LAB_OPTIONS = [{}]\n",
        python_text(&binding.source),
        names.join(", "),
        options.join(", ")
    ))
}

/// What the check needs in Python.
pub struct Python {
    /// The problem's tables.
    pub tables: String,
    /// A reference.py as a module, and the function `_lab_reference`.
    pub reference: String,
}

impl Python {
    pub fn of(parts: &Parts) -> Result<Python, String> {
        let spec = &parts.spec;
        let scalars: Vec<(String, Dtype)> = parts
            .outline
            .scalars
            .iter()
            .map(|scalar| (scalar.name.clone(), scalar.dtype))
            .collect();
        let truth = |value: bool| if value { "True" } else { "False" };
        let cold = spec.cache == CacheState::Cold;
        let tables = format!(
            "# The problem: launches in a row after which inout tensors are compared too, the L2 cache before a timed launch, how timed\n\
             # launches run, the tensors, and the workloads.\n_LAB_NAME = {}\n_LAB_STEPS = {}\n_LAB_COLD = {}\n_LAB_GRAPH = {}\n{}",
            tables::quoted(&parts.name),
            spec.steps,
            truth(cold),
            truth(spec.graph),
            tables::in_python(spec, &scalars)
        );
        let reference = if parts.reference.is_python() {
            format!(
                "# {}: the reference.\n_LAB_REFERENCE_PY = {}\n\n_lab_reference_module = types.ModuleType(\"reference\")\n\
                 exec(compile(_LAB_REFERENCE_PY, \"reference.py\", \"exec\"), _lab_reference_module.__dict__)\n\n\n\
                 def _lab_reference(case, tensors):\n    _lab_by_name(getattr(_lab_reference_module, case.entry), case, tensors)\n",
                parts.reference.path,
                python_text(parts.reference.text)
            )
        } else {
            format!(
                "def _lab_reference(case, tensors):\n    {}\n",
                parameters_by_name("reference")
            )
        };
        Ok(Python { tables, reference })
    }
}

/// The call of an extension with everything that a case has.
fn parameters_by_name(part: &str) -> String {
    format!("_lab_call(\"{part}\", {{**tensors, **case.scalars, **case.dims}})")
}

/// The end of the file. `call` launches the kernel for `case` and `tensors`.
pub fn main(call: &str) -> String {
    format!(
        "def _lab_kernel(case, tensors):\n    {call}\n\n\nif __name__ == \"__main__\":\n    sys.exit(_lab_check(_lab_kernel, _lab_reference))\n"
    )
}

/// What every head ends with: how the file checks itself.
pub const HEAD_OF_CHECK: &str = "Each line of the check is a workload of problem.toml: its time on this GPU, and its largest error. A cell is\n\
    right if |got - want| <= atol + rtol * |want|, as in lab; an error of 1 is the limit. The inputs are drawn from a seed (the file's\n\
    argument): they are not the values that lab draws, and hold no planted extremes. The time is a median of CUDA events after\n\
    warm-ups; lab's own figures are of more launches, in turns with other kernels.\n";

fn head(parts: &Parts, function: &str) -> String {
    let stem = parts.material.file_stem;
    let text = format!(
        "{}: a CUDA kernel as a PyTorch extension.\n\n    python3 {stem}.py            builds it, verifies it against its reference and times it\n    \
         from {stem} import {function}\n\nIt needs PyTorch with CUDA, nvcc and ninja. The first call builds the extension; PyTorch keeps it.\n\n{}\n{HEAD_OF_CHECK}",
        parts.name,
        parts.head("")
    );
    python_doc(&text)
}

/// A docstring.
fn python_doc(text: &str) -> String {
    format!(
        "\"\"\"{}\"\"\"\n",
        text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"")
    )
}

/// The Python name of a problem: letters, digits and `_`.
fn function_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let name = name.trim_matches('_').to_owned();
    let name = match name.chars().next() {
        None => "kernel".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("kernel_{name}"),
        Some(_) => name,
    };
    python_name(&name)
}

/// A name, with `_` behind it if it means something else in the file.
fn python_name(name: &str) -> String {
    let taken = IMPORTS.split_whitespace().any(|word| word == name);
    if KEYWORDS.contains(&name) || taken {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

fn public_function(parts: &Parts, function: &str, signature: &Signature) -> String {
    let of = |kind: ParameterKind| signature.parameters.iter().filter(move |p| p.kind == kind);
    let mut arguments: Vec<String> = of(ParameterKind::Tensor)
        .map(|p| python_name(&p.name))
        .collect();
    let named: Vec<String> = of(ParameterKind::Number)
        .map(|p| python_name(&p.name))
        .chain(
            of(ParameterKind::Output)
                .chain(of(ParameterKind::Scalar))
                .map(|p| python_name(&p.name) + "=None"),
        )
        .collect();
    if !named.is_empty() {
        arguments.push("*".into());
        arguments.extend(named);
    }
    let line = |p: &Parameter| {
        let given = if p.kind == ParameterKind::Output {
            "; allocated if it is not given"
        } else {
            ""
        };
        format!("        {}: {}{given}\n", python_name(&p.name), p.what)
    };
    let lines: String = signature.parameters.iter().map(line).collect();
    let names: Vec<String> = signature
        .parameters
        .iter()
        .map(|p| format!("{}: {}", tables::quoted(&p.name), python_name(&p.name)))
        .collect();
    let returned = match signature.returned.as_slice() {
        [one] => one.clone(),
        several => format!("the tuple ({})", several.join(", ")),
    };
    let value = if signature.returned.len() == 1 {
        "outputs[0]"
    } else {
        "tuple(outputs)"
    };
    format!(
        "def {function}({}):\n    \"\"\"Launches {} and returns {returned}.\n\n    The tensors lie on one CUDA device and are contiguous:\n\n{lines}\n    \
         The kernel runs on PyTorch's current stream. Nothing is differentiated. The first call with new dimensions runs the launch\n    \
         statement and waits for it: make one such call before you capture a CUDA graph.\n    \"\"\"\n    outputs = _lab_call(\"kernel\", {{{}}})\n    \
         return {value}\n",
        arguments.join(", "),
        parts.name,
        names.join(", ")
    )
}

/// A text as a literal of Python: raw, if it can be.
pub fn python_text(text: &str) -> String {
    let is_raw = !text.contains("\"\"\"") && !text.ends_with(['\\', '"']) && !text.contains('\r');
    if is_raw {
        return format!("r\"\"\"\n{text}\"\"\"");
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let escaped = line
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        format!("    \"{escaped}\"\n")
    });
    format!("(\n{})", lines.collect::<String>())
}
