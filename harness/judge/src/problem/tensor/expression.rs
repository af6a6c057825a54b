//! Arithmetic with named dimensions, as in `2 * rows * cols` in problem.toml.

use super::suggest::suggest;
use exmex::{Express, FlatEx};

/// Most bytes of an expression. The parser calls itself for each bracket.
const LONGEST: usize = 1000;

/// A parsed expression. All its variables are known names.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    parsed: FlatEx<f64>,
}

impl Expression {
    /// Parses `text`, whose variables must be among `names`.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!(
                "an expression has at most {LONGEST} bytes, and this one has {}",
                text.len()
            ));
        }
        let parsed: FlatEx<f64> =
            exmex::parse(text).map_err(|e| format!("'{text}' is not an expression: {}", e.msg()))?;
        if let Some(unknown) = parsed.var_names().iter().find(|v| !names.contains(&v.as_str())) {
            let hint = suggest(unknown, names);
            return Err(format!("'{text}' names '{unknown}', which is not a dimension{hint}"));
        }
        Ok(Expression { text: text.to_owned(), parsed })
    }

    /// The value; an error if it is not finite. `look_up` gives the value of a name.
    pub fn value(&self, look_up: impl Fn(&str) -> f64) -> Result<f64, String> {
        let values: Vec<f64> = self.parsed.var_names().iter().map(|name| look_up(name)).collect();
        let value = self.parsed.eval(&values).map_err(|e| format!("'{}': {}", self.text, e.msg()))?;
        if value.is_finite() {
            return Ok(value);
        }
        let (is, why) = match value.is_nan() {
            true => ("no number", "it divides zero by zero, or has no real value"),
            false => ("infinite", "it divides by zero, or is too large"),
        };
        Err(format!("'{}' is {is}: {why}", self.text))
    }

    /// The value as an extent; an error if it is not a whole number from 1 to 2147483647.
    pub fn extent(&self, look_up: impl Fn(&str) -> f64) -> Result<usize, String> {
        let value = self.value(look_up)?;
        if value.fract() != 0.0 || !(1.0..=f64::from(i32::MAX)).contains(&value) {
            return Err(format!(
                "'{}' is {value}; an extent must be a whole number from 1 to 2147483647",
                self.text
            ));
        }
        Ok(value as usize)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dimensions_make_numbers() {
        let expression = Expression::parse("2 * rows * (cols + 1)", &["cols", "rows"]).unwrap();
        let value = expression.extent(|name| if name == "rows" { 3.0 } else { 7.0 });
        assert_eq!(value, Ok(48));
    }

    #[test]
    fn a_mistake_is_named() {
        let error = |text: &str| Expression::parse(text, &["rows", "cols"]).map(|_| ()).unwrap_err();
        assert_eq!(
            error("rows * col"),
            "'rows * col' names 'col', which is not a dimension (did you mean 'cols'?)"
        );
        assert!(error("rows * ").starts_with("'rows * ' is not an expression: "));
        let half = Expression::parse("rows / 2", &["rows"]).unwrap();
        assert_eq!(
            half.extent(|_| 3.0).unwrap_err(),
            "'rows / 2' is 1.5; an extent must be a whole number from 1 to 2147483647"
        );
        let root = Expression::parse("sqrt(0 - rows)", &["rows"]).unwrap();
        assert_eq!(
            root.value(|_| 2.0).unwrap_err(),
            "'sqrt(0 - rows)' is no number: it divides zero by zero, or has no real value"
        );
        let quotient = Expression::parse("1 / (rows - 1)", &["rows"]).unwrap();
        assert_eq!(
            quotient.value(|_| 1.0).unwrap_err(),
            "'1 / (rows - 1)' is infinite: it divides by zero, or is too large"
        );
        let power = Expression::parse("rows ^ rows", &["rows"]).unwrap();
        assert!(power.value(|_| 1000.0).unwrap_err().contains("is infinite"));
        assert!(error(&"(".repeat(100_000)).contains("at most 1000 bytes"));
        assert!(error(&"(".repeat(999)).contains("is not an expression"));
        let deep = format!("{}rows{}", "(".repeat(498), ")".repeat(498));
        assert_eq!(Expression::parse(&deep, &["rows"]).unwrap().value(|_| 7.0), Ok(7.0));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[-+*/^%().,{}|&!<>=a-z0-9 é]{0,24}") {
            if let Ok(expression) = Expression::parse(&text, &["n", "m"]) {
                let _ = expression.value(|_| 3.0);
            }
        }
    }
}
