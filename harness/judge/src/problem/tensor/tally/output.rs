//! What was found of one output over all launches, and its result lines.

use super::super::named_gates::NamedTally;
use super::super::spec::CaseTensor;
use super::compared::ComparedOutput;
use crate::dtype::CellValue;
use crate::gates::{self, CellMismatch, TensorComparison};
use crate::outcome::Result;
use lab_protocol::report::wrong_cells::{WrongMap, WrongTile};
use lab_protocol::report::{self, Histogram, Writer};

/// The results for one output.
#[derive(Default)]
pub(super) struct OutputTally {
    pub(super) name: String,
    pub(super) worst: WorstError,
    /// The values in the gates' lines that were last written.
    pub(super) written: Option<WorstError>,
    /// Each case's largest error, in order.
    pub(super) errors: Vec<f64>,
    /// The cell and the workload with the largest error of all.
    pub(super) place: Option<String>,
    pub(super) counts: Histogram,
    /// Whether it was written that zeros have the other sign.
    pub(super) has_other_zeros: bool,
    /// The gates that problem.toml names, in place of those on error and mismatches.
    pub(super) named: NamedTally,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct WorstError {
    pub(super) error: f64,
    /// The fraction of mismatched cells in the launch that is nearest to failing, and the fraction
    /// that is allowed there. `None` before the first launch.
    pub(super) mismatched: Option<(f64, f64)>,
    /// Whether a launch may have mismatched cells. Then the error of a right launch has no limit.
    pub(super) has_allowance: bool,
    pub(super) not_finite: u64,
    pub(super) unwritten: u64,
}

impl OutputTally {
    pub(super) fn add(&mut self, compared: &ComparedOutput, tensor: &CaseTensor, label: &str) {
        let differences = compared.differences.as_ref();
        let compared = &compared.cells;
        self.named.add(compared, differences, tensor, label);
        let allowed = gates::allowed_mismatch(&tensor.tolerance);
        if let Some(cell) = compared.worst.filter(|_| compared.error > self.worst.error) {
            self.place = Some(format!("{} {label}", tensor.cell(cell)));
        }
        if let Some(last) = self.errors.last_mut() {
            *last = last.max(compared.error);
        }
        self.counts.join(&compared.counts);
        let worst = &mut self.worst;
        worst.error = worst.error.max(compared.error);
        worst.has_allowance |= allowed > 0.0;
        // Types may have different limits: the line shows the pair that is nearest to failing.
        let fraction = compared.mismatched_fraction();
        let is_nearer = |(known, limit): (f64, f64)| fraction - allowed >= known - limit;
        if worst.mismatched.is_none_or(is_nearer) {
            worst.mismatched = Some((fraction, allowed));
        }
        worst.not_finite += compared.not_finite as u64;
        worst.unwritten += compared.unwritten as u64;
    }

    /// Writes which cells are wrong, and the values around the first.
    pub(super) fn write_picture(
        &self,
        picture: Option<&(WrongMap, WrongTile)>,
        out: &mut Writer,
    ) -> Result {
        let Some((map, tile)) = picture else {
            return Ok(());
        };
        out.line(&format!("{}_wrong_map", self.name), map)?;
        Ok(out.line(&format!("{}_wrong_tile", self.name), tile)?)
    }

    /// Writes, once, that a cell is −0 where +0 is expected, or the other way round. The tolerance of
    /// zero says so by [`gates::OTHER_ZERO`].
    pub(super) fn note_other_zeros(
        &mut self,
        compared: &TensorComparison,
        tensor: &CaseTensor,
        label: &str,
        out: &mut Writer,
    ) -> Result {
        let is_other_zero = compared.error == gates::OTHER_ZERO && tensor.tolerance.is_exact();
        let Some(cell) = compared.worst.filter(|_| is_other_zero) else {
            return Ok(());
        };
        if std::mem::replace(&mut self.has_other_zeros, true) {
            return Ok(());
        }
        Ok(out.caveat(format_args!(
            "{} is a zero of the other sign than the reference's, {label}: at a tolerance of zero that may be wrong. An atol \
             above zero allows it",
            tensor.cell(cell)
        ))?)
    }
}

impl WorstError {
    pub(super) fn write_cells(&self, name: &str, out: &mut Writer) -> Result {
        out.count_gate(&format!("{name}_unwritten"), self.unwritten, 0)?;
        out.count_gate(&format!("{name}_not_finite"), self.not_finite, 0)?;
        Ok(())
    }

