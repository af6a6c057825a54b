//! What the rows of a chart are called: each as no other, and none wider than its place.

use crate::letters::{fit, width};
use std::collections::HashSet;

/// The widest name of a row, in units of the drawing.
const MOST: f64 = 260.0;

/// A row before it has its name.
#[derive(Clone)]
pub struct Named {
    /// The evidence that it is of; empty in a chart of one piece of evidence.
    pub of: String,
    /// As in `f16.4096x8192`.
    pub key: String,
    /// As in `rows=4096 cols=8192 T=f16`.
    pub name: String,
}

impl Named {
    /// `copy f16.4096x8192`
    pub fn whole(&self) -> String {
        let words = [self.of.as_str(), self.key.as_str()];
        let words = words.into_iter().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        let of = Some(self.of.as_str()).filter(|of| !of.is_empty());
        of.into_iter().chain(self.name.split_whitespace())
    }
}

/// The names of the rows, and the words that all of them share; empty if none were left out.
pub fn of(rows: &[Named]) -> (Vec<String>, String) {
    let whole: Vec<String> = rows.iter().map(Named::whole).collect();
    if whole.iter().all(|label| width(label) <= MOST) {
        return (whole, String::new());
    }
    let shared: Vec<&str> = match rows {
        [first, _, ..] => {
            let in_all = |word: &&str| rows.iter().all(|row| row.words().any(|it| it == *word));
            first.words().filter(in_all).collect()
        }
        _ => Vec::new(),
    };
    let own = |row: &Named| {
        if shared.is_empty() {
            return row.whole();
        }
        let words = row.words().filter(|word| !shared.contains(word));
        words.collect::<Vec<_>>().join(" ")
    };
    let (mut labels, mut taken) = (Vec::new(), HashSet::new());
    for (nth, row) in rows.iter().enumerate() {
        let mut label = fit(&own(row), MOST);
        if label.is_empty() || taken.contains(&label) {
            let number = format!(" #{}", nth + 1);
            label = fit(&own(row), MOST - width(&number)) + &number;
        }
        taken.insert(label.clone());
        labels.push(label);
    }
    (labels, shared.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(rows: &[(&str, &str)]) -> (Vec<String>, String) {
        let named = |(key, name): &(&str, &str)| Named {
            of: String::new(),
            key: (*key).to_owned(),
            name: (*name).to_owned(),
        };
        let named: Vec<Named> = rows.iter().map(named).collect();
        let (labels, shared) = of(&named);
        let different: HashSet<&String> = labels.iter().collect();
        assert_eq!(different.len(), rows.len(), "{labels:?}");
        assert!(labels.iter().all(|it| width(it) <= MOST), "{labels:?}");
        (labels, shared)
    }

    #[test]
    fn names_of_rows_differ_whatever_the_workloads_are_called() {
        let short = [("f16.1x64", "rows=1 cols=64 T=f16"), ("1", "batch=1")];
        assert_eq!(
            labels(&short),
            (vec!["f16.1x64".into(), "1".into()], String::new())
        );
        let long = "1024x4096x2048x2048x2048x2048x16384x32768x65536";
        let of = |batch: usize| {
            let shared = "hidden=1024 inter=4096 cache=2048 longest=2048 shortest=2048";
            (format!("{batch}x{long}"), format!("batch={batch} {shared}"))
        };
        let rows = [1, 4, 8].map(of);
        let rows = rows
            .each_ref()
            .map(|(key, name)| (key.as_str(), name.as_str()));
        let (found, shared) = labels(&rows);
        assert_eq!(found, ["batch=1", "batch=4", "batch=8"]);
        assert!(shared.starts_with("hidden=1024 inter=4096"), "{shared}");
        // Names that differ in their middle only, and names that are the same.
        let long = "a".repeat(60);
        let middles = ["b", "c", "d"].map(|middle| format!("{long}{middle}{long}"));
        let rows = middles.each_ref().map(|it| (it.as_str(), it.as_str()));
        labels(&rows);
        labels(&[(&long, "n=1"), ("b", "n=1"), ("c", "n=1")]);
        labels(&[(&long, "")]);
    }
}
