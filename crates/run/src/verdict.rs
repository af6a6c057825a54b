//! The verdict on a run, from its report and its ending alone.

mod change;
mod contradictions;
mod figure;
mod outcome;

pub use change::Change;
pub use figure::{Figure, with_ends};

use crate::Ending;
use crate::kernel_blob::KernelBlob;
use lab_project::objective::Objective;
use lab_protocol::report::{AggregateOf, JudgedWorkloads, Measure, Report, Speed, WorkloadSpeeds};
use lab_protocol::{Exit, When};
use lab_text::figures;
pub use outcome::gate_in_words;
use outcome::{not_built, outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of a run.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// Every gate passed.
    Pass,
    /// The result is wrong.
    Fail,
    /// It did not build, or did not run to its end.
    Crash,
    /// No verdict belongs to the bytes: they changed during an external run, or a newer save ended
    /// the run.
    Void,
    /// The run ended without a verdict, and the kernel is not to blame: the problem, its reference,
    /// the harness, the driver or the machine failed. Such a run has no number of its own.
    #[default]
    NotJudged,
}

impl Outcome {
    /// Whether there is a verdict on the bytes: not for a void run, and not where nothing was
    /// judged.
    pub fn is_verdict(self) -> bool {
        matches!(self, Outcome::Pass | Outcome::Fail | Outcome::Crash)
    }

    /// The word for the user. [`Verdict::word`] also tells a failed build from a crash.
    pub fn word(self) -> &'static str {
        self.shown().1
    }

    /// A sign to show beside the word, so that colour alone tells nothing.
    pub fn sign(self) -> &'static str {
        self.shown().0
    }

    /// The sign and the word; a crash whose build failed is a build error.
    pub fn words(self, build_failed: bool) -> (&'static str, &'static str) {
        match build_failed {
            true => (Outcome::Fail.sign(), "BUILD ERROR"),
            false => self.shown(),
        }
    }

    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Outcome::Pass => ("●", "PASS"),
            Outcome::Fail => ("✗", "FAIL"),
            Outcome::Crash => ("☠", "CRASH"),
            Outcome::Void => ("∅", "VOID"),
            Outcome::NotJudged => ("–", "NOT JUDGED"),
        }
    }
}

/// The verdict on a run.
///
/// ```
/// use lab_run::verdict::{Outcome, Verdict};
///
/// let verdict = Verdict::bare(Outcome::Pass, "");
/// assert_eq!(verdict.word(), "PASS");
/// // It measured nothing, so it cannot be kept.
/// assert_eq!(verdict.unmeasured().as_deref(), Some("nothing was measured"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// One sentence: which gate failed, what the crash was, why the run is void. Empty on a pass.
    pub why: String,
    /// The build did not succeed (a crash with diagnostics, as records and the ledger have it).
    pub build_failed: bool,
    /// The objective with its interval; only of a passing run.
    pub objective: Option<Measure>,
    /// The figure that problem.toml chose instead; the objective is then in samples per second, as
    /// in results.tsv. Only of a passing run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Figure>,
    /// Which aggregate of how many workloads the objective is; `None` of a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<AggregateOf>,
    /// The verdicts on the speed of several workloads, if they were timed in turns with the
    /// incumbent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<WorkloadSpeeds>,
    /// How many of the problem's workloads were judged; `None` of a harness that does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedWorkloads>,
    /// Microseconds of one launch; only of a passing run.
    pub kernel_us: Option<f64>,
    /// The change against the incumbent; `None` on an emulated device, and if the incumbent was
    /// never measured.
    pub change: Option<Change>,
    /// The times are of an emulated device and say nothing about a GPU.
    pub emulated: bool,
    /// Why a passing run has no objective. `None` in the records of an older lab, and of a run that
    /// was to measure nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<Unmeasured>,
    /// What makes the figures less than they seem, one sentence each.
    pub caveats: Vec<String>,
}

/// Why a correct run has no objective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unmeasured {
    /// The harness printed no line of this key.
    NoLine { objective: String },
    /// The harness printed something else than a finite number.
    NotANumber { objective: String, value: String },
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmeasured::NoLine { objective } => {
                write!(f, "{UNMEASURED}: the harness printed no {objective} line")
            }
            Unmeasured::NotANumber { objective, value } => {
                write!(f, "{UNMEASURED}: {objective}: '{value}' is no number")
            }
        }
    }
}

/// What a verdict is made from.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub report: &'a Report,
    pub ending: Ending,
    pub external: bool,
    /// The script in Python that is the harness, as lab.toml names it.
    pub script: Option<&'a str>,
    /// Paths of inputs that changed while an external harness ran.
    pub changed: &'a [String],
    pub objective: &'a Objective,
    pub time_limit_s: f64,
    pub output_limit_mib: u64,
    /// The difference in speed that does not matter, as a fraction: 0.005 for 0.5 %.
    pub same_within: f64,
    /// The harness had an incumbent to compare with.
    pub has_incumbent: bool,
    /// The incumbent's kernel, if it is known.
    pub incumbent: Option<KernelBlob>,
    /// The last line that the harness printed: often the reason of a crash.
    pub last_words: &'a str,
}

