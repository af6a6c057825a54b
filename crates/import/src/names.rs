//! Names that problem.toml takes.

use std::collections::BTreeSet;

/// The names that are given.
#[derive(Default)]
pub struct Names(BTreeSet<String>);

/// Names that problem.toml keeps for itself, and words of C++ that a parameter of a published
/// kernel cannot have but its macros can.
const RESERVED: [&str; 8] = ["T", "E", "PI", "TAU", "sizeof_T", "t", "", "scratch"];

impl Names {
    /// A name that is not given yet, as near to `wanted` as problem.toml allows. `is_lower` is for
    /// outputs, whose names begin keys of result lines.
    pub fn free(&mut self, wanted: &str, is_lower: bool) -> String {
        let mut name = if is_lower {
            wanted.to_lowercase()
        } else {
            wanted.to_owned()
        };
        name = name.trim_start_matches('_').to_owned();
        if RESERVED[..5].contains(&name.as_str()) {
            name = format!("{}_extent", name.to_lowercase());
        }
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name = format!("p{name}");
        }
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}
