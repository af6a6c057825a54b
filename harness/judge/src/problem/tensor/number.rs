//! A number of problem.toml: written out, or as an expression of the dimensions.

use lab_source::expression::Expression;
use serde::Deserialize;

/// As in `0.5`, `7` or `"rows - 1"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a number, or an expression in quotes")]
pub enum NumberText {
    Integer(i64),
    Float(f64),
    Expression(String),
}

/// The names that an expression may use, and their values for a workload.
#[derive(Clone, Copy)]
pub struct Variables<'a> {
    pub names: &'a [&'a str],
    pub look_up: &'a dyn Fn(&str) -> f64,
}

/// The values of keys that are left out.
pub fn zero() -> NumberText {
    NumberText::Float(0.0)
}

pub fn one() -> NumberText {
    NumberText::Float(1.0)
}

/// Whole numbers up to this one are exact in an f64.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl NumberText {
    /// Returns what is wrong with an expression, whatever the workload.
    pub fn check(&self, names: &[&str]) -> Result<(), String> {
        match self {
            NumberText::Integer(_) | NumberText::Float(_) => Ok(()),
            NumberText::Expression(text) => Expression::parse(text, names).map(drop),
        }
    }

    /// The value for a workload; an error if it is not finite.
    pub fn value(&self, variables: &Variables) -> Result<f64, String> {
        match self {
            NumberText::Integer(number) => Ok(*number as f64),
            NumberText::Float(number) if number.is_finite() => Ok(*number),
            NumberText::Float(number) => Err(format!(
                "{number} is not a finite number: only a constant and the value of a scalar may be inf, -inf or nan"
            )),
            NumberText::Expression(text) => {
                Expression::parse(text, variables.names)?.value(variables.look_up)
            }
        }
    }

    /// The value for a workload, which may also be TOML's `inf`, `-inf` and `nan`.
    pub fn constant(&self, variables: &Variables) -> Result<f64, String> {
        match self {
            NumberText::Float(number) => Ok(*number),
            _ => self.value(variables),
        }
    }

    /// The value for a workload as a whole number; an error if it is not whole. A number that is written
    /// out is exact, also in quotes: TOML has no larger one than that of an i64.
    pub fn whole(&self, variables: &Variables) -> Result<i128, String> {
        match self {
            NumberText::Integer(number) => return Ok((*number).into()),
            NumberText::Expression(text) => {
                if let Ok(number) = text.parse() {
                    return Ok(number);
                }
            }
            NumberText::Float(_) => {}
        }
        let value = self.value(variables)?;
        if value.fract() != 0.0 {
            return Err(format!("{}: it must be a whole number", self.shown(value)));
        }
        if value.abs() > EXACT {
            return Err(format!(
                "{}: a whole number beyond 2^53 must be written out, without an expression",
                self.shown(value)
            ));
        }
        Ok(value as i128)
    }

    /// As in `'n / 2' is 3.5`, or `3.5`.
    pub fn shown(&self, value: f64) -> String {
        match self {
            NumberText::Expression(text) => format!("'{text}' is {value}"),
            NumberText::Integer(_) | NumberText::Float(_) => value.to_string(),
        }
    }
}

impl From<f64> for NumberText {
    fn from(number: f64) -> Self {
        NumberText::Float(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_out_or_follows_from_the_dimensions() {
        let look_up = |name: &str| if name == "rows" { 7.0 } else { 0.0 };
        let variables = Variables {
            names: &["rows", "zero"],
            look_up: &look_up,
        };
        let expression = |text: &str| NumberText::Expression(text.to_owned());
        assert_eq!(expression("rows - 1").whole(&variables), Ok(6));
        assert_eq!(
            NumberText::Integer(i64::MAX).whole(&variables),
            Ok(i64::MAX.into())
        );
        let largest = expression("18446744073709551615").whole(&variables);
        assert_eq!(largest, Ok(u64::MAX.into()));
        assert_eq!(NumberText::Float(2.0).whole(&variables), Ok(2));
        let error = |number: NumberText| number.whole(&variables).err().unwrap_or_default();
        assert_eq!(
            error(expression("rows / 2")),
            "'rows / 2' is 3.5: it must be a whole number"
        );
        assert_eq!(
            error(NumberText::Float(0.5)),
            "0.5: it must be a whole number"
        );
        assert!(error(expression("2 ^ 53 + 2")).contains("beyond 2^53"));
        assert!(error(expression("rows / zero")).contains("by zero"));
        assert!(error(NumberText::Float(f64::NAN)).contains("not a finite number"));
        assert!(expression("cols").check(variables.names).is_err());
    }
}
