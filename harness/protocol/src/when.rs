//! At which occasion a workload is judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The occasion at which a workload is judged, as problem.toml says it. Each occasion includes the
/// ones before it: a keep judges every workload.
///
/// ```
/// use lab_protocol::When;
///
/// assert_eq!("measure".parse(), Ok(When::Measure));
/// assert!(When::Save < When::Measure && When::Measure < When::Keep);
/// assert!("always".parse::<When>().is_err());
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Each save and `lab run`.
    #[default]
    Save,
    /// `lab bench --verdict`.
    Measure,
    /// The check before a keep.
    Keep,
}

impl When {
    /// Every occasion, in order.
    pub const ALL: [When; 3] = [When::Save, When::Measure, When::Keep];

    /// The word in problem.toml, on the command line and in run.log.
    pub fn word(self) -> &'static str {
        match self {
            When::Save => "save",
            When::Measure => "measure",
            When::Keep => "keep",
        }
    }
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl std::str::FromStr for When {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = When::ALL.into_iter().find(|when| when.word() == text);
        found.ok_or_else(|| format!("'{text}' is none of save, measure, keep"))
    }
}
