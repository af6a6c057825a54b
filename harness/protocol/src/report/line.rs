//! Splitting one line of run.log.

use std::str::FromStr;

/// Longest line that is read as a result line, in bytes. A longer line is log text.
pub const LINE_LIMIT: usize = 64 * 1024;

/// A result line, split at its colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultLine<'a> {
    /// Lower-case letters, digits and `_`, beginning with a letter.
    pub key: &'a str,
    /// Everything behind the colon, attributes included, without blanks at either end.
    pub value: &'a str,
}

/// Reads one line, without its newline. Returns `None` for log text.
///
/// ```
/// use lab_protocol::report::parse;
///
/// let line = parse("h0_max_diff: 2.1e-06 limit=1e-05").unwrap();
/// assert_eq!((line.key, line.value), ("h0_max_diff", "2.1e-06 limit=1e-05"));
/// assert_eq!(parse("Compiling kernel.cu"), None);
/// assert_eq!(parse("http://example.org"), None);
/// ```
pub fn parse(line: &str) -> Option<ResultLine<'_>> {
    if line.len() > LINE_LIMIT {
        return None;
    }
    let (key, value) = line.split_once(':')?;
    let mut letters = key.bytes();
    let starts = letters.next().is_some_and(|b| b.is_ascii_lowercase());
    let goes_on = letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !(starts && goes_on) {
        return None;
    }
    // `key:value` without a blank is a result line too. `http://…` and `c::d` are text.
    if value.starts_with(':') || value.starts_with('/') {
        return None;
    }
    Some(ResultLine {
        key,
        value: value.trim(),
    })
}

/// Returns the first word of a value; empty if there is none.
pub fn first_word(value: &str) -> &str {
    value.split_whitespace().next().unwrap_or("")
}

/// Returns the value of the attribute `name=` behind the first word.
///
/// ```
/// use lab_protocol::report::attribute;
///
/// assert_eq!(attribute("42013.5 low=41890 high=42102", "low"), Some("41890"));
/// assert_eq!(attribute("42013.5 low=41890 high=42102", "limit"), None);
/// ```
pub fn attribute<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value
        .split_whitespace()
        .skip(1)
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// The attribute `name=` as a count, a word of a list or the like; `None` where it is missing or no
/// such value.
pub fn parsed<T: FromStr>(value: &str, name: &str) -> Option<T> {
    attribute(value, name)?.parse().ok()
}

/// Whether two values say the same: word by word, where `20` and `20.0` are the same number.
pub fn says_the_same(one: &str, other: &str) -> bool {
    let is_same_number =
        |one: &str, other: &str| number(one).is_some_and(|n| Some(n) == number(other));
    let is_same = |(one, other): (&str, &str)| {
        let both = one.split_once('=').zip(other.split_once('='));
        one == other
            || is_same_number(one, other)
            || both.is_some_and(|(a, b)| a.0 == b.0 && is_same_number(a.1, b.1))
    };
    let words = || one.split_whitespace().zip(other.split_whitespace());
    one.split_whitespace().count() == other.split_whitespace().count() && words().all(is_same)
}

/// Whether a word says that something failed, in small or capital letters.
pub fn is_failing_word(word: &str) -> bool {
    const WORDS: [&str; 14] = [
        "fail",
        "failed",
        "fails",
        "failure",
        "wrong",
        "incorrect",
        "broken",
        "error",
        "errors",
        "crash",
        "crashed",
        "false",
        "no",
        "not_judged",
    ];
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
    WORDS
        .iter()
        .any(|failing| word.eq_ignore_ascii_case(failing))
}

/// The key of one of several lines: `launch`, `launch_2`, `launch_3` and so on.
pub fn numbered(key: &str, number: usize) -> String {
    match number {
        1 => key.to_owned(),
        number => format!("{key}_{number}"),
    }
}

/// Reads a number that is neither NaN nor infinite.
pub fn finite(word: &str) -> Option<f64> {
    number(word).filter(|number| number.is_finite())
}

/// Reads a number. Commas are ignored, and `nan` and `inf` in any case are numbers.
pub fn number(word: &str) -> Option<f64> {
    word.replace(',', "").parse().ok()
}
