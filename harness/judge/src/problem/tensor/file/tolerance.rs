//! The limits of a tolerance: of a type, or of one tensor.

use super::super::number::{NumberText, Variables};
use super::text::ToleranceText;
use crate::gates::Tolerance;
use crate::problem::key_error::{InKey, Result, wrong};

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
    pub fn check(&self, names: &[&str]) -> Result {
        let look_up = &|_: &str| f64::NAN;
        let variables = Variables { names, look_up };
        for (key, number) in self.limits() {
            match number {
                NumberText::Expression(_) => number.check(names).key(key)?,
                _ => limit(key, number, &variables).map(drop)?,
            }
        }
        Ok(())
    }

    /// The limits for a workload.
    pub fn resolve(&self, variables: &Variables) -> Result<Tolerance> {
        let limits = self.limits();
        let [atol, rtol, matched] = limits.map(|(key, number)| limit(key, number, variables));
        Ok(Tolerance {
            atol: atol?,
            rtol: rtol?,
            matched: matched?,
        })
    }
}

fn limit(key: &'static str, number: &NumberText, variables: &Variables) -> Result<f64> {
    let value = match number {
        // The next message says more about it.
        NumberText::Float(number) => *number,
        _ => number.value(variables).key(key)?,
    };
    let is_right = match key {
        "matched" => value > 0.0 && value <= 1.0,
        _ => value.is_finite() && value >= 0.0,
    };
    let rule = "atol and rtol must be numbers from 0 on, and matched must be above 0 and at most 1";
    let what = match number {
        _ if is_right => return Ok(value),
        NumberText::Expression(_) => format!("{key}: {}: {rule}", number.shown(value)),
        _ => rule.into(),
    };
    wrong(key, what)
}
