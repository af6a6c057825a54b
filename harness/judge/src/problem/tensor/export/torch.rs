//! The export as a Python file with a PyTorch extension.

use super::super::file::PYTHON_WORDS;
use super::binding::{self, Binding, Parameter, ParameterKind};
use super::source::{Flattened, Frame};
use super::tables::{list, quoted, truth};
use super::{Exported, Parts, Source, lab_header, shell_word, tables};
use crate::probe::bounds::CacheState;
use itertools::Itertools as _;
use lab_protocol::text::is_among;

const STATEMENTS: &str = include_str!("parts/statements.h");
const LAUNCHING: &str = include_str!("parts/launching.h");
const INTERFACE: &str = include_str!("parts/interface.h");
const RUN: &str = include_str!("parts/run.cu");
const BUILD: &str = include_str!("parts/build.py");
const CHECK: &str = include_str!("parts/check.py");

const INCLUDES: &str = "#include <cuda.h>\n#include <cuda_runtime.h>\n\n#include <functional>\n#include <map>\n#include <memory>\n\
    #include <mutex>\n#include <stdexcept>\n#include <string>\n#include <tuple>\n#include <utility>\n#include <vector>\n";

/// The imports of the Python file.
pub const IMPORTS: &str = "import collections\nimport functools\nimport hashlib\nimport inspect\nimport math\nimport statistics\nimport sys\nimport types\n\nimport torch\n";

pub fn write(parts: &Parts) -> Result<Exported, String> {
    let material = parts.material;
    let sources = sources(parts, Some(material.kernel))?;
    let binding = binding::write(&parts.file);
    let function = function_name(&parts.name);
    let sections = vec![
        head(parts, &function),
        IMPORTS.to_owned(),
        sources,
        bound(&binding, parts),
        public_function(parts, &function, &binding),
    ];
    let call = parameters_by_name("kernel");
    Ok(with_check(parts, sections, &call))
}

/// The Python file of these sections and the check. `call` launches the kernel for `case` and
/// `tensors`.
pub fn with_check(parts: &Parts, mut sections: Vec<String>, call: &str) -> Exported {
    sections.extend([
        CHECK.to_owned(),
        problem(parts),
        reference(parts),
        format!(
            "def _lab_kernel(case, tensors):\n    {call}\n\n\nif __name__ == \"__main__\":\n    sys.exit(_lab_check(_lab_kernel, _lab_reference))\n"
        ),
    ]);
    let file = format!("{}.py", parts.material.file_stem);
    Exported {
        text: joined(&sections),
        command: format!("python3 {}", shell_word(&file)),
    }
}

/// The sections with two blank lines between them.
fn joined(sections: &[String]) -> String {
    let mut sections = sections
        .iter()
        .map(|section| section.trim_matches('\n'))
        .filter(|section| !section.is_empty());
    sections.join("\n\n\n") + "\n"
}

/// The sources in CUDA as texts of Python: the kernel, if it is there, and the reference, if it is
/// CUDA. Empty if there is none.
pub fn sources(parts: &Parts, kernel: Option<Source>) -> Result<String, String> {
    let flat = |source: Source| parts.flatten(source, &Frame::default());
    let reference = Some(parts.reference).filter(|reference| !reference.is_python());
    if kernel.is_none() && reference.is_none() {
        return Ok(String::new());
    }
    let flat_kernel = kernel.map(flat).transpose()?;
    let flat_reference = reference.map(flat).transpose()?;
    let flattened = flat_kernel.iter().chain(&flat_reference);
    let texts = flattened.map(|flat| flat.text.as_str()).collect_vec();
    let header = [
        INCLUDES,
        &lab_header::structs(),
        STATEMENTS,
        &lab_header::helpers(&texts),
        &parts.spec.dims_struct(),
    ];
    let header = header.map(str::trim_end).join("\n\n") + "\n";
    let assigned = |name: &str, role: &str, source: Option<Source>, flat: Option<Flattened>| {
        let (Some(source), Some(flat)) = (source, flat) else {
            return format!("{name} = None");
        };
        let text = python_text(&(flat.with_macros_undefined().trim_end().to_owned() + "\n"));
        format!("# {}: the {role}.\n{name} = {text}", source.path)
    };
    Ok(format!(
        "# lab.h: launch statements, and the helpers that the sources use.\n_LAB_HEADER = {}\n\n{}\n\n{}\n\n\
         # How the kernels are launched.\n_LAB_LAUNCHING = {}\n",
        python_text(&header),
        assigned("_LAB_KERNEL", "kernel", kernel, flat_kernel),
        assigned("_LAB_REFERENCE", "reference", reference, flat_reference),
        python_text(&format!("{LAUNCHING}\n{INTERFACE}\n{RUN}"))
    ))
}

