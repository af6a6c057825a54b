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
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown)]
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
    /// The word in problem.toml, on the command line and in run.log.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

fn unknown(word: &str) -> String {
    format!("'{word}' is none of save, measure, keep")
}
