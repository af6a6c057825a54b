//! The lines of a C++ source: which are code, directives, or neither.

use crate::after_bom;
use crate::cpp::directive::Directive;
use crate::cpp::{TokenKind, tokens};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind<'s> {
    /// Comments and white space.
    Blank,
    /// A preprocessor line with its continuation lines.
    Directive(Directive<'s>),
    /// Anything else.
    Code,
}

/// A line, without its end. A directive of several lines is one.
pub struct Line<'s> {
    /// The line as the source writes it.
    pub text: &'s str,
    /// What it is.
    pub kind: LineKind<'s>,
}

/// Splits a source into lines.
pub fn lines(source: &str) -> Vec<Line<'_>> {
    let tokens = tokens(source);
    let mut tokens = tokens.iter().peekable();
    let mut found = Vec::new();
    // The end of the last token: a raw string may go over several lines.
    let (mut at, mut covered) = (after_bom(source), 0);
    while at < source.len() {
        let end_of_line =
            |from: usize| source[from..].find('\n').map_or(source.len(), |n| from + n);
        let mut end = end_of_line(at);
        let mut kind = if at < covered {
            LineKind::Code
        } else {
            LineKind::Blank
        };
        while let Some(token) = tokens.next_if(|token| token.start < end) {
            covered = token.end;
            kind = match token.kind {
                TokenKind::Directive => {
                    end = end_of_line(token.end);
                    Directive::parse(token.text(source)).map_or(kind, LineKind::Directive)
                }
                _ => LineKind::Code,
            };
        }
        let text = &source[at..end];
        found.push(Line {
            text: text.strip_suffix('\r').unwrap_or(text),
            kind,
        });
        at = end + 1;
    }
    found
}
