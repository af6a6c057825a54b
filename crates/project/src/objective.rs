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
///
/// let own = |name| Objective::from(name);
/// assert_eq!((own("p99_us").title(), own("p99_us").unit()), ("p99", "µs"));
/// assert_eq!(own("prefill_tokens_per_s").unit(), "tokens_per_s");
/// assert_eq!((own("latency").title(), own("latency").unit()), ("Measure", "latency"));
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

    /// What it measures, for a heading with the unit behind it; of a key that the lab does not know
    /// what stands before the unit.
    pub fn title(&self) -> &str {
        match self {
            Objective::KernelTime => "Kernel time",
            Objective::Throughput | Objective::Tflops | Objective::Gbps => "Throughput",
            Objective::Other(name) => parts(name).0.unwrap_or("Measure"),
        }
    }

    /// The heading of a column or of a row: the unit, which does not tell a key that the lab does not
    /// know.
    pub fn heading(&self) -> &str {
        match self {
            Objective::Other(name) => name,
            known => known.unit(),
        }
    }

    /// `µs`, `TFLOP/s` and `GB/s`; of any other key what follows its last `_`, or `tokens_per_s` and the
    /// like. A key without one is its own unit.
    pub fn unit(&self) -> &str {
        match self {
            Objective::Tflops => "TFLOP/s",
            Objective::Gbps => "GB/s",
            Objective::KernelTime => "µs",
            Objective::Throughput => "sps",
            Objective::Other(name) => match parts(name).1 {
                "us" => "µs",
                unit => unit,
            },
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

/// What a key measures, if it tells that before the unit, and the unit.
fn parts(key: &str) -> (Option<&str>, &str) {
    let Some((mut before, mut unit)) = key.rsplit_once('_') else {
        return (None, key);
    };
    if let Some(counted) = before.strip_suffix("_per") {
        let at = counted.rfind('_').map_or(0, |at| at + 1);
        (before, unit) = (&key[..at.saturating_sub(1)], &key[at..]);
    }
    (Some(before).filter(|before| !before.is_empty()), unit)
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
