//! The tools of `lab check`.

use crate::target::Target;
use itertools::Itertools;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A tool that watches a kernel's memory accesses while it runs: first those of CUDA devices, then
/// those of the cpu device.
///
/// ```
/// use lab_protocol::{Target, Tool};
///
/// assert_eq!("race".parse(), Ok(Tool::Race));
/// assert_eq!(Tool::of(Target::Cpu), [Tool::Address, Tool::Race]);
/// assert!("valgrind".parse::<Tool>().is_err());
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown)]
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
    /// The tools of a device. `auto` must be resolved first; it counts as the cpu device here.
    pub fn of(target: Target) -> &'static [Tool] {
        match target {
            Target::Cuda(_) => &Tool::VARIANTS[..4],
            Target::Cpu | Target::Auto => &Tool::VARIANTS[4..],
        }
    }

    /// The name on the command line and in run.log.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether compute-sanitizer runs it.
    pub fn needs_sanitizer(self) -> bool {
        Tool::of(Target::Cuda(0)).contains(&self)
    }
}

fn unknown(name: &str) -> String {
    format!(
        "unknown tool '{name}': on cuda it is one of {}, on cpu one of {}",
        tool_names(Tool::of(Target::Cuda(0))),
        tool_names(Tool::of(Target::Cpu))
    )
}

/// Returns the names of these tools, as in `memcheck, racecheck`.
pub fn tool_names(tools: &[Tool]) -> String {
    tools.iter().map(|tool| tool.name()).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_parsed_from_its_name() {
        for &tool in Tool::VARIANTS {
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
