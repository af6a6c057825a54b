//! A table of text for people.

use itertools::Itertools;
use lab_tui::text::{pad, width};

/// The rows of a table, whose columns are two blanks apart. The last one is as wide as its text.
pub fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let mut cells = row.iter().zip(widths).map(|(cell, width)| pad(cell, width));
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
