//! The text of the lines `lab: tune` and `lab: require`.

use super::{Mistake, Syntax};
use crate::suggest::nearest;
use crate::{cpp, python};
use regex::{Captures, Regex};
use std::ops::Range;
use std::sync::LazyLock;

/// Most values of a parameter.
const MOST_VALUES: usize = 10_000;

/// One line.
pub enum Line {
    Tune(Tune),
    Require(Require),
}

/// `lab: tune NAME = VALUES`
pub struct Tune {
    /// From 1.
    pub line: usize,
    pub name: String,
    /// At least one, each once.
    pub values: Vec<String>,
}

/// `lab: require EXPRESSION`
pub struct Require {
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// The lines of a source, in their order.
pub fn read(source: &str, syntax: Syntax) -> Result<Vec<Line>, Mistake> {
    let (mark, pattern) = match syntax {
        Syntax::Cpp => ("//", &CPP),
        Syntax::Python => ("#", &PYTHON),
    };
    let (mut lines, strings) = (Vec::new(), strings(source, syntax));
    for (at, text) in source.lines().enumerate() {
        let start = text.as_ptr() as usize - source.as_ptr() as usize;
        let comment = comment(text, mark, |at| is_in(&strings, start + at));
        let Some(found) = comment.and_then(|comment| pattern.captures(comment)) else {
            continue;
        };
        let line = at + 1;
        let read = match &found["word"] {
            "tune" => tune(line, found["rest"].trim()).map(Line::Tune),
            "require" => require(line, found["rest"].trim()).map(Line::Require),
            other => match nearest(other, &["tune", "require"]) {
                Some(meant) => Err(format!(
                    "`lab: {other}` is unknown: did you mean `lab: {meant}`?"
                )),
                // A comment about the lab.
                None => continue,
            },
        };
        lines.push(read.map_err(|why| Mistake { line, why })?);
    }
    Ok(lines)
}

/// The comment at the end of a line: behind the first of these marks that is outside of a string.
fn comment<'t>(text: &'t str, mark: &str, is_in_string: impl Fn(usize) -> bool) -> Option<&'t str> {
    let mut marks = text.match_indices(mark);
    let (at, _) = marks.find(|(at, _)| !is_in_string(*at))?;
    Some(&text[at..])
}

fn is_in(strings: &[Range<usize>], at: usize) -> bool {
    let behind = strings.partition_point(|string| string.end <= at);
    strings.get(behind).is_some_and(|it| it.contains(&at))
}

/// Where the strings of a source are, in order: what looks like a comment in one is none.
fn strings(source: &str, syntax: Syntax) -> Vec<Range<usize>> {
    match syntax {
        Syntax::Cpp => strings_of_cpp(source),
        Syntax::Python => {
            let of = |token| match token {
                python::Token::Text { text, .. } => Some(text),
                _ => None,
            };
            let texts = python::tokens(source).into_iter().filter_map(of);
            let start = |text: &str| text.as_ptr() as usize - source.as_ptr() as usize;
            texts
                .map(|text| start(text)..start(text) + text.len())
                .collect()
        }
    }
}

fn strings_of_cpp(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for token in cpp::Code::new(source, true).tokens {
        match token.kind {
            cpp::TokenKind::Text => found.push(token.start..token.end),
            // The value of a macro.
            cpp::TokenKind::Directive => {
                let inner = token.text(source).trim_start_matches(['#', ' ', '\t']);
                let start = token.end - inner.len();
                let tokens = cpp::Code::new(inner, true).tokens.into_iter();
                let texts = tokens.filter(|inner| inner.kind == cpp::TokenKind::Text);
                found.extend(texts.map(|inner| start + inner.start..start + inner.end));
            }
            _ => {}
        }
    }
    found
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("each pattern of this crate is valid")
}

static CPP: LazyLock<Regex> = LazyLock::new(|| pattern(r"//\s*lab:\s*(?<word>\w+)(?<rest>.*)$"));
static PYTHON: LazyLock<Regex> = LazyLock::new(|| pattern(r"#\s*lab:\s*(?<word>\w+)(?<rest>.*)$"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Za-z_][A-Za-z0-9_]*$"));
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:-?[0-9][0-9A-Za-z_]*(?:\.[0-9A-Za-z_]*)?|[A-Za-z_][A-Za-z0-9_]*|"[^"'\\]*"|'[^"'\\]*')$"#,
    )
});
static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?<from>-?[0-9]+)\s*\.\.\s*(?<to>-?[0-9]+)\s*(?:step\s*(?<step>[0-9]+)|\*\s*(?<factor>[0-9]+))?$",
    )
});

