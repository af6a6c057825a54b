//! Arithmetic with named dimensions, as in `2 * rows * cols` in problem.toml.

use super::suggest::suggest;
use exmex::{Express, FlatEx};

/// A parsed expression. All its variables are known names.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    parsed: FlatEx<f64>,
}

impl Expression {
    /// Parses `text`, whose variables must be among `names`.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, String> {
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
            Ok(value)
        } else {
            Err(format!("'{}' is {value}: it must be a finite number", self.text))
        }
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
        let error = |text| Expression::parse(text, &["rows", "cols"]).map(|_| ()).unwrap_err();
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
        assert_eq!(half.value(|_| f64::NAN).unwrap_err(), "'rows / 2' is NaN: it must be a finite number");
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
