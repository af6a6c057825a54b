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
    /// The first token of the definition.
    defined: Option<usize>,
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
    let line_word = line_word(is_preprocessed);
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
            kernel.defined = Some(found.first);
        }
    }
    let mut lines = constant_memory(text, declarations, line_word);
    for ((path, name), kernel) in kernels {
        let Some(first) = kernel.defined.filter(|_| kernel.global && kernel.extern_c) else {
            continue;
        };
        let (file, line) = text.place(text.tokens[first].start);
        let scope: String = path.iter().map(|space| format!("::{space}")).collect();
        // Writing to a `String` never fails. The compiler reports what it has against the kernel's
        // parameters at the kernel.
        let _ = write!(
            lines,
            "{line_word} {line} {}\nstatic lab_cpu_register lab_cpu_entry_{name}{{\"{name}\", lab_cpu_call<&{scope}::{name}>{{}}, \
             lab_cpu_bounds({})}};\n",
            quoted(&format!("{REGISTRATION}{file}")),
            kernel.bounds.unwrap_or_default()
        );
    }
    lines
}

/// The word that names the place of what follows, in a source or in its preprocessed text.
fn line_word(is_preprocessed: bool) -> &'static str {
    if is_preprocessed { "#" } else { "#line" }
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
        .map(|found| {
            let scope: String = found
                .path
                .iter()
                .map(|space| format!("::{space}"))
                .collect();
            format!(" + sizeof({scope}::{})", found.name)
        })
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
    let groups = groups(log);
    let is_error = |head: &str| head.contains(": error: ") || head.contains(": fatal error: ");
    let is_registration = |head: &str| head.starts_with(REGISTRATION);
    let has_own = groups
        .iter()
        .any(|group| is_error(group.head) && !is_registration(group.head));
    let shown = groups
        .iter()
        .filter(|group| !(has_own && is_registration(group.head)));
    let lines = shown.flat_map(|group| &group.lines);
    lines
        .map(|line| format!("{}\n", line.replace(REGISTRATION, "")))
        .collect()
}

/// An error or a warning with the lines that belong to it.
struct MessageGroup<'l> {
    /// The line with the error or the warning. Empty for lines before the first.
    head: &'l str,
    lines: Vec<&'l str>,
}

fn groups(log: &str) -> Vec<MessageGroup<'_>> {
    let mut groups = vec![MessageGroup {
        head: "",
        lines: Vec::new(),
    }];
    // Lines that introduce the next message.
    let mut before = Vec::new();
    for line in log.lines() {
        let is_head = [": error: ", ": fatal error: ", ": warning: "]
            .iter()
            .any(|word| line.contains(word));
        let introduces = line.starts_with("In file included from ")
            || (line.starts_with(' ') && line.trim_start().starts_with("from "))
            || line.contains(":   required ")
            || (line.ends_with(':')
                && (line.contains(": In ") || line.contains(": At global scope")));
        if introduces && !is_head {
            before.push(line);
            continue;
        }
        if is_head {
            groups.push(MessageGroup {
                head: line,
                lines: Vec::new(),
            });
        }
        if let Some(group) = groups.last_mut() {
            group.lines.append(&mut before);
            group.lines.push(line);
        }
    }
    if let Some(group) = groups.last_mut() {
        group.lines.append(&mut before);
    }
    groups
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
