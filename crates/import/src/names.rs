//! Names that problem.toml takes.

use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// The names that are given.
#[derive(Default)]
pub struct Names {
    given: BTreeSet<String>,
    known: BTreeMap<String, String>,
}

/// Names that problem.toml keeps for itself, and words of C++ that a parameter of a published
/// kernel cannot have but its macros can.
const RESERVED: [&str; 9] = [
    "T", "E", "PI", "TAU", "sizeof_T", "dim3", "t", "", "scratch",
];

impl Names {
    /// The name of `what`: the one that it was given before, else a free one.
    pub fn of(&mut self, what: &str, wanted: &str, is_lower: bool) -> String {
        if let Some(name) = self.known.get(what) {
            return name.clone();
        }
        let name = self.free(wanted, is_lower);
        self.known.insert(what.to_owned(), name.clone());
        name
    }

    /// A name that is not given yet, as near to `wanted` as problem.toml allows. `is_lower` is for
    /// outputs, whose names begin keys of result lines.
    pub fn free(&mut self, wanted: &str, is_lower: bool) -> String {
        let mut name = if is_lower {
            wanted.to_lowercase()
        } else {
            wanted.to_owned()
        };
        name = name.trim_start_matches('_').to_owned();
        if RESERVED[..6].contains(&name.as_str()) {
            name = format!("{}_extent", name.to_lowercase());
        }
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name = format!("p{name}");
        }
        while !self.given.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// The items with commas between them; `None` without items.
pub fn listed<T: Display>(items: impl IntoIterator<Item = T>) -> Option<String> {
    Some(items.into_iter().join(", ")).filter(|text| !text.is_empty())
}
