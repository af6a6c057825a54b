//! Where a source defines a kernel, and where it writes the launch statement of one.

use crate::cpp::{Code, TokenKind};
use crate::line_at;

/// A function that is a kernel or `extern "C"`.
#[derive(Debug, PartialEq, Eq)]
pub struct Function<'s> {
    /// Its name.
    pub name: &'s str,
    /// Whether it is declared with `__global__`.
    pub is_kernel: bool,
    /// The line, from 1, on which its parameters begin.
    pub line: usize,
}

/// The kernels and the `extern "C"` functions that a source writes out. A function that a macro
/// makes is not among them.
pub fn functions(source: &str) -> Vec<Function<'_>> {
    let code = Code::new(source, true);
    let found = (0..code.tokens.len()).filter_map(|at| {
        let is_kernel = code.at(at) == "__global__";
        let is_c = code.at(at) == "extern" && code.at(at + 1) == "\"C\"";
        if !is_kernel && !is_c {
            return None;
        }
        let name = code.tokens[declared(&code, at + 1)?];
        Some(Function {
            name: name.text(source),
            is_kernel,
            line: line_at(source, name.start),
        })
    });
    found.collect()
}

/// The index of the last name before a bracket in the declaration at `at`, attributes aside.
fn declared(code: &Code<&str>, mut at: usize) -> Option<usize> {
    let mut found = None;
    while at < code.tokens.len() {
        match code.at(at) {
            "{" | "}" | ";" => break,
            _ if code.kind(at) == Some(TokenKind::Directive) => break,
            "(" => {
                let name = code.word(at - 1);
                if !name.is_empty()
                    && !name.starts_with("__")
                    && !["alignas", "noexcept"].contains(&name)
                {
                    found = Some(at - 1);
                }
                at = code.partner(at);
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The entry and the line, from 1, of each `LAB_LAUNCH(entry)` and `LAB_LAUNCHES(entry)` that a
/// source writes out.
pub fn launch_statements(source: &str) -> Vec<(&str, usize)> {
    let code = Code::new(source, true);
    let starts = (0..code.tokens.len()).filter(|at| {
        matches!(code.word(*at), "LAB_LAUNCH" | "LAB_LAUNCHES")
            && code.at(at + 1) == "("
            && code.at(at + 3) == ")"
    });
    starts
        .map(|at| {
            (
                code.tokens[at + 2].text(source),
                line_at(source, code.tokens[at].start),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"#include "lab.h"
// LAB_LAUNCH(twice) and __global__ void twice(int) of a comment
#define MAKE(name) extern "C" __global__ void name(int* x) {} LAB_LAUNCH(name) {}
__device__ int twice(int x) { return 2 * x; }
extern "C" __global__ void
twice(int* x) { x[0] = twice(x[0]); }
MAKE(made)
const char* text = "LAB_LAUNCH(twice)";
LAB_LAUNCH( twice ) {}
LAB_LAUNCHES(list) {}
"#;

    fn kernel_lines(source: &str) -> Vec<(&str, usize)> {
        let kernels = functions(source).into_iter().filter(|f| f.is_kernel);
        kernels.map(|f| (f.name, f.line)).collect()
    }

    #[test]
    fn a_kernel_and_its_launch_statement_have_a_line() {
        assert_eq!(kernel_lines(SOURCE), [("twice", 6)]);
        assert_eq!(launch_statements(SOURCE), [("twice", 9), ("list", 10)]);
    }

    #[test]
    fn what_a_macro_makes_has_none() {
        assert_eq!(kernel_lines("__global__ void f("), [("f", 1)]);
        for source in ["MAKE(made)", "__global__ (", "__global__ void f;", ""] {
            assert_eq!(kernel_lines(source), []);
            assert_eq!(launch_statements(source), []);
        }
    }

    #[test]
    fn attributes_and_macros_before_the_name_are_no_names() {
        for attribute in ["__launch_bounds__(256, 2)", "BOUNDS(256)", "alignas(16)"] {
            let source = format!("__global__ {attribute} void k(int n) {{}}");
            assert_eq!(kernel_lines(&source), [("k", 1)], "{source}");
        }
        assert_eq!(
            kernel_lines("__global__ void k(int n) __attribute__((used));"),
            [("k", 1)]
        );
    }
}
