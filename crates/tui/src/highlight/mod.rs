//! Highlights CUDA and Python source: finds the syntax role of each part of a line. Roles have no
//! colours, so a change of the theme needs no new highlighting; `Theme::syntax` gives the style of
//! a role.

mod engine;
mod roles;
#[cfg(test)]
mod tests;

pub use engine::{HighlightCache, Highlighter};
pub use roles::SyntaxRole;

use std::ops::Range;
use std::sync::Arc;

/// A part of a line with a role other than plain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxSpan {
    /// Bytes of the line. The line includes its tabs and its carriage return, and excludes its line
    /// feed.
    pub range: Range<usize>,
    pub role: SyntaxRole,
}

/// The spans of one line, in order and without overlap. The text between them is plain.
pub type LineSpans = Arc<[SyntaxSpan]>;

/// The roles of a whole text, by line. Lines are those of [`str::lines`]: a line feed at the end
/// begins no further line.
///
/// ```
/// use lab_tui::highlight::{HighlightCache, Highlighter, SyntaxRole};
///
/// let highlighter = Highlighter::new().unwrap();
/// let highlighted = highlighter.highlight(b"int x;\n// a comment\n", &mut HighlightCache::default());
/// assert_eq!(highlighted.lines.len(), 2);
/// assert_eq!((highlighted.line(0)[0].range.clone(), highlighted.line(0)[0].role), (0..3, SyntaxRole::Type));
/// assert_eq!(highlighted.line(1)[0].role, SyntaxRole::Comment);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlighted {
    pub lines: Vec<LineSpans>,
    /// How many lines were parsed; the others were cached.
    pub parsed_lines: usize,
}

impl Highlighted {
    /// The spans of line `index`, from 0. Empty past the end, and past the lines that are
    /// highlighted of a very long text.
    pub fn line(&self, index: usize) -> &[SyntaxSpan] {
        self.lines.get(index).map_or(&[], |line| line)
    }
}
