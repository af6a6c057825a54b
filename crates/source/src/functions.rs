//! Where a source defines a kernel, and where it writes the launch statement of one.

use crate::cpp::directive::Directive;
use crate::cpp::items::declared;
use crate::cpp::launches::launches;
use crate::cpp::{Code, TokenKind};
use crate::{LineCounter, line_at};

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
    let mut lines = LineCounter::of(source);
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
            line: lines.line_at(name.start),
        })
    });
    found.collect()
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
    let mut lines = LineCounter::of(source);
    starts
        .map(|at| {
            let line = lines.line_at(code.tokens[at].start);
            (code.tokens[at + 2].text(source), line)
        })
        .collect()
}

/// Headers that only host code includes, and beginnings of their names.
const HOST_HEADERS: [&str; 6] = [
    "iostream", "vector", "chrono", "string", "random", "fstream",
];
const HOST_FAMILIES: [&str; 10] = [
    "torch/",
    "ATen/",
    "c10/",
    "pybind11/",
    "cublas",
    "cudnn",
    "cusparse",
    "nccl",
    "thrust/",
    "helper_",
];

/// The first line, from 1, with code of the host around a kernel as people publish it, and what
/// stands there: a header of the host, `main`, a binding, a launch with `<<<`.
pub fn host_code(source: &str) -> Option<(usize, String)> {
    let code = Code::new(source, true);
    let launch = launches(&code).next().map(|launch| launch.at);
    (0..code.tokens.len()).find_map(|at| {
        let text = code.at(at);
        let what = match code.kind(at)? {
            TokenKind::Directive => {
                let header = Directive::parse(text)?.spelled_header()?;
                let name = header.trim_matches(['<', '>', '"']);
                let is_family = |start: &&str| name.starts_with(*start);
                let is_of_host =
                    HOST_HEADERS.contains(&name) || HOST_FAMILIES.iter().any(is_family);
                is_of_host.then(|| format!("#include {header}"))
            }
            _ if Some(at) == launch => Some("a launch with <<<…>>>".to_owned()),
            _ if text == "main" && code.at(at + 1) == "(" => Some("main".to_owned()),
            _ if ["PYBIND11_MODULE", "TORCH_LIBRARY"].contains(&text) => Some(text.to_owned()),
            _ => None,
        };
        what.map(|what| (line_at(source, code.tokens[at].start), what))
    })
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
    fn code_of_the_host_is_found_at_its_first_line() {
        assert_eq!(host_code(SOURCE), None);
        let kernel = "#include <cuda_fp16.h>\n#include <vector_types.h>\n__global__ void k(int* x) { x[0] = 1 << 2; }\n";
        assert_eq!(host_code(kernel), None);
        for (host, what) in [
            (
                "#include <torch/extension.h>\n",
                "#include <torch/extension.h>",
            ),
            ("#include <vector>\n", "#include <vector>"),
            (
                "int main(int argc, char** argv) { k<<<1, 1>>>(0); }",
                "main",
            ),
            (
                "void f(int* x) { k<<<1, 1>>>(x); }",
                "a launch with <<<…>>>",
            ),
            ("PYBIND11_MODULE(NAME, m) {}", "PYBIND11_MODULE"),
        ] {
            assert_eq!(
                host_code(&format!("{kernel}{host}")),
                Some((4, what.to_owned()))
            );
        }
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
