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

/// The line, from 1, of a byte of a source.
///
/// ```
/// assert_eq!(lab_source::line_at("a\nb", 2), 2);
/// ```
pub fn line_at(source: &str, offset: usize) -> usize {
    1 + source[..offset].matches('\n').count()
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
