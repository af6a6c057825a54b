//! Source in colour: which part of a line is what. Knows no theme, so that another theme needs no new
//! highlighting; [`crate::theme::Theme::syntax`] says what a role looks like.

mod engine;
mod roles;
#[cfg(test)]
mod tests;
mod worker;

pub use engine::{Cache, Highlighter};
pub use roles::SyntaxRole;
pub use worker::Worker;

use std::ops::Range;
use std::sync::Arc;

/// A piece of a line that is more than plain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes of the line, which has its tabs and its carriage return still and not its line feed.
    pub range: Range<usize>,
    pub role: SyntaxRole,
}

/// The spans of one line, in order and apart from each other. What lies between them is plain.
pub type Spans = Arc<[Span]>;

/// A whole text, by line. Lines are those of [`str::lines`]: a line feed at the end begins no further one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlighted {
    pub lines: Vec<Spans>,
    /// How many of them had to be looked at; the others were remembered.
    pub looked_at: usize,
}

impl Highlighted {
    /// The line number `index`, from 0; past the end, and past what is highlighted of a very long text, plain.
    pub fn line(&self, index: usize) -> &[Span] {
        self.lines.get(index).map_or(&[], |line| line)
    }
}
