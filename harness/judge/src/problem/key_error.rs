//! Errors in a problem.toml, each at the line and column of its key.
//!
//! A check names the path of the key, as in `tensor`, 1, `shape`. The place of that key follows
//! from the parsed document.

use crate::outcome::Stop;
use lab_source::suggest::nearest;
use std::fmt;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a check of a problem.toml returns: a value or nothing, or what is wrong with a key.
pub type Result<T = (), E = KeyError> = std::result::Result<T, E>;

/// A step of a path: the name of a key, or the number of an array's item, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStep {
    Key(String),
    Item(usize),
}

impl From<&str> for KeyStep {
    fn from(key: &str) -> Self {
        KeyStep::Key(key.to_owned())
    }
}

impl From<usize> for KeyStep {
    fn from(item: usize) -> Self {
        KeyStep::Item(item)
    }
}

/// What is wrong with a key of a problem.toml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// From the innermost step to the outermost one, because checks add the outer ones later.
    path: Vec<KeyStep>,
    what: String,
}

impl KeyError {
    /// An error of a whole file; [`KeyError::within`] names the key.
    pub fn new(what: impl Into<String>) -> Self {
        KeyError {
            path: Vec::new(),
            what: what.into(),
        }
    }

    /// An error of a key.
    pub fn at(key: impl Into<KeyStep>, what: impl Into<String>) -> Self {
        KeyError::new(what).within(key)
    }

    /// The same error, in an item of an array.
    pub fn item(self, array: &str, item: usize) -> Self {
        self.within(item).within(array)
    }

    /// The same error, whose path begins with one more step.
    pub fn within(mut self, step: impl Into<KeyStep>) -> Self {
        self.path.push(step.into());
        self
    }

    /// The same error, with words before its text, as in `tensor 'x': …`.
    pub fn of(mut self, whose: impl fmt::Display) -> Self {
        self.what = format!("{whose}: {}", self.what);
        self
    }

    /// The error at its line and column of the file at `path`, which has this text.
    pub fn stop(&self, path: &Path, text: &str) -> Stop {
        Stop::Problem(message(path, text, self.start(text), &self.what))
    }

    /// Where in `text` the key begins, in bytes. If the key is missing, the place is that of the
    /// table it should be in.
    fn start(&self, text: &str) -> usize {
        // Text that is no TOML was refused before any check.
        DeTable::parse(text).map_or(0, |document| place(document.get_ref(), &self.path))
    }
}

/// The error of a key, as a result.
pub fn wrong<T>(key: impl Into<KeyStep>, what: impl Into<String>) -> Result<T> {
    Err(KeyError::at(key, what))
}

impl From<String> for KeyError {
    fn from(what: String) -> Self {
        KeyError::new(what)
    }
}

impl From<&str> for KeyError {
    fn from(what: &str) -> Self {
        KeyError::new(what)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// [`KeyError`]'s methods for a result: each adds where the error is.
pub trait InKey<T> {
    /// The same error, whose path begins with one more step.
    fn within(self, step: impl Into<KeyStep>) -> Result<T>;
    /// The same error, in an item of an array.
    fn item(self, array: &str, item: usize) -> Result<T>;
    /// The same error, with words before its text.
    fn of(self, whose: impl fmt::Display) -> Result<T>;
    /// The same error in a key, which its text begins with too.
    fn key(self, key: &str) -> Result<T>;
}

impl<T, E: Into<KeyError>> InKey<T> for Result<T, E> {
    fn within(self, step: impl Into<KeyStep>) -> Result<T> {
        self.map_err(|error| error.into().within(step))
    }

    fn item(self, array: &str, item: usize) -> Result<T> {
        self.within(item).within(array)
    }

    fn of(self, whose: impl fmt::Display) -> Result<T> {
        self.map_err(|error| error.into().of(whose))
    }

    fn key(self, key: &str) -> Result<T> {
        self.of(key).within(key)
    }
}

/// Where the value at a path begins; `path` begins with the innermost step.
fn place(document: &DeTable, path: &[KeyStep]) -> usize {
    let mut steps = path.iter().rev();
    let Some(KeyStep::Key(first)) = steps.next() else {
        return 0;
    };
    let Some(mut found) = document.get(first.as_str()) else {
        return 0;
    };
    for step in steps {
        let inner = match (found.get_ref(), step) {
            (DeValue::Table(table), KeyStep::Key(key)) => table.get(key.as_str()),
            (DeValue::Array(items), KeyStep::Item(item)) => items.get(*item),
            _ => None,
        };
        match inner {
            Some(inner) => found = inner,
            None => break,
        }
    }
    Spanned::span(found).start
}

/// Turns a TOML error into the form of a compiler message, so that the lab shows it at its place.
pub fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> Stop {
    // The word of the parser for a number where one of several words is expected.
    let what = match error.message() {
        "wanted string or table" => {
            "expected one of the words that kernels/README.md lists for this key, in quotes"
        }
        what => &with_nearest(what),
    };
    Stop::Problem(message(
        path,
        text,
        error.span().map_or(0, |span| span.start),
        what,
    ))
}

/// The parser's message about an unknown key with the key that was probably meant, or, if none is
/// near, with the hint that the file may be for a newer version; any other message as it is.
fn with_nearest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names
        .next()
        .filter(|_| message.starts_with("unknown field"));
    let known: Vec<&str> = names.collect();
    let meant = unknown.and_then(|unknown| nearest(unknown, &known));
    match (meant, message.split_once(", expected")) {
        (Some(name), Some((what, _))) => format!("{what} (did you mean '{name}'?)"),
        _ if unknown.is_some() => format!("{message}; a newer lab may know more"),
        _ => message.to_owned(),
    }
}

/// A message at the line and column of a byte of the file at `path`, which has this text.
pub fn message(path: &Path, text: &str, start: usize, what: &str) -> String {
    let (line, column) = line_and_column(text, start);
    format!("{}:{line}:{column}: error: {what}", path.display())
}

/// The line and the column of a byte of the text, both from 1.
fn line_and_column(text: &str, start: usize) -> (usize, usize) {
    let before = text.get(..start).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    (
        line,
        before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
name = \"é\" # a comment
dims = [\"n\", 3]

[[tensor]]
name = \"x\"
values = { uniform = { low = 1, high = 0 } }

[[tensor]]
name = \"y\"

[tolerance.f32]
atol = 1

[objective]
samples = \"n\"
";

    fn at(error: KeyError) -> (usize, usize) {
        line_and_column(TEXT, error.start(TEXT))
    }

    #[test]
    fn a_key_is_found_at_its_line_and_column() {
        let error = || KeyError::new("wrong");
        assert_eq!(at(error().within("name")), (1, 8));
        assert_eq!(at(error().within(1).within("dims")), (2, 14));
        assert_eq!(
            at(error()
                .within("low")
                .within("uniform")
                .within("values")
                .within(0)
                .within("tensor")),
            (6, 30)
        );
        assert_eq!(
            at(error().within("name").within(1).within("tensor")),
            (9, 8)
        );
        assert_eq!(
            at(error().within("atol").within("f32").within("tolerance")),
            (12, 8)
        );
    }

    #[test]
    fn a_missing_key_is_placed_at_its_table() {
        let error = || KeyError::new("wrong");
        assert_eq!(
            at(error().within("shape").within(1).within("tensor")),
            (8, 1)
        );
        assert_eq!(at(error().within("f32").within("tolerance")), (11, 1));
        assert_eq!(at(error().within("measure").within("objective")), (14, 1));
        assert_eq!(at(error().within("workload")), (1, 1));
        assert_eq!(at(error()), (1, 1));
    }
}
