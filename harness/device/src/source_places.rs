//! Where a source defines a kernel, and where it says the launch statement of one.

use crate::cpu::lex::{Token, TokenKind, lex};

/// The line, from 1, on which a source begins the parameters of the `__global__` function `kernel`;
/// `None` if no function of this name is written out, as where a macro makes it.
pub fn line_of_kernel(source: &str, kernel: &str) -> Option<u32> {
    let tokens = lex(source);
    let is_of = |at: usize| {
        let declared = tokens[..at]
            .iter()
            .rev()
            .take_while(|token| !ends_declaration(token));
        tokens[at].text(source) == kernel
            && tokens.get(at + 1).is_some_and(|next| next.is(b'('))
            && declared
                .into_iter()
                .any(|token| token.text(source) == "__global__")
    };
    let at = (0..tokens.len()).find(|at| is_of(*at))?;
    Some(line_of(source, tokens[at].start))
}

/// The line, from 1, of `LAB_LAUNCH(entry)` or `LAB_LAUNCHES(entry)`; `None` if neither is written
/// out.
pub fn line_of_launch_statement(source: &str, entry: &str) -> Option<u32> {
    launch_statements(source)
        .into_iter()
        .find_map(|(of, line)| (of == entry).then_some(line))
}

/// The entry and the line, from 1, of each `LAB_LAUNCH(entry)` and `LAB_LAUNCHES(entry)` that is
/// written out.
pub fn launch_statements(source: &str) -> Vec<(&str, u32)> {
    let tokens = lex(source);
    let is_statement = |window: &&[Token]| {
        matches!(window[0].text(source), "LAB_LAUNCH" | "LAB_LAUNCHES")
            && window[1].is(b'(')
            && window[3].is(b')')
    };
    let found = tokens.windows(4).filter(is_statement);
    found
        .map(|window| (window[2].text(source), line_of(source, window[0].start)))
        .collect()
}

fn ends_declaration(token: &Token) -> bool {
    matches!(
        token.kind,
        TokenKind::Punct(b';' | b'{' | b'}') | TokenKind::Directive
    )
}

fn line_of(source: &str, at: usize) -> u32 {
    source.as_bytes()[..at]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count() as u32
        + 1
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

    #[test]
    fn a_kernel_and_its_launch_statement_have_a_line() {
        assert_eq!(line_of_kernel(SOURCE, "twice"), Some(6));
        assert_eq!(line_of_launch_statement(SOURCE, "twice"), Some(9));
        assert_eq!(line_of_launch_statement(SOURCE, "list"), Some(10));
        assert_eq!(launch_statements(SOURCE), [("twice", 9), ("list", 10)]);
    }

    #[test]
    fn what_a_macro_makes_has_none() {
        assert_eq!(line_of_kernel(SOURCE, "made"), None);
        assert_eq!(line_of_launch_statement(SOURCE, "made"), None);
        assert_eq!(line_of_kernel("__global__ void f(", "g"), None);
        assert_eq!(line_of_kernel("", ""), None);
    }
}
