//! An expression of problem.toml as C++ over doubles.

use lab_source::expression::first_token;

/// The expression as C++; `name_of` gives the C++ for a name. `None` if it holds something that has
/// no C++ here.
pub fn in_cpp(text: &str, name_of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut reader = Reader {
        rest: text.trim(),
        name_of,
    };
    let all = reader.terms(0)?;
    reader.rest.is_empty().then_some(all)
}

struct Reader<'a> {
    /// What is not read yet. It does not begin with white space.
    rest: &'a str,
    name_of: &'a dyn Fn(&str) -> Option<String>,
}

/// Deepest nesting of brackets. The reader calls itself for each.
const DEEPEST: usize = 100;

impl Reader<'_> {
    fn sign(&mut self, wanted: &[char]) -> Option<char> {
        let sign = self.rest.chars().next().filter(|c| wanted.contains(c))?;
        self.rest = self.rest[sign.len_utf8()..].trim_start();
        Some(sign)
    }

    /// Sums and products. C++ groups them as problem.toml does.
    fn terms(&mut self, depth: usize) -> Option<String> {
        let mut all = self.power(depth)?;
        while let Some(sign) = self.sign(&['+', '-', '*', '/']) {
            all = format!("{all} {sign} {}", self.power(depth)?);
        }
        Some(all)
    }

    fn power(&mut self, depth: usize) -> Option<String> {
        let base = self.atom(depth)?;
        if self.sign(&['^']).is_none() {
            return Some(base);
        }
        let exponent = self.atom(depth)?;
        // Several in a row group in a way that need not be guessed.
        (!self.rest.starts_with('^')).then(|| format!("std::pow({base}, {exponent})"))
    }

    fn in_brackets(&mut self, depth: usize) -> Option<String> {
        self.sign(&['('])?;
        let inner = self.terms(depth + 1)?;
        self.sign(&[')']).map(|_| format!("({inner})"))
    }

    fn atom(&mut self, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        if self.rest.starts_with('(') {
            return self.in_brackets(depth);
        }
        // A sign before a number or a name.
        if self.sign(&['-']).is_some() {
            let inner = self.atom(depth + 1)?;
            return (!self.rest.starts_with('^')).then(|| format!("(-{inner})"));
        }
        let (token, rest) = first_token(self.rest)?;
        self.rest = rest.trim_start();
        if token.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return token.parse().ok().map(|number: f64| format!("{number:?}"));
        }
        match token {
            "sqrt" | "exp" | "floor" | "ceil" | "ln" if self.rest.starts_with('(') => {
                let function = if token == "ln" { "log" } else { token };
                let inner = self.in_brackets(depth)?;
                Some(format!("std::{function}{inner}"))
            }
            name => (self.name_of)(name),
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