    pub(super) fn write(&self, name: &str, place: Option<&str>, out: &mut Writer) -> Result {
        if self.has_allowance {
            out.line(
                &format!("{name}_error"),
                format_args!("{:e}{}", self.error, report::at(place)),
            )?;
        } else {
            out.gate_at(&format!("{name}_error"), self.error, 1.0, place)?;
        }
        let (fraction, allowed) = self.mismatched.unwrap_or_default();
        out.gate(&format!("{name}_mismatched"), fraction, allowed)?;
        Ok(())
    }
}

/// Whether more than half of many cells are wrong. If there are few cells, a set with other
/// extremes may get
/// others wrong.
pub(super) fn is_mostly_wrong(compared: &TensorComparison) -> bool {
    const MANY: usize = 64;
    compared.mismatched > (compared.cells / 2).max(MANY)
}

/// Describes the first wrong cell of the gravest kind.
pub(super) fn first_wrong(compared: &TensorComparison, tensor: &CaseTensor) -> String {
    let Some(&CellMismatch { index, got, want }) = compared.first_wrong() else {
        return "no cell is wrong".into();
    };
    let unset = match tensor.dtype.is_unset(got) {
        true => ". Shared memory, scratch and variables hold this before a kernel writes them",
        false => "",
    };
    let at = tensor.cell(index);
    let (got, want) = in_few_digits(got, want);
    let (n, all, error) = (compared.mismatched, compared.cells, compared.error);
    if compared.unwritten > 0 {
        let n = cells(compared.unwritten);
        return format!("never wrote {at}, expected {want} ({n} unwritten)");
    }
    let how_wrong = match () {
        () if compared.not_finite > 0 => {
            format!("{} not finite", cells(compared.not_finite))
        }
        // Without a tolerance an error has no size.
        () if error.is_infinite() => format!("{n} of {all} cells differ"),
        () => format!(
            "{n} of {all} cells off, at worst {} times the tolerance",
            times(error)
        ),
    };
    format!("{at} is {got}, expected {want} ({how_wrong}){unset}")
}

/// A multiple of the tolerance: `1.234`, `4321`, `1.695e42`.
fn times(error: f64) -> String {
    match error {
        error if error < 100.0 => format!("{error:.3}"),
        error if error < 1e9 => format!("{error:.0}"),
        error => format!("{error:.3e}"),
    }
}

/// `1 cell`, `3 cells`.
fn cells(count: usize) -> String {
    format!("{count} cell{}", if count == 1 { "" } else { "s" })
}

/// Two numbers with nine digits, which tell any two f32 apart; with all digits if they would read the
/// same.
fn in_few_digits(got: CellValue, want: CellValue) -> (String, String) {
    let shown = |value: CellValue| match value {
        CellValue::Float(number) if number.is_finite() => {
            let short: f64 = format!("{number:.8e}").parse().unwrap_or(number);
            match short.abs() {
                1e15.. => format!("{short:e}"),
                _ => short.to_string(),
            }
        }
        other => other.to_string(),
    };
    match (shown(got), shown(want)) {
        (short, like) if short == like => (got.to_string(), want.to_string()),
        both => both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_of_any_size_is_told_in_few_characters() {
        assert_eq!([1, 2].map(cells), ["1 cell", "2 cells"]);
        assert_eq!(
            [1.5, 4321.4, 1.694_735e42].map(times),
            ["1.500", "4321", "1.695e42"]
        );
    }
}
