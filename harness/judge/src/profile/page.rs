//! A CSV page of ncu. Columns are found by their names, because their number and their places
//! differ by version and by chip.

use std::collections::HashMap;
use std::fmt::Display;

/// The names of a page's columns.
pub struct Columns(HashMap<String, usize>);

impl Columns {
    /// The columns of a header. Where a name occurs twice, the first one has it.
    pub fn of(header: &csv::StringRecord) -> Columns {
        let mut columns = HashMap::new();
        for (at, name) in header.iter().enumerate() {
            columns.entry(name.to_owned()).or_insert(at);
        }
        Columns(columns)
    }

    /// Where a column is. The error names the page and the column.
    pub fn require(&self, page: &str, name: &str) -> Result<usize, String> {
        self.get(name)
            .ok_or_else(|| lacks(page, format_args!("'{name}'")))
    }

    /// Where a column is, if the page has it.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }

    /// Names and places, in no order.
    pub fn all(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, at)| (name.as_str(), *at))
    }
}

/// The error of a page without this column.
pub fn lacks(page: &str, column: impl Display) -> String {
    format!(
        "the page {page} of ncu's report has no column {column}: another version of ncu writes other columns"
    )
}

/// The records of a page. A record may be shorter or longer than the header: ncu mixes tables and
/// notes into its pages.
pub fn records(page: &str, bytes: &[u8]) -> Result<Vec<csv::StringRecord>, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let all: Result<Vec<_>, _> = reader.records().collect();
    all.map_err(|error| format!("the page {page} of ncu's report cannot be read: {error}"))
}

/// A number as ncu writes it, as in `15,687,168` and `3,199,496,556.68`. `None` for `-`, `nan` and
/// text.
pub fn number(cell: &str) -> Option<f64> {
    let plain: String = cell.trim().chars().filter(|c| *c != ',').collect();
    plain.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A whole number, as a count of samples.
pub fn count(cell: &str) -> Option<u64> {
    number(cell)
        .filter(|value| *value >= 0.0)
        .map(|value| value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_ncu_writes_them() {
        assert_eq!(number("3,199,496,556.68"), Some(3199496556.68));
        assert_eq!(number("-12"), Some(-12.0));
        for text in [
            "",
            "-",
            "nan",
            "inf",
            "no data",
            "NVIDIA H200",
            "(256, 1, 1)",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!((count("1,938,221"), count("-1")), (Some(1938221), None));
    }
}
