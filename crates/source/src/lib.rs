//! What a source says before a compiler reads it. One lexer cuts C++ ([`cpp`]), another cuts Python
//! ([`python`]); includes, imports, functions and fingerprints are read from their tokens.
//! Expressions of problem.toml and of tune lines are read here too.
//!
//! The crate opens no file and knows no device.

pub mod cpp;
pub mod expression;
pub mod fingerprint;
pub mod functions;
pub mod imports;
pub mod lines;
pub mod python;
pub mod suggest;
pub mod tune;

/// A source without the byte order mark with which some editors begin a file. Compilers skip the mark
/// at the head of a file, and refuse it anywhere else.
///
/// ```
/// assert_eq!(lab_source::without_bom("\u{feff}int a;".as_bytes()), b"int a;");
/// ```
pub fn without_bom(source: &[u8]) -> &[u8] {
    source.strip_prefix("\u{feff}".as_bytes()).unwrap_or(source)
}

/// The first byte of a source behind its byte order mark.
fn after_bom(source: &str) -> usize {
    source.len() - without_bom(source.as_bytes()).len()
}

/// The line, from 1, of a byte of a source.
///
/// ```
/// assert_eq!(lab_source::line_at("a\nb", 2), 2);
/// ```
pub fn line_at(source: &str, offset: usize) -> usize {
    1 + source[..offset].matches('\n').count()
}

/// Counts the lines of bytes that come in their order: [`line_at`] of each would read the source as
/// often as there are bytes.
pub(crate) struct LineCounter<'s> {
    source: &'s str,
    offset: usize,
    line: usize,
}

impl<'s> LineCounter<'s> {
    pub fn of(source: &'s str) -> LineCounter<'s> {
        LineCounter {
            source,
            offset: 0,
            line: 1,
        }
    }

    /// The line, from 1, of a byte.
    pub fn line_at(&mut self, offset: usize) -> usize {
        if offset < self.offset {
            *self = LineCounter::of(self.source);
        }
        self.line += self.source[self.offset..offset].matches('\n').count();
        self.offset = offset;
        self.line
    }
}

/// The first byte of a line, from 1, of a source.
///
/// ```
/// assert_eq!(lab_source::line_start("a\nb", 2), 2);
/// ```
pub fn line_start(source: &str, line: usize) -> usize {
    let before = source.split_inclusive('\n').take(line.saturating_sub(1));
    before.map(str::len).sum()
}
