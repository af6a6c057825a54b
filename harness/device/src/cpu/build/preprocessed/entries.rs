//! The kernels of a unit, and the lines that register them.

use super::{BOUNDS, Declaration, Preprocessed};
use crate::cpu::rewrite::quoted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Precedes the file's name in the compiler's messages about a registration, until [`told_once`]
/// takes it away.
const REGISTRATION: &str = "lab registration of ";

/// What the declarations of one function say together.
#[derive(Default)]
struct Kernel<'t> {
    global: bool,
    extern_c: bool,
    /// The definition.
    defined: Option<&'t Declaration>,
    /// What stands in the brackets of `__launch_bounds__`.
    bounds: Option<&'t str>,
}

/// Returns the lines that register each `extern "C" __global__` function with a body, to be
/// appended to the unit. A function may have these words in any of its declarations. Templates are
/// left out: the lab cannot find them by name.
pub fn registrations(
    text: &Preprocessed,
    declarations: &[Declaration],
    is_preprocessed: bool,
) -> String {
    // The word that names the place of what follows, in a source or in its preprocessed text.
    let line_word = if is_preprocessed { "#" } else { "#line" };
    let mut kernels: BTreeMap<(&[String], &str), Kernel> = BTreeMap::new();
    for found in declarations
        .iter()
        .filter(|d| d.is_function && !d.template && d.class.is_none())
    {
        let kernel = kernels.entry((&found.path, &found.name)).or_default();
        kernel.global |= found.global;
        kernel.extern_c |= found.extern_c;
        kernel.bounds = kernel.bounds.or_else(|| bounds(text, found));
        if found.body.is_some() {
            kernel.defined = Some(found);
        }
    }
    let mut lines = constant_memory(text, declarations, line_word);
    for ((_, name), kernel) in kernels {
        let Some(found) = kernel.defined.filter(|_| kernel.global && kernel.extern_c) else {
            continue;
        };
        let (file, line) = text.place(text.tokens[found.first].start);
        // Writing to a `String` never fails. The compiler reports what it has against the kernel's
        // parameters at the kernel.
        let _ = write!(
            lines,
            "{line_word} {line} {}\nstatic lab_cpu_register lab_cpu_entry_{name}{{\"{name}\", lab_cpu_call<&{}>{{}}, \
             lab_cpu_bounds({})}};\n",
            quoted(&format!("{REGISTRATION}{file}")),
            found.full_name(),
            kernel.bounds.unwrap_or_default()
        );
    }
    lines
}

/// What stands in the brackets of the declaration's `__launch_bounds__`.
fn bounds<'t>(text: &'t Preprocessed, found: &Declaration) -> Option<&'t str> {
    let (parameters, _) = found.parameters?;
    let word = (found.first..parameters).find(|at| text.at(*at) == BOUNDS)?;
    let close = text.partner(word + 1);
    Some(&text.text[text.tokens[word + 1].end..text.tokens[close].start])
}

/// Returns the line that checks that the unit's variables in constant memory fit there, at the last
/// of them.
fn constant_memory(text: &Preprocessed, declarations: &[Declaration], line_word: &str) -> String {
    let variables = || {
        declarations
            .iter()
            .filter(|d| d.constant_memory && !d.template)
    };
    let Some(last) = variables().next_back() else {
        return String::new();
    };
    let sizes: String = variables()
        .map(|found| format!(" + sizeof({})", found.full_name()))
        .collect();
    let (file, line) = text.place(text.tokens[last.first].start);
    format!(
        "{line_word} {line} {}\nstatic_assert(0{sizes} <= 64 * 1024, \"a GPU has 64 KiB of __constant__ memory: keep larger \
         tables in a tensor\");\n",
        quoted(file)
    )
}

/// Returns the compiler's messages without those about a registration where the kernel itself has
/// an error: they only repeat it. Those that stand alone are about the kernel's parameters, and get
/// the kernel's place.
pub fn told_once(log: &str) -> String {
    let is_head = |line: &str| is_error(line) || line.contains(": warning: ");
    let introduces = |line: &str| {
        !is_head(line)
            && (line.starts_with("In file included from ")
                || (line.starts_with(' ') && line.trim_start().starts_with("from "))
                || line.contains(":   required ")
                || (line.ends_with(':')
                    && (line.contains(": In ") || line.contains(": At global scope"))))
    };
    // Each with the lines that introduce it and those that belong to it.
    let mut messages = Vec::new();
    let (mut message, mut before) = (Vec::new(), Vec::new());
    for line in log.lines() {
        if introduces(line) {
            before.push(line);
            continue;
        }
        if is_head(line) {
            messages.push(std::mem::take(&mut message));
        }
        message.append(&mut before);
        message.push(line);
    }
    message.append(&mut before);
    messages.push(message);
    let has_head = |message: &[&str], wanted: &dyn Fn(&str) -> bool| {
        let head = message.iter().find(|line| is_head(line));
        head.is_some_and(|head| wanted(head))
    };
    let is_registration =
        |message: &Vec<&str>| has_head(message, &|head| head.starts_with(REGISTRATION));
    let mut own = messages.iter().filter(|message| !is_registration(message));
    if own.any(|message| has_head(message, &is_error)) {
        messages.retain(|message| !is_registration(message));
    }
    let lines = messages.into_iter().flatten();
    lines
        .map(|line| format!("{}\n", line.replace(REGISTRATION, "")))
        .collect()
}

fn is_error(line: &str) -> bool {
    line.contains(": error: ") || line.contains(": fatal error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_a_registration_alone_is_told_at_the_kernel() {
        let log =
            "lab registration of kernel.cu:7:50: error: too few arguments\nlab.h:3:1: note: here\n";
        assert_eq!(
            told_once(log),
            "kernel.cu:7:50: error: too few arguments\nlab.h:3:1: note: here\n"
        );
        assert_eq!(told_once(""), "");
    }

    #[test]
    fn beside_an_error_of_the_kernel_it_is_left_out_with_its_notes() {
        let log = "kernel.cu: In function 'f':\nkernel.cu:3:1: error: 'viod' does not name a type\n\
                   lab registration of kernel.cu:3:80: error: '::f' has not been declared\n\
                   In file included from lab_cpu.h:21:\nruntime.h:131:5: note: candidate\n\
                   kernel.cu:9:1: warning: unused\n";
        assert_eq!(
            told_once(log),
            "kernel.cu: In function 'f':\nkernel.cu:3:1: error: 'viod' does not name a type\n\
             kernel.cu:9:1: warning: unused\n"
        );
    }
}
