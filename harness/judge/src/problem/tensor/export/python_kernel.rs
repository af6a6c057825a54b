//! The export of a Python kernel: its source as it is, then the reference and the check.

use super::torch::{HEAD_OF_CHECK, IMPORTS, bound, sources, with_check};
use super::{Exported, Parts, binding};
use lab_source::imports::imports;

pub fn write(parts: &Parts) -> Result<Exported, String> {
    let kernel = parts.material.kernel;
    refuse_local_modules(parts)?;
    if kernel.text.contains("_lab_") || kernel.text.contains("_LAB_") {
        return Err(format!(
            "{}: a name begins with _lab_, as those of the check in an export do: rename it",
            kernel.path
        ));
    }
    let mut sections = vec![
        head(parts),
        kernel.text.to_owned(),
        format!("# ---- What lab adds: the reference and the check ----\n{IMPORTS}"),
        sources(parts, None)?,
    ];
    if !parts.reference.is_python() {
        sections.push(bound(&binding::write(&parts.file), parts));
    }
    let call = "_lab_by_name(globals()[case.entry], case, tensors)";
    Ok(with_check(parts, sections, call))
}

/// Comments, so that a docstring or a `from __future__` of the kernel stays at the beginning.
fn head(parts: &Parts) -> String {
    let stem = parts.material.file_stem;
    let text = format!(
        "{}: a Python kernel, its reference, and a check.\n\n    python3 {stem}.py            verifies the kernel against its reference and times it\n\n\
         The kernel's source follows as it is. It is called with the problem's tensors, scalars and dimensions by name, and writes\ninto \
         its outputs.\n\n{}\n{HEAD_OF_CHECK}",
        parts.name,
        parts.head("")
    );
    text.lines()
        .map(|line| format!("# {line}").trim_end().to_owned() + "\n")
        .collect()
}

/// An export is one file: a module beside the kernel would be missing.
fn refuse_local_modules(parts: &Parts) -> Result<(), String> {
    let kernel = parts.material.kernel;
    for (number, line) in (1..).zip(kernel.text.lines()) {
        for import in imports(line.trim().as_bytes()) {
            let Some(name) = import.module.first() else {
                continue;
            };
            let file = format!("{name}.py");
            if (parts.material.read)(&file)?.is_some() {
                return Err(format!(
                    "{}:{number}: {file} lies beside the kernel, and an export is one file: put its code into the kernel",
                    kernel.path
                ));
            }
        }
    }
    Ok(())
}
