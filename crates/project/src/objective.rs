//! The objective: the result line that says how good a kernel is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of two values of the objective is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    #[default]
    Maximize,
    Minimize,
}

impl Goal {
    /// Whether `a` is better than `b`.
    pub fn prefers(self, a: f64, b: f64) -> bool {
        match self {
            Goal::Maximize => a > b,
            Goal::Minimize => a < b,
        }
    }
}

/// Names the result line that is the measure; `objective` in lab.toml.
///
/// ```
/// use lab_project::objective::Objective;
///
/// let objective: Objective = "kernel_us".into();
/// assert_eq!(objective, Objective::KernelTime);
/// assert_eq!((objective.name(), objective.unit()), ("kernel_us", "µs"));
/// assert_eq!(Objective::from("throughput_gbps").unit(), "GB/s");
/// assert_eq!(Objective::from("memory_gbps").to_string(), "memory_gbps");
/// ```
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::AsRefStr,
    strum::Display,
    strum::EnumString,
)]
#[serde(from = "String", into = "String")]
pub enum Objective {
    /// `throughput_sps`: samples per second.
    #[default]
    #[strum(serialize = "throughput_sps")]
    Throughput,
    /// `kernel_us`: microseconds of one launch.
    #[strum(serialize = "kernel_us")]
    KernelTime,
    /// `throughput_tflops`: 10¹² operations per second.
    #[strum(serialize = "throughput_tflops")]
    Tflops,
    /// `throughput_gbps`: 10⁹ bytes per second.
    #[strum(serialize = "throughput_gbps")]
    Gbps,
    /// A key that the harness prints and the lab knows nothing about.
    #[strum(default, transparent)]
    Other(String),
}

impl Objective {
    /// The key of its result line.
    pub fn name(&self) -> &str {
        self.as_ref()
    }

    /// What it measures, for a heading; of a key that the lab does not know the key.
    pub fn title(&self) -> &str {
        match self {
            Objective::KernelTime => "Kernel time",
            Objective::Throughput | Objective::Tflops | Objective::Gbps => "Throughput",
            Objective::Other(name) => name,
        }
    }

    /// `µs`, `TFLOP/s` and `GB/s`; of any other key what follows its last `_`. A key without one is its
    /// own unit.
    pub fn unit(&self) -> &str {
        match self {
            Objective::Tflops => "TFLOP/s",
            Objective::Gbps => "GB/s",
            Objective::KernelTime => "µs",
            Objective::Throughput | Objective::Other(_) => {
                let name = self.name();
                name.rsplit_once('_').map_or(name, |(_, unit)| unit)
            }
        }
    }

    /// Which of two values is better, unless lab.toml says otherwise.
    pub fn goal(&self) -> Goal {
        match self {
            Objective::KernelTime => Goal::Minimize,
            _ => Goal::Maximize,
        }
    }
}

impl From<String> for Objective {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.name().to_owned()
    }
}
