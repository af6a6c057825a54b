//! An expression of problem.toml as C++ over doubles.

use lab_source::expression::first_token;

/// The expression as C++; `name_of` gives the C++ for a name. `None` if it holds something that has
/// no C++ here.
pub fn in_cpp(text: &str, name_of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let tokens = tokens(text)?;
    let mut reader = Reader {
        tokens: &tokens,
        name_of,
    };
    let all = reader.sum(0)?;
    reader.tokens.is_empty().then_some(all)
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    Number(f64),
    Name(&'a str),
    Sign(char),
}

fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((token, after)) = first_token(rest) {
        found.push(match token.chars().next()? {
            'a'..='z' | 'A'..='Z' | '_' => Token::Name(token),
            '0'..='9' | '.' => Token::Number(token.parse().ok()?),
            sign => Token::Sign(sign),
        });
        rest = after.trim_start();
    }
    Some(found)
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    name_of: &'a dyn Fn(&str) -> Option<String>,
}

/// Deepest nesting of brackets. The reader calls itself for each.
const DEEPEST: usize = 100;

impl Reader<'_> {
    fn sign(&mut self, wanted: &[char]) -> Option<char> {
        match self.tokens.split_first() {
            Some((Token::Sign(sign), rest)) if wanted.contains(sign) => {
                self.tokens = rest;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self, depth: usize) -> Option<String> {
        let mut all = self.product(depth)?;
        while let Some(sign) = self.sign(&['+', '-']) {
            all = format!("{all} {sign} {}", self.product(depth)?);
        }
        Some(all)
    }

    fn product(&mut self, depth: usize) -> Option<String> {
        let mut all = self.factor(depth)?;
        while let Some(sign) = self.sign(&['*', '/']) {
            all = format!("{all} {sign} {}", self.factor(depth)?);
        }
        Some(all)
    }

    fn factor(&mut self, depth: usize) -> Option<String> {
        let base = self.atom(depth)?;
        match self.sign(&['^']) {
            // Several in a row group in a way that need not be guessed.
            Some(_) => {
                let exponent = self.atom(depth)?;
                match self.sign(&['^']) {
                    Some(_) => None,
                    None => Some(format!("std::pow({base}, {exponent})")),
                }
            }
            None => Some(base),
        }
    }

    fn atom(&mut self, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        if self.sign(&['(']).is_some() {
            let inner = self.sum(depth + 1)?;
            return self.sign(&[')']).map(|_| format!("({inner})"));
        }
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match token {
            Token::Number(number) => Some(format!("{number:?}")),
            Token::Name(name) => match *name {
                "sqrt" | "exp" | "floor" | "ceil" | "ln" if self.sign(&['(']).is_some() => {
                    let inner = self.sum(depth + 1)?;
                    let function = if *name == "ln" { "log" } else { name };
                    self.sign(&[')'])
                        .map(|_| format!("std::{function}({inner})"))
                }
                name => (self.name_of)(name),
            },
            // A sign before a number or a name.
            Token::Sign('-') => {
                let inner = self.atom(depth + 1)?;
                match self.tokens.first() {
                    Some(Token::Sign('^')) => None,
                    _ => Some(format!("(-{inner})")),
                }
            }
            Token::Sign(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn cpp(text: &str) -> Option<String> {
        in_cpp(text, &|name| {
            ["rows", "k"].contains(&name).then(|| format!("d_{name}"))
        })
    }

    #[test]
    fn an_expression_keeps_its_meaning() {
        for (text, wanted) in [
            ("rows", "d_rows"),
            ("2 * rows * (k + 1)", "2.0 * d_rows * (d_k + 1.0)"),
            ("1 / sqrt(k)", "1.0 / std::sqrt(d_k)"),
            ("rows ^ 2 / k", "std::pow(d_rows, 2.0) / d_k"),
            ("ceil(k / 48) - 1e-3", "std::ceil(d_k / 48.0) - 0.001"),
            ("-rows + ln(k)", "(-d_rows) + std::log(d_k)"),
        ] {
            assert_eq!(cpp(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_has_no_clear_meaning_is_none() {
        for text in [
            "rows ^ 2 ^ k",
            "-rows ^ 2",
            "sin(k)",
            "rows %  2",
            "(rows",
            "rows)",
            "",
            "sqrt k",
            "x",
        ] {
            assert_eq!(cpp(text), None, "{text}");
        }
        assert_eq!(
            cpp(&format!("{}k{}", "(".repeat(400), ")".repeat(400))),
            None
        );
    }
}