/// Returns the verdict. The rules stand in the protocol's order; before them comes that no verdict
/// belongs to the bytes.
pub fn judge(facts: &Facts) -> Verdict {
    let (outcome, why) = outcome(facts);
    let report = facts.report;
    let passed = outcome == Outcome::Pass;
    let objective = report.measure(facts.objective.name()).filter(|_| passed);
    let unmeasured = (passed && objective.is_none()).then(|| {
        let objective = facts.objective.to_string();
        match report.value(facts.objective.name()) {
            Some(value) => Unmeasured::NotANumber {
                objective,
                value: value.to_owned(),
            },
            None => Unmeasured::NoLine { objective },
        }
    });
    let change = Change::in_turns(report, facts.objective);
    let change = change.filter(|_| passed && facts.has_incumbent);
    let change = change.map(|change| Change {
        incumbent: facts.incumbent,
        ..change
    });
    let mut caveats = report.caveats().to_vec();
    caveats.extend(unmeasured.iter().map(Unmeasured::to_string));
    Verdict {
        outcome,
        why,
        build_failed: outcome == Outcome::Crash && not_built(facts),
        objective,
        chosen: Figure::chosen(report, facts.objective).filter(|_| passed && !facts.external),
        aggregate: objective.and_then(|_| report.aggregate_of(facts.objective.name())),
        workloads: change.and_then(|_| report.workload_speeds()),
        judged: report.judged_workloads(),
        kernel_us: report
            .measure("kernel_us")
            .filter(|_| passed)
            .map(|m| m.value),
        change,
        emulated: report.emulated(),
        unmeasured,
        caveats,
    }
}

/// What there is to say of a pass without its objective where nothing more is known.
const UNMEASURED: &str = "nothing was measured";

impl Verdict {
    /// The word for the user: in ledger and records a failed build is a crash, but nothing ran.
    pub fn word(&self) -> &'static str {
        self.outcome.words(self.build_failed).1
    }

    /// The sign to show beside the word.
    pub fn sign(&self) -> &'static str {
        self.outcome.words(self.build_failed).0
    }

    /// A verdict with no figure and no caveat.
    pub fn bare(outcome: Outcome, why: impl Into<String>) -> Self {
        Verdict {
            outcome,
            why: why.into(),
            ..Verdict::default()
        }
    }

    /// That the run left workloads to later occasions, in words; `None` if it judged all of them,
    /// or does not say how many there are.
    pub fn left_workloads(&self) -> Option<String> {
        let judged = self.judged.filter(|judged| judged.judged < judged.of)?;
        let later = match judged.when {
            When::Save => "; `lab bench --verdict` and the check before a keep judge more",
            When::Measure => "; the check before a keep judges all",
            When::Keep => "",
        };
        Some(format!("{judged}{later}"))
    }

    /// The figure to show: the one that problem.toml chose, else the objective, which is
    /// `configured` in lab.toml. `None` unless the run passed.
    pub fn figure(&self, configured: &Objective) -> Option<Figure> {
        let own = |measure| Figure {
            objective: configured.clone(),
            measure,
            aggregate: self.aggregate,
        };
        self.chosen.clone().or_else(|| self.objective.map(own))
    }

    /// The slower workloads in words, as in
    /// `2 of 54 workloads are slower, the worst rows=1 by -4.9 % (-6.0 … -3.8)`; `None` if none is.
    pub fn slower_workloads(&self) -> Option<String> {
        let WorkloadSpeeds {
            faster,
            same,
            slower,
            undecided,
            worst,
        } = self.workloads.as_ref()?;
        let all = faster + same + slower + undecided;
        let verb = if *slower == 1 { "is" } else { "are" };
        let worst = worst.as_ref()?;
        let Measure { value, low, high } = worst.ratio;
        let [by, low, high] = figures::percents(
            [value, low.unwrap_or(value), high.unwrap_or(value)].map(|r| r - 1.0),
        );
        let ends = if worst.ratio.low.is_some() {
            format!(" ({low} … {high})")
        } else {
            String::new()
        };
        Some(format!(
            "{slower} of {all} workloads {verb} slower, the worst {} by {by} %{ends}",
            worst.name
        ))
    }

    /// The slower workloads in words, if the comparison with the incumbent came out *mixed*.
    pub fn mixed(&self) -> Option<String> {
        self.change
            .filter(|change| change.speed == Some(Speed::Mixed))?;
        Some(
            self.slower_workloads()
                .unwrap_or_else(|| "some workloads are slower".to_owned()),
        )
    }

    /// Why a passing run has no objective, in words; `None` if it has one. Such a run is correct,
    /// but no experiment.
    pub fn unmeasured(&self) -> Option<String> {
        let lacks = self.outcome == Outcome::Pass && self.objective.is_none();
        let words = self.unmeasured.as_ref().map(Unmeasured::to_string);
        lacks.then(|| words.unwrap_or_else(|| UNMEASURED.to_owned()))
    }

    /// For a run that was to measure nothing: that there is no objective is no caveat.
    pub fn forgive_unmeasured(&mut self) {
        if let Some(unmeasured) = self.unmeasured.take() {
            let text = unmeasured.to_string();
            self.caveats.retain(|caveat| *caveat != text);
        }
    }

    /// How `lab run` exits.
    pub fn exit(&self) -> Exit {
        match self.outcome {
            Outcome::Pass if self.objective.is_none() => Exit::Crashed,
            Outcome::Pass => Exit::Passed,
            Outcome::Fail => Exit::Wrong,
            Outcome::Crash if self.build_failed => Exit::NotBuilt,
            Outcome::Crash | Outcome::Void => Exit::Crashed,
            Outcome::NotJudged => Exit::NOT_JUDGED,
        }
    }
}

#[cfg(test)]
mod tests;
