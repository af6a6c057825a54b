//! A table with one row for each fact, and a cell for each of two experiments.

use crate::format;
use crate::text::{fit, pad};
use crate::theme::Theme;
use ratatui::prelude::*;

/// Rows of a label and two cells.
pub struct Columns<'t> {
    columns: usize,
    pub theme: &'t Theme,
}

impl<'t> Columns<'t> {
    pub fn new(columns: usize, theme: &'t Theme) -> Self {
        Columns { columns, theme }
    }

    pub fn label_columns(&self) -> usize {
        (self.columns / 4).clamp(8, 24)
    }

    pub fn cell_columns(&self) -> usize {
        self.columns.saturating_sub(self.label_columns() + 4) / 2
    }

    pub fn row(&self, label: &str, cells: [(String, Style); 2]) -> Line<'static> {
        let columns = self.cell_columns();
        let [(a, of_a), (b, of_b)] = cells;
        Line::from(vec![
            Span::styled(pad(label, self.label_columns()), self.theme.quiet()),
            Span::styled(format!("  {}", pad(&a, columns)), of_a),
            Span::styled(format!("  {}", fit(&b, columns)), of_b),
        ])
    }

    /// A row of two cells in plain style; `None` where both are empty.
    pub fn plain(&self, label: &str, cells: [String; 2]) -> Option<Line<'static>> {
        let style = self.theme.text();
        let said = cells.iter().any(|cell| !cell.is_empty());
        said.then(|| self.row(label, cells.map(|cell| (cell, style))))
    }
}

/// The texts of two numbers, of which one may be missing. Two that differ never read the same.
pub fn side_by_side(values: [Option<f64>; 2], form: fn(f64) -> String) -> [String; 2] {
    match values {
        [Some(a), Some(b)] => format::distinct([a, b], form),
        values => values.map(|value| value.map(form).unwrap_or_default()),
    }
}
