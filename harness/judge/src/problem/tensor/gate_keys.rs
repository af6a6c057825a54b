//! The key `gates` of an output: gates that problem.toml names.

use crate::dtype::Dtype;
use crate::gates::Tolerance;
use crate::problem::key_error::{Result, wrong};
use serde::Deserialize;

/// What a gate's line says of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOf {
    /// The largest difference of a cell.
    Largest,
    /// The mean difference of the cells of a launch; of several launches the largest mean.
    Mean,
    /// The largest difference of a cell's logarithm.
    Log,
    /// How many cells are wrong, in all launches together.
    Mismatches,
    /// The first cell that is wrong in any launch, as its flat index; −1 if none is.
    FirstMismatch,
    /// How many cells were compared, in all launches together.
    Cells,
}

/// A gate, or a line without a limit, as in `{ name = "y_max_diff", of = "largest", limit = 1e-5 }`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedGate {
    pub name: String,
    pub of: GateOf,
    pub limit: Option<f64>,
}

impl NamedGate {
    /// Checks the gate of an output whose types are `dtypes`.
    pub fn check(&self, dtypes: &[Dtype]) -> Result {
        let NamedGate { name, of, limit } = self;
        let is_key = name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_key || name.is_empty() {
            return wrong(
                "name",
                format!("'{name}' is not a key of a result line: use a-z, 0-9 and _"),
            );
        }
        if limit.is_some_and(|limit| !(limit.is_finite() && limit >= 0.0)) {
            return wrong("limit", "a limit is a finite number that is not negative");
        }
        let is_difference = matches!(of, GateOf::Largest | GateOf::Mean | GateOf::Log);
        if is_difference && dtypes.iter().any(|dtype| dtype.integers().is_some()) {
            return wrong(
                "of",
                "of integers and bools it is mismatches, first_mismatch or cells: they must be equal",
            );
        }
        if limit.is_some() && matches!(of, GateOf::FirstMismatch | GateOf::Cells) {
            return wrong(
                "limit",
                "first_mismatch and cells have no limit: give mismatches one",
            );
        }
        Ok(())
    }
}

/// The tolerance that follows from the gates of an output: the limit of the largest difference.
pub fn tolerance(gates: &[NamedGate]) -> Option<Tolerance> {
    let largest = gates.iter().find(|gate| gate.of == GateOf::Largest)?;
    Some(Tolerance {
        atol: largest.limit?,
        ..Tolerance::EXACT
    })
}
