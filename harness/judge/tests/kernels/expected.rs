//! A verdict that a file names, and whether a run ended with it.

use crate::support::Judged;
use lab_protocol::Exit;

/// A verdict, and its cause.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Pass,
    /// These gates fail. With `alone`, no other gate fails.
    Fail {
        gates: Vec<String>,
        alone: bool,
    },
    /// Any gate fails.
    Fails,
    /// Any gate fails, or a caveat contains these words.
    FailsOrCaveat(String),
    /// `stopped:` contains these words.
    Crash(String),
    /// The kernel does not build, and run.log contains these words.
    NoBuild(String),
}

impl Expected {
    /// Reads what follows `judged: `.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(words) = text.strip_prefix("crash") {
            return Ok(Expected::Crash(
                words.trim_start_matches(':').trim().to_owned(),
            ));
        }
        if let Some(words) = text.strip_prefix("no build") {
            return Ok(Expected::NoBuild(
                words.trim_start_matches(':').trim().to_owned(),
            ));
        }
        if let Some(words) = text.strip_prefix("fail or caveat") {
            return Ok(Expected::FailsOrCaveat(words.trim().to_owned()));
        }
        match text.strip_prefix("fail by ") {
            Some(gates) => {
                let (gates, alone) = gates
                    .strip_suffix(" alone")
                    .map_or((gates, false), |g| (g, true));
                Ok(Expected::Fail {
                    gates: gates.split(", ").map(str::to_owned).collect(),
                    alone,
                })
            }
            None if text == "pass" => Ok(Expected::Pass),
            None if text == "fail" => Ok(Expected::Fails),
            None => Err(format!(
                "'{text}' is no verdict: pass, fail by GATE, crash: WORDS, no build: WORDS"
            )),
        }
    }

    /// The difference between the result and this verdict; `None` if there is none.
    pub fn differs(&self, judged: &Judged) -> Option<String> {
        let failing: Vec<String> = judged
            .report
            .gates()
            .into_iter()
            .filter(|g| !g.passes())
            .map(|g| g.name)
            .collect();
        let exit = match self {
            Expected::Pass => Exit::Passed,
            Expected::Fail { .. } | Expected::Fails => Exit::Wrong,
            Expected::FailsOrCaveat(words) => {
                let mut caveats = judged.report.caveats().iter();
                match judged.exit {
                    Exit::Passed if caveats.any(|caveat| caveat.contains(words)) => Exit::Passed,
                    _ => Exit::Wrong,
                }
            }
            Expected::Crash(_) => Exit::Crashed,
            Expected::NoBuild(_) => Exit::NotBuilt,
        };
        if judged.exit != exit {
            return Some(format!("ended as {:?}, not as {exit:?}", judged.exit));
        }
        match self {
            Expected::Fail { gates, .. } if !gates.iter().all(|g| failing.contains(g)) => {
                Some(format!("failed by {failing:?}, not by {gates:?}"))
            }
            Expected::Fail { gates, alone: true } if failing.len() != gates.len() => {
                Some(format!("failed by {failing:?}, not by {gates:?} alone"))
            }
            Expected::Crash(words)
                if !judged.report.value("stopped").unwrap_or("").contains(words) =>
            {
                Some(format!("stopped for another reason than '{words}'"))
            }
            Expected::NoBuild(words) if !judged.log.contains(words.as_str()) => {
                Some(format!("does not build for another reason than '{words}'"))
            }
            _ => None,
        }
    }
}
