//! The kernels of a unit, and the lines that register them.

use super::{Declaration, Preprocessed};
use crate::cpu::rewrite::quoted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the declarations of one function say together.
#[derive(Default)]
struct Kernel {
    global: bool,
    extern_c: bool,
    /// The first token of the definition.
    defined: Option<usize>,
}

/// Returns the lines that register each `extern "C" __global__` function with a body, to be appended to the unit. A
/// function may have these words in any of its declarations. Templates are left out: the lab cannot find them by name.
pub fn registrations(text: &Preprocessed, declarations: &[Declaration]) -> String {
    let mut kernels: BTreeMap<(&[String], &str), Kernel> = BTreeMap::new();
    for found in declarations.iter().filter(|d| d.is_function && !d.template && d.class.is_none()) {
        let kernel = kernels.entry((&found.path, &found.name)).or_default();
        kernel.global |= found.global;
        kernel.extern_c |= found.extern_c;
        if found.body.is_some() {
            kernel.defined = Some(found.first);
        }
    }
    let mut lines = String::new();
    for ((path, name), kernel) in kernels {
        let Some(first) = kernel.defined.filter(|_| kernel.global && kernel.extern_c) else { continue };
        let (file, line) = text.place(text.tokens[first].start);
        let scope: String = path.iter().map(|space| format!("::{space}")).collect();
        // Writing to a `String` never fails. The compiler reports what it has against the kernel's parameters at the
        // kernel.
        let _ = write!(
            lines,
            "# {line} {}\nstatic lab_cpu_register lab_cpu_entry_{name}{{\"{name}\", lab_cpu_call<&{scope}::{name}>{{}}}};\n",
            quoted(file)
        );
    }
    lines
}
