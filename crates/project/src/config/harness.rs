//! The key `harness` of lab.toml: who judges instead of the built-in harness.

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A harness of the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Harness {
    /// A command line for `sh -c`.
    Command(String),
    /// A script that the project's Python runs.
    Python {
        /// Its path, relative to lab.toml.
        python: String,
    },
}

impl Harness {
    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        let (Harness::Command(text) | Harness::Python { python: text }) = self;
        text.trim().is_empty()
    }
}

/// What a record and the screen call it: the command, or `python harness.py`, whichever interpreter
/// that is.
impl fmt::Display for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Harness::Command(line) => f.write_str(line),
            Harness::Python { python } => write!(f, "python {python}"),
        }
    }
}

impl<'de> Deserialize<'de> for Harness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HarnessVisitor)
    }
}

/// Reads a text or a table with the key `python`: so an error says what is expected.
struct HarnessVisitor;

impl<'de> Visitor<'de> for HarnessVisitor {
    type Value = Harness;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command, or { python = \"harness.py\" }")
    }

    fn visit_str<E: de::Error>(self, line: &str) -> Result<Harness, E> {
        Ok(Harness::Command(line.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Harness, A::Error> {
        let mut python = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "python" {
                return Err(de::Error::unknown_field(&key, &["python"]));
            }
            python = Some(map.next_value()?);
        }
        python
            .map(|python| Harness::Python { python })
            .ok_or_else(|| de::Error::missing_field("python"))
    }
}
