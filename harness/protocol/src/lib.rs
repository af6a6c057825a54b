pub mod report;
mod target;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub use target::Target;

/// How `lab run` and `lab harness` exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Passed and measured.
    Passed = 0,
    /// Ran; correctness failed.
    Wrong = 1,
    /// Could not build.
    NotBuilt = 2,
    /// Crashed, hung or killed.
    Crashed = 3,
    /// Wrong usage.
    Usage = 64,
}

/// What watches a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// compute-sanitizer's four.
    Memcheck,
    Racecheck,
    Initcheck,
    Synccheck,
    /// On the cpu device: the compiler's AddressSanitizer, and the lab's own race detector.
    Address,
    Race,
}

impl Tool {
    const ALL: [Tool; 6] =
        [Tool::Memcheck, Tool::Racecheck, Tool::Initcheck, Tool::Synccheck, Tool::Address, Tool::Race];

    /// Those of a resolved target.
    pub fn of(target: Target) -> &'static [Tool] {
        match target {
            Target::Cuda(_) => &Tool::ALL[..4],
            _ => &Tool::ALL[4..],
        }
    }

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

    pub fn needs_sanitizer(self) -> bool {
        Tool::of(Target::Cuda(0)).contains(&self)
    }
}

impl std::str::FromStr for Tool {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Tool::ALL.into_iter().find(|tool| tool.name() == text).ok_or_else(|| {
            format!(
                "unknown tool '{text}': on cuda it is one of {}, on cpu one of {}",
                tool_names(&Tool::ALL[..4]),
                tool_names(&Tool::ALL[4..])
            )
        })
    }
}

/// `memcheck, racecheck`.
pub fn tool_names(tools: &[Tool]) -> String {
    tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ")
}
