//! lab.toml, and what is true without one.

use harness::device::Target;
use serde::{Deserialize, Serialize};

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    #[default]
    Maximize,
    Minimize,
}

/// The whole file. Every key has a default: without a lab.toml this is what holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Relative to lab.toml.
    pub kernel: Option<String>,
    /// A command line for `sh -c`; absent: the built-in harness.
    pub harness: Option<String>,
    pub device: Target,
    /// The result line that is the measure.
    pub objective: String,
    pub goal: Goal,
    pub time_limit_s: f64,
    pub output_limit_mib: u64,
    pub compile: Compile,
    pub watch: Watch,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compile {
    /// Passed to the compiler as they are.
    pub options: Vec<String>,
    /// `sm_90`; absent: what the device is.
    pub arch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// Further files that a verdict depends on, relative to lab.toml.
    pub extra: Vec<String>,
    /// A save is taken up after this much quiet …
    pub quiet_ms: u64,
    /// … but no later than this after its first event.
    pub ceiling_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            kernel: None,
            harness: None,
            device: Target::Auto,
            objective: "throughput_sps".into(),
            goal: Goal::Maximize,
            time_limit_s: 60.0,
            output_limit_mib: 64,
            compile: Compile::default(),
            watch: Watch::default(),
        }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Watch { extra: Vec::new(), quiet_ms: 50, ceiling_ms: 500 }
    }
}