fn require(line: usize, text: &str) -> Result<Require, String> {
    if text.is_empty() {
        return Err(
            "`lab: require` has no condition: write `lab: require BLOCK * ROWS <= 1024`".to_owned(),
        );
    }
    Ok(Require {
        line,
        text: text.to_owned(),
    })
}

fn tune(line: usize, text: &str) -> Result<Tune, String> {
    let (name, values) = text.split_once('=').unwrap_or((text, ""));
    let (name, values) = (name.trim(), values.trim());
    if name.is_empty() {
        return Err("`lab: tune` names nothing: write `lab: tune BLOCK = 64, 128`".to_owned());
    }
    if !NAME.is_match(name) {
        return Err(format!(
            "'{name}' is not the name of a constant: write `lab: tune BLOCK = 64, 128`"
        ));
    }
    if values.is_empty() {
        return Err(format!(
            "`lab: tune {name}` has no values: write `lab: tune {name} = 64, 128` or `lab: tune {name} = 64..512 step 64`"
        ));
    }
    let mut all: Vec<String> = Vec::new();
    for part in values.split(',').map(str::trim) {
        let found = match RANGE.captures(part) {
            Some(range) => range_of(name, part, &range)?,
            None if VALUE.is_match(part) => vec![part.to_owned()],
            None if part.is_empty() => {
                return Err(format!("{name}: a value is missing beside a comma"));
            }
            None => {
                return Err(format!(
                    "{name}: '{part}' is not a value: a value is a number, a word or a string, or a range `64..512 step 64` or `64..512 *2`"
                ));
            }
        };
        for value in found {
            if all.iter().any(|known| quoted_as(known, &value) == value) {
                return Err(format!("{name} has the value {value} twice: leave one out"));
            }
            all.push(value);
        }
    }
    Ok(Tune {
        line,
        name: name.to_owned(),
        values: all,
    })
}

/// What a string holds; `None` of another value.
fn text_of(value: &str) -> Option<&str> {
    let mut marks = ['"', '\''].into_iter();
    marks.find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark))
}

/// A value as a source writes it that has `written` in its place: strings get the quotes that are
/// there, so that the value that is written stays as it is.
pub fn quoted_as(value: &str, written: &str) -> String {
    let quote = written.chars().next().filter(|c| ['"', '\''].contains(c));
    match (text_of(value), quote) {
        (Some(inner), Some(quote)) => format!("{quote}{inner}{quote}"),
        _ => value.to_owned(),
    }
}

/// The values of a range, both ends included.
fn range_of(name: &str, text: &str, range: &Captures) -> Result<Vec<String>, String> {
    let whole = |part: &str| match range.name(part) {
        None => Ok(None),
        Some(digits) => match digits.as_str().parse::<i64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{name}: {} is too large", digits.as_str())),
        },
    };
    let [Some(from), Some(to)] = [whole("from")?, whole("to")?] else {
        return Err(format!("{name}: '{text}' is not a range"));
    };
    let (step, factor) = (whole("step")?, whole("factor")?);
    if from > to {
        return Err(format!(
            "{name}: the range {from}..{to} is empty: its first number is the smaller one"
        ));
    }
    if step == Some(0) || factor.is_some_and(|factor| factor < 2 || from < 1) {
        return Err(format!(
            "{name}: the range '{text}' has no second value: a step is at least 1, a factor at least 2, from a number above 0"
        ));
    }
    let next = |last: &i64| match factor {
        Some(factor) => last.checked_mul(factor),
        None => last.checked_add(step.unwrap_or(1)),
    };
    let all = std::iter::successors(Some(from), next).take_while(|value| *value <= to);
    let values: Vec<String> = all
        .take(MOST_VALUES + 1)
        .map(|value| value.to_string())
        .collect();
    if values.len() > MOST_VALUES {
        return Err(format!(
            "{name}: the range '{text}' has more than {} values: write a larger `step`",
            grouped(MOST_VALUES)
        ));
    }
    Ok(values)
}

/// The number that a value is in an expression. `true` is 1, `false` is 0; `None` of another word.
pub fn number(value: &str) -> Option<f64> {
    match value {
        "true" | "True" => Some(1.0),
        "false" | "False" => Some(0.0),
        _ => {
            let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let plain = value.trim_end_matches(['u', 'U', 'l', 'L', 'f', 'F']);
            plain.parse().ok().filter(|_| !is_word)
        }
    }
}

/// `1,000,000`
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
