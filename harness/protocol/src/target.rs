//! The device that a run asks for.

use serde::{Deserialize, Serialize};

/// The device that a run asks for, written as `auto`, `cpu`, `cuda` or `cuda:1`.
///
/// ```
/// use lab_protocol::Target;
///
/// assert_eq!("cuda:1".parse(), Ok(Target::Cuda(1)));
/// assert_eq!(Target::Cuda(0).to_string(), "cuda");
/// assert!("gpu".parse::<Target>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// The first CUDA device if there is a driver and a device, else the cpu device.
    #[default]
    Auto,
    /// The emulated device.
    Cpu,
    /// The CUDA device with this ordinal.
    Cuda(u32),
}

impl std::str::FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let ordinal = |n: &str| n.parse().map(Target::Cuda).map_err(|_| ());
        match text {
            "auto" => Ok(Target::Auto),
            "cpu" => Ok(Target::Cpu),
            "cuda" => Ok(Target::Cuda(0)),
            other => other.strip_prefix("cuda:").ok_or(()).and_then(ordinal).map_err(|()| {
                format!("unknown device '{text}': it is one of auto, cpu, cuda, cuda:1 (any ordinal)")
            }),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Auto => write!(f, "auto"),
            Target::Cpu => write!(f, "cpu"),
            Target::Cuda(0) => write!(f, "cuda"),
            Target::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_parsed_from_what_it_displays() {
        for target in [Target::Auto, Target::Cpu, Target::Cuda(0), Target::Cuda(3)] {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cpu:0"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
