//! The tools of `lab check`.

use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A tool that watches a kernel's memory accesses while it runs.
///
/// ```
/// use lab_protocol::{Target, Tool};
///
/// assert_eq!("race".parse(), Ok(Tool::Race));
/// assert_eq!(Tool::of(Target::Cpu), [Tool::Address, Tool::Race]);
/// assert!("valgrind".parse::<Tool>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Invalid accesses to global memory, by compute-sanitizer.
    Memcheck,
    /// Data races in shared memory, by compute-sanitizer.
    Racecheck,
    /// Reads of global memory that was never written, by compute-sanitizer.
    Initcheck,
    /// Wrong use of barriers, by compute-sanitizer.
    Synccheck,
    /// Invalid accesses on the cpu device, by the compiler's AddressSanitizer.
    Address,
    /// Data races on the cpu device, by the lab's own detector.
    Race,
}

impl Tool {
    /// Every tool: first those of CUDA devices, then those of the cpu device.
    pub const ALL: [Tool; 6] = [
        Tool::Memcheck,
        Tool::Racecheck,
        Tool::Initcheck,
        Tool::Synccheck,
        Tool::Address,
        Tool::Race,
    ];

    /// The tools of a device. `auto` must be resolved first; it counts as the cpu device here.
    pub fn of(target: Target) -> &'static [Tool] {
        match target {
            Target::Cuda(_) => &Tool::ALL[..4],
            Target::Cpu | Target::Auto => &Tool::ALL[4..],
        }
    }

    /// The name on the command line and in run.log.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
            Tool::Address => "address",
            Tool::Race => "race",
        }
    }

    /// Whether compute-sanitizer runs it.
    pub fn needs_sanitizer(self) -> bool {
        Tool::of(Target::Cuda(0)).contains(&self)
    }
}

impl std::str::FromStr for Tool {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Tool::ALL
            .into_iter()
            .find(|tool| tool.name() == text)
            .ok_or_else(|| {
                format!(
                    "unknown tool '{text}': on cuda it is one of {}, on cpu one of {}",
                    tool_names(&Tool::ALL[..4]),
                    tool_names(&Tool::ALL[4..])
                )
            })
    }
}

/// Returns the names of these tools, as in `memcheck, racecheck`.
pub fn tool_names(tools: &[Tool]) -> String {
    tools
        .iter()
        .map(|tool| tool.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_parsed_from_its_name() {
        for tool in Tool::ALL {
            assert_eq!(tool.name().parse(), Ok(tool));
            assert_eq!(
                tool.needs_sanitizer(),
                !Tool::of(Target::Cpu).contains(&tool)
            );
        }
        let error = "memchek".parse::<Tool>().err();
        assert!(error.is_some_and(|e| {
            e.contains("one of memcheck, racecheck, initcheck, synccheck, on cpu")
        }));
    }
}
