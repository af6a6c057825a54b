//! A table with one row for each fact, and a cell for each of two experiments.

use crate::prelude::*;

/// Rows of a label and two cells, in so many columns.
#[derive(Clone, Copy)]
pub struct PairTable {
    pub columns: usize,
    /// Rows whose cells differ have a sign.
    pub marks: bool,
}

impl PairTable {
    pub fn label_columns(self) -> usize {
        (self.columns / 4).clamp(8, 24)
    }

    pub fn cell_columns(self) -> usize {
        self.columns.saturating_sub(self.label_columns() + 4) / 2
    }

    pub fn row(self, label: &str, cells: [(String, Style); 2]) -> Line<'static> {
        let columns = self.cell_columns();
        let [(a, of_a), (b, of_b)] = cells;
        let differs = self.marks && a != b;
        let sign = if differs { "≠ " } else { "" };
        let style = if differs { STRONG } else { QUIET };
        let label = pad(&format!("{sign}{label}"), self.label_columns());
        Line::from(vec![
            Span::styled(label, style),
            Span::styled(format!("  {}", pad(&a, columns)), of_a),
            Span::styled(format!("  {}", fit(&b, columns)), of_b),
        ])
    }

    /// A row of two cells in plain style; `None` where both are empty.
    pub fn plain(self, label: &str, cells: [String; 2]) -> Option<Line<'static>> {
        let said = cells.iter().any(|cell| !cell.is_empty());
        said.then(|| self.row(label, cells.map(|cell| (cell, TEXT))))
    }
}

/// What either of the two has: each once, those of the first in front.
pub fn of_either<T: PartialEq>(both: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for one in both {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The texts of two numbers, of which one may be missing. Two that differ never read the same.
pub fn side_by_side(values: [Option<f64>; 2], form: fn(f64) -> String) -> [String; 2] {
    match values {
        [Some(a), Some(b)] => format::distinct([a, b], form),
        values => values.map(|value| value.map(form).unwrap_or_default()),
    }
}