/// The binding, the order of its parameters, the options of nvcc, and what builds it.
pub fn bound(binding: &Binding, parts: &Parts) -> String {
    let options = parts.options().into_iter();
    format!(
        "# Checks the tensors, infers the dimensions, and launches on PyTorch's stream.\n_LAB_BINDING = {}\n\n# The binding's \
         parameters, in order.\n_LAB_PARAMETERS = [{}]\n\n# The options of nvcc that lab.toml gives.\n_LAB_OPTIONS = [{}]\n\n\n{}",
        python_text(&binding.source),
        list(&binding.parameters, |parameter| quoted(&parameter.name)),
        list(
            options.filter(|option| !option.starts_with("--std=")),
            quoted
        ),
        BUILD.trim_matches('\n')
    )
}

/// The problem's tables.
fn problem(parts: &Parts) -> String {
    let spec = &parts.spec;
    format!(
        "# The problem: launches in a row after which inout tensors are compared too, the L2 cache before a timed launch, how timed\n\
         # launches run, the tensors, and the workloads.\n_LAB_NAME = {}\n_LAB_STEPS = {}\n_LAB_COLD = {}\n_LAB_GRAPH = {}\n{}",
        quoted(&parts.name),
        parts.file.steps,
        truth(spec.cache == CacheState::Cold),
        truth(spec.graph),
        tables::in_python(spec)
    )
}

/// The function `_lab_reference`, with a reference.py as a module.
fn reference(parts: &Parts) -> String {
    if !parts.reference.is_python() {
        let call = parameters_by_name("reference");
        return format!("def _lab_reference(case, tensors):\n    {call}\n");
    }
    format!(
        "# {}: the reference.\n_LAB_REFERENCE_PY = {}\n\n_lab_reference_module = types.ModuleType(\"reference\")\n\
         exec(compile(_LAB_REFERENCE_PY, \"reference.py\", \"exec\"), _lab_reference_module.__dict__)\n\n\n\
         def _lab_reference(case, tensors):\n    _lab_by_name(getattr(_lab_reference_module, case.entry), case, tensors)\n",
        parts.reference.path,
        python_text(parts.reference.text)
    )
}

/// The call of an extension with everything that a case has.
fn parameters_by_name(part: &str) -> String {
    format!("_lab_call(\"{part}\", {{**tensors, **case.scalars, **case.dims}})")
}

/// The end of every head: how the file checks itself.
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
    let other = ["match type", PYTHON_WORDS, IMPORTS];
    if other.iter().any(|words| is_among(name, words)) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

fn public_function(parts: &Parts, function: &str, binding: &Binding) -> String {
    let of = |kind: ParameterKind| {
        let parameters = binding.parameters.iter().filter(move |p| p.kind == kind);
        parameters.map(|p| python_name(&p.name))
    };
    let optional = of(ParameterKind::Output).chain(of(ParameterKind::Scalar));
    let mut named = of(ParameterKind::Number).chain(optional.map(|name| name + "=None"));
    let star = named.next().map(|first| ["*".to_owned(), first]);
    let mut arguments = of(ParameterKind::Tensor)
        .chain(star.into_iter().flatten())
        .chain(named);
    let line = |p: &Parameter| {
        let given = if p.kind == ParameterKind::Output {
            "; allocated if it is not given"
        } else {
            ""
        };
        format!("        {}: {}{given}\n", python_name(&p.name), p.what)
    };
    let (returned, value) = match binding.returned.as_slice() {
        [one] => (one.clone(), "outputs[0]"),
        several => (
            format!("the tuple ({})", several.join(", ")),
            "tuple(outputs)",
        ),
    };
    format!(
        "def {function}({}):\n    \"\"\"Launches {} and returns {returned}.\n\n    The tensors lie on one CUDA device and are contiguous:\n\n{}\n    \
         The kernel runs on PyTorch's current stream. Nothing is differentiated. The first call with new dimensions runs the launch\n    \
         statement and waits for it: make one such call before you capture a CUDA graph.\n    \"\"\"\n    outputs = _lab_call(\"kernel\", {{{}}})\n    \
         return {value}\n",
        arguments.join(", "),
        parts.name,
        binding.parameters.iter().map(line).collect::<String>(),
        list(&binding.parameters, |p| {
            format!("{}: {}", quoted(&p.name), python_name(&p.name))
        })
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
