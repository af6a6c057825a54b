//! The limits of a tolerance: of a type, or of one tensor.

use super::super::number::{NumberText, Variables};
use super::text::ToleranceText;
use crate::gates::Tolerance;
use crate::problem::key_error::KeyError;

impl ToleranceText {
    fn limits(&self) -> [(&'static str, &NumberText); 3] {
        [
            ("atol", &self.atol),
            ("rtol", &self.rtol),
            ("matched", &self.matched),
        ]
    }

    /// Returns what is wrong whatever the workload: an expression that cannot be read, or a number
    /// out of its range.
    pub fn check(&self, names: &[&str]) -> Result<(), KeyError> {
        let look_up = &|_: &str| f64::NAN;
        let variables = Variables { names, look_up };
        for (key, number) in self.limits() {
            number
                .check(names)
                .map_err(|e| KeyError::at(key, format!("{key}: {e}")))?;
            if !matches!(number, NumberText::Expression(_)) {
                limit(key, number, &variables)?;
            }
        }
        Ok(())
    }

    /// The limits for a workload.
    pub fn resolve(&self, variables: &Variables) -> Result<Tolerance, KeyError> {
        let [atol, rtol, matched] = self
            .limits()
            .map(|(key, number)| limit(key, number, variables));
        Ok(Tolerance {
            atol: atol?,
            rtol: rtol?,
            matched: matched?,
        })
    }
}

fn limit(key: &'static str, number: &NumberText, variables: &Variables) -> Result<f64, KeyError> {
    let wrong = |what: String| KeyError::at(key, what);
    let value = match number {
        // The next message says more about it.
        NumberText::Float(number) => *number,
        _ => number
            .value(variables)
            .map_err(|e| wrong(format!("{key}: {e}")))?,
    };
    let is_right = match key {
        "matched" => value > 0.0 && value <= 1.0,
        _ => value.is_finite() && value >= 0.0,
    };
    let rule = "atol and rtol must not be negative, and matched must be above 0 and at most 1";
    match is_right {
        true => Ok(value),
        false if matches!(number, NumberText::Expression(_)) => {
            Err(wrong(format!("{key}: {}: {rule}", number.shown(value))))
        }
        false => Err(wrong(rule.into())),
    }
}
