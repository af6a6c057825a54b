//! The verdict on a run, from its report and its ending alone.

mod change;

pub use change::Change;

use crate::objective::Objective;
use crate::run::Ending;
use crate::text::{figures, signal};
use lab_protocol::Exit;
use lab_protocol::report::{Measure, Report, Severity, Stage};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every gate passed.
    Pass,
    /// The result is wrong.
    Fail,
    /// It did not build, or did not run to its end.
    Crash,
    /// No verdict belongs to the bytes: they changed during an external run, or a newer save ended the run.
    Void,
    /// The run ended without a verdict, and the kernel is not to blame: the problem, its reference, the harness, the driver
    /// or the machine failed. Such a run has no number of its own.
    #[serde(rename = "not_judged")]
    NotJudged,
}

impl Outcome {
    /// Whether there is a verdict on the bytes: not for a void run, and not where nothing was judged.
    pub fn is_verdict(self) -> bool {
        matches!(self, Outcome::Pass | Outcome::Fail | Outcome::Crash)
    }

    /// The word for the user. [`Verdict::word`] also tells a failed build from a crash.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Fail => "FAIL",
            Outcome::Crash => "CRASH",
            Outcome::Void => "VOID",
            Outcome::NotJudged => "NOT JUDGED",
        }
    }

    /// A sign to show beside the word, so that colour alone tells nothing.
    pub fn sign(self) -> &'static str {
        match self {
            Outcome::Pass => "●",
            Outcome::Fail => "✗",
            Outcome::Crash => "☠",
            Outcome::Void => "∅",
            Outcome::NotJudged => "–",
        }
    }
}

/// The verdict on a run.
///
/// ```
/// use lab_core::run::verdict::{Outcome, Verdict};
///
/// let verdict = Verdict::bare(Outcome::Pass, "");
/// assert_eq!(verdict.word(), "PASS");
/// // It measured nothing, so it cannot be kept.
/// assert_eq!(verdict.unmeasured().as_deref(), Some("nothing was measured"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// One sentence: which gate failed, what the crash was, why the run is void. Empty on a pass.
    pub why: String,
    /// The build did not succeed (a crash with diagnostics, as records and the ledger have it).
    pub build_failed: bool,
    /// The objective with its interval; only of a passing run.
    pub objective: Option<Measure>,
    /// Microseconds of one launch; only of a passing run.
    pub kernel_us: Option<f64>,
    /// The change against the incumbent; `None` on an emulated device, and if the incumbent was never measured.
    pub change: Option<Change>,
    /// The times are of an emulated device and say nothing about a GPU.
    pub emulated: bool,
    /// Why a passing run has no objective. `None` in the records of an older lab, and of a run that was to measure
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Paths of inputs that changed while an external harness ran.
    pub changed: &'a [String],
    pub objective: &'a Objective,
    pub time_limit_s: f64,
    pub output_limit_mib: u64,
    /// The last line that the harness printed: often the reason of a crash.
    pub last_words: &'a str,
}

/// Returns the verdict. The rules stand in the protocol's order; before them comes that no verdict belongs to the bytes.
pub fn judge(facts: &Facts) -> Verdict {
    let (outcome, why) = outcome(facts);
    let report = facts.report;
    let passed = outcome == Outcome::Pass;
    let number = |measure: &Measure| measure.value.is_finite();
    let objective = report.measure(facts.objective.name()).filter(|m| passed && number(m));
    let unmeasured = (passed && objective.is_none()).then(|| {
        let objective = facts.objective.to_string();
        match report.value(facts.objective.name()) {
            Some(value) => Unmeasured::NotANumber { objective, value: value.to_owned() },
            None => Unmeasured::NoLine { objective },
        }
    });
    let mut caveats = report.caveats().to_vec();
    caveats.extend(unmeasured.iter().map(Unmeasured::to_string));
    Verdict {
        outcome,
        why,
        build_failed: outcome == Outcome::Crash && not_built(facts),
        objective,
        kernel_us: report.measure("kernel_us").filter(|m| passed && number(m)).map(|m| m.value),
        change: Change::in_turns(report, facts.objective).filter(|_| passed),
        emulated: report.emulated(),
        unmeasured,
        caveats,
    }
}

/// Whether the harness says that the kernel does not build. One of the user's own says so by `build: failed` or by its exit
/// code, and a verdict that it printed goes before both.
fn not_built(facts: &Facts) -> bool {
    let by_code = facts.ending == Ending::Exited(Exit::NotBuilt as i32);
    if !facts.external {
        return by_code;
    }
    let by_line = facts.report.build_failed() && matches!(facts.ending, Ending::Exited(_));
    facts.report.correctness().is_none() && (by_code || by_line)
}

/// Why nothing was judged, if the kernel is not to blame for that. What a harness of the user's own said about the kernel
/// goes before.
fn not_judged(facts: &Facts) -> Option<String> {
    let report = facts.report;
    let at_fault = report.fault().is_some();
    let code = match facts.ending {
        // The lab's own line in the log says what failed and why.
        Ending::NotStarted => return Some(own_words(facts)),
        // The built-in harness limits builds and launches itself. What took too long is the reference.
        Ending::TimedOut if !facts.external && report.stage() == Some(Stage::Reference) => {
            return Some("the reference did not end in time".to_owned());
        }
        Ending::Exited(code) => code,
        _ => return None,
    };
    if report.correctness().is_some() {
        return None;
    }
    if let Some(reason) = report.value("stopped").filter(|_| at_fault) {
        return Some(reason.to_owned());
    }
    match code {
        _ if code == Exit::NOT_JUDGED as i32 || at_fault => {
            Some(or_last_words(&format!("the harness judged nothing (exit code {code})"), facts))
        }
        127 if facts.external => {
            Some(or_last_words("the harness command was not found (exit code 127)", facts))
        }
        126 if facts.external => {
            Some(or_last_words("the harness command cannot be run (exit code 126)", facts))
        }
        _ => None,
    }
}

/// The line that the lab itself wrote into the log.
fn own_words(facts: &Facts) -> String {
    facts.last_words.strip_prefix("lab: ").unwrap_or(facts.last_words).to_owned()
}

fn outcome(facts: &Facts) -> (Outcome, String) {
    let report = facts.report;
    if facts.ending == Ending::Superseded {
        return (Outcome::Void, "it was ended before it was done".into());
    }
    if !facts.changed.is_empty() {
        let names = facts.changed.join(", ");
        return (
            Outcome::Void,
            format!("{names} changed while the harness ran: no verdict belongs to these bytes"),
        );
    }
    let crash = |why: String| (Outcome::Crash, why);
    if let Some(why) = not_judged(facts).filter(|_| !not_built(facts)) {
        return (Outcome::NotJudged, why);
    }
    match facts.ending {
        Ending::TimedOut => {
            return crash(format!("it ran longer than time_limit_s = {}", facts.time_limit_s));
        }
        Ending::Flooded => {
            return crash(format!(
                "too much output: more than output_limit_mib = {}",
                facts.output_limit_mib
            ));
        }
        Ending::Signalled(signal) => {
            return crash(format!("the harness was ended by {}", signal::name(signal)));
        }
        // The lab's own line in the log says what failed and why.
        Ending::NotStarted | Ending::Unknown => return crash(own_words(facts)),
        Ending::Exited(_) | Ending::Superseded => {}
    }
    if not_built(facts) {
        return crash(first_error(report).unwrap_or_else(|| or_last_words("it does not build", facts)));
    }
    let code = match facts.ending {
        Ending::Exited(code) => code,
        _ => 0,
    };
    match (report.correctness(), report.failing_gate()) {
        (None, _) => crash(or_last_words(&format!("no correctness: line (exit code {code})"), facts)),
        (Some(_), Some(gate)) => {
            let (value, limit) = figures::pair(gate.value, gate.limit);
            (Outcome::Fail, format!("{} is {value}, its limit {limit}", gate.name))
        }
        (Some(false), None) => (Outcome::Fail, or_last_words("correctness: fail", facts)),
        (Some(true), None) if code != 0 => crash(format!("correctness: pass, but exit code {code}")),
        (Some(true), None) => (Outcome::Pass, String::new()),
    }
}

fn first_error(report: &Report) -> Option<String> {
    let error = report.diagnostics().iter().find(|d| d.severity == Severity::Error)?;
    Some(format!("{}:{}: {}", error.file, error.line, error.message))
}

/// Characters of a harness's own reason that a verdict shows at most.
const REASON_LIMIT: usize = 300;

/// The reason with a detail: the judge's own reason, else the first error of a compiler, else the last line of output.
fn or_last_words(what: &str, facts: &Facts) -> String {
    if let Some(reason) = facts.report.value("stopped").filter(|_| !facts.external) {
        return reason.to_owned();
    }
    let first = first_error(facts.report);
    let detail = first.as_deref().unwrap_or(facts.last_words);
    let cut = detail.char_indices().nth(REASON_LIMIT).map(|(at, _)| &detail[..at]);
    match cut {
        None if detail.is_empty() => what.to_owned(),
        None => format!("{what}: {detail}"),
        Some(start) => format!("{what}: {start}… (the whole line is in run.log)"),
    }
}

/// What there is to say of a pass without its objective where nothing more is known.
const UNMEASURED: &str = "nothing was measured";

impl Verdict {
    /// The word for the user: in ledger and records a failed build is a crash, but nothing ran.
    pub fn word(&self) -> &'static str {
        if self.build_failed { "BUILD ERROR" } else { self.outcome.word() }
    }

    /// The sign to show beside the word.
    pub fn sign(&self) -> &'static str {
        if self.build_failed { Outcome::Fail.sign() } else { self.outcome.sign() }
    }

    /// A verdict with no figure and no caveat.
    pub fn bare(outcome: Outcome, why: impl Into<String>) -> Self {
        Verdict {
            outcome,
            why: why.into(),
            build_failed: false,
            objective: None,
            kernel_us: None,
            change: None,
            emulated: false,
            unmeasured: None,
            caveats: Vec::new(),
        }
    }

    /// Why a passing run has no objective, in words; `None` if it has one. Such a run is correct, but no experiment.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(log: &str, ending: Ending, external: bool) -> Verdict {
        let report = Report::read(log);
        judge(&Facts {
            report: &report,
            ending,
            external,
            changed: &[],
            objective: &Objective::Throughput,
            time_limit_s: 60.0,
            output_limit_mib: 64,
            last_words: log
                .lines()
                .rfind(|l| !l.contains("limit=") && !l.contains("correctness"))
                .unwrap_or(""),
        })
    }

    /// `log; ending` to `OUTCOME why`.
    #[track_caller]
    fn check(log: &str, ending: Ending, wanted: &str) {
        let verdict = judged(&log.replace("; ", "\n"), ending, true);
        assert_eq!(format!("{} {}", verdict.outcome.word(), verdict.why).trim_end(), wanted);
    }

    #[test]
    fn the_rules_in_their_order() {
        let ok = Ending::Exited(0);
        check("correctness: pass", ok, "PASS");
        check("correctness: pass; a: 2 limit=1", ok, "FAIL a is 2, its limit 1");
        check("correctness: pass; a: nan limit=1", ok, "FAIL a is NaN, its limit 1");
        check("correctness: fail", ok, "FAIL correctness: fail");
        check(
            "correctness: fail; h0 is off at 3",
            Ending::Exited(1),
            "FAIL correctness: fail: h0 is off at 3",
        );
        check("correctness: pass", Ending::Exited(3), "CRASH correctness: pass, but exit code 3");
        check("correctness: pass; a: 2 limit=1", Ending::Exited(3), "FAIL a is 2, its limit 1");
        check("a: 2 limit=1", ok, "CRASH no correctness: line (exit code 0)");
        check(
            "Traceback; ValueError('x')",
            Ending::Exited(1),
            "CRASH no correctness: line (exit code 1): ValueError('x')",
        );
        check(
            "sh: 1: uvv: not found",
            Ending::Exited(127),
            "NOT JUDGED the harness command was not found (exit code 127): sh: 1: uvv: not found",
        );
        check("correctness: fail", Ending::Exited(127), "FAIL correctness: fail");
        check(
            "sh: 1: ./h: Permission denied",
            Ending::Exited(126),
            "NOT JUDGED the harness command cannot be run (exit code 126): sh: 1: ./h: Permission denied",
        );
        check("no GPU", Ending::Exited(64), "NOT JUDGED the harness judged nothing (exit code 64): no GPU");
        check("fault: lab; stopped: no GPU", Ending::Exited(1), "NOT JUDGED no GPU");
        check("correctness: fail", Ending::Exited(64), "FAIL correctness: fail");
        check("fault: lab", Ending::TimedOut, "CRASH it ran longer than time_limit_s = 60");
        check("stage: reference", Ending::TimedOut, "CRASH it ran longer than time_limit_s = 60");
        check("lab: the disk is full", Ending::NotStarted, "NOT JUDGED the disk is full");
        check(
            "correctness: pass",
            Ending::Signalled(11),
            "CRASH the harness was ended by signal 11 (segmentation fault)",
        );
        check("correctness: fail", Ending::TimedOut, "CRASH it ran longer than time_limit_s = 60");
        check("correctness: pass", Ending::Flooded, "CRASH too much output: more than output_limit_mib = 64");
        check("correctness: pass", Ending::Superseded, "VOID it was ended before it was done");
    }

    #[test]
    fn what_does_not_build_is_a_build_error() {
        let log = "kernel.cu:3:1: error: 'x' was not declared\n";
        let built_in = judged(log, Ending::Exited(2), false);
        assert!(built_in.build_failed);
        assert_eq!(
            (built_in.outcome, built_in.sign(), built_in.word()),
            (Outcome::Crash, "✗", "BUILD ERROR")
        );
        assert_eq!(built_in.why, "kernel.cu:3: 'x' was not declared");
        assert_eq!(built_in.exit(), Exit::NotBuilt);
        let own = |more: &str, ending| judged(&format!("{log}{more}"), ending, true);
        for (more, code) in [("", 2), ("build: failed\n", 0), ("build: failed\n", 1), ("build: failed\n", 64)]
        {
            let own = own(more, Ending::Exited(code));
            assert_eq!((own.word(), own.exit()), ("BUILD ERROR", Exit::NotBuilt), "{more} {code}");
            assert_eq!(own.why, "kernel.cu:3: 'x' was not declared");
        }
        assert_eq!(own("correctness: fail", Ending::Exited(2)).word(), "FAIL");
        assert_eq!(own("build: failed\n", Ending::TimedOut).word(), "CRASH");
        assert_eq!(own("build: failed\n", Ending::Signalled(11)).word(), "CRASH");
        assert_eq!(own("build: failed\nbuild: 0.4\ncorrectness: pass", Ending::Exited(0)).word(), "PASS");
        assert_eq!(judged("", Ending::Exited(2), true).why, "it does not build");
        let stopped = judged("stopped: kernel.cu has no entry\n", Ending::Exited(3), false);
        assert_eq!(stopped.why, "kernel.cu has no entry");
    }

    #[test]
    fn a_fault_of_the_problem_or_the_machine_is_not_judged() {
        let log = "stage: reference\nfault: problem\nstopped: reference.cu: it hangs\n";
        let verdict = judged(log, Ending::Exited(64), false);
        assert_eq!((verdict.outcome, verdict.word()), (Outcome::NotJudged, "NOT JUDGED"));
        assert_eq!((verdict.why.as_str(), verdict.exit()), ("reference.cu: it hangs", Exit::NOT_JUDGED));
        let late = judged("stage: reference\n", Ending::TimedOut, false);
        assert_eq!(late.outcome, Outcome::NotJudged);
        assert_eq!(judged("stage: verify\n", Ending::TimedOut, false).outcome, Outcome::Crash);
        let written = serde_json::to_string(&late.outcome).expect("written");
        assert_eq!(written, "\"not_judged\"");
    }

    #[test]
    fn a_measure_is_of_a_passing_run_and_a_number() {
        let fast = "throughput_sps: 10 low=9 high=11\nkernel_us: 5\n";
        assert!(judged(&format!("{fast}correctness: pass"), Ending::Exited(0), true).objective.is_some());
        let wrong = judged(&format!("{fast}correctness: fail"), Ending::Exited(0), true);
        assert_eq!((wrong.objective, wrong.kernel_us), (None, None));
        let nan = judged("throughput_sps: nan\ncorrectness: pass", Ending::Exited(0), true);
        assert_eq!((nan.outcome, nan.objective), (Outcome::Pass, None));
        assert_eq!(nan.caveats, ["nothing was measured: throughput_sps: 'nan' is no number"]);
        assert_eq!((nan.exit(), nan.unmeasured()), (Exit::Crashed, nan.caveats.first().cloned()));
    }

    #[test]
    fn a_caveat_of_the_harness_is_not_taken_for_the_reason_why_nothing_was_measured() {
        let own = "nothing was measured on the second GPU";
        let mut verdict = judged(&format!("caveat: {own}\ncorrectness: pass"), Ending::Exited(0), true);
        let reason = "nothing was measured: the harness printed no throughput_sps line";
        assert_eq!(verdict.unmeasured().as_deref(), Some(reason));
        assert_eq!(verdict.caveats, [own, reason]);
        verdict.forgive_unmeasured();
        assert_eq!(verdict.caveats, [own]);
        let measured =
            judged(&format!("caveat: {own}\nthroughput_sps: 10\ncorrectness: pass"), Ending::Exited(0), true);
        assert_eq!((measured.unmeasured(), measured.unmeasured.is_none()), (None, true));
    }

    #[test]
    fn a_verdict_of_an_older_lab_that_measured_nothing_is_read() {
        let text = r#"{"outcome":"pass","why":"","build_failed":false,"objective":null,"kernel_us":null,"change":null,
            "emulated":false,"caveats":["nothing was measured: the harness printed no throughput_sps line"]}"#;
        let old: Verdict = serde_json::from_str(text).expect("an older verdict");
        assert_eq!(old.unmeasured().as_deref(), Some("nothing was measured"));
        let new = judged("correctness: pass", Ending::Exited(0), true);
        let written = serde_json::to_string(&new).expect("written");
        assert_eq!(serde_json::from_str::<Verdict>(&written).expect("read"), new);
    }

    #[test]
    fn a_comparison_in_turns_is_told_with_its_word_and_its_ends() {
        let log = "throughput_sps: 10\nspeed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3\nspeed: faster\n";
        let passed = judged(&format!("{log}correctness: pass"), Ending::Exited(0), false);
        assert_eq!(passed.change.expect("a change").to_string(), "faster +2.1 % (+1.9 … +2.4)");
        let failed = judged(&format!("{log}correctness: fail"), Ending::Exited(1), false);
        assert_eq!(failed.change, None);
        let taken_back = format!("{log}speed_ratio: nan\nspeed: none\ncorrectness: pass");
        assert_eq!(judged(&taken_back, Ending::Exited(0), false).change, None);
    }

    fn ending() -> impl Strategy<Value = Ending> {
        prop_oneof![
            (0..130i32).prop_map(Ending::Exited),
            (1..30i32).prop_map(Ending::Signalled),
            Just(Ending::TimedOut),
            Just(Ending::Flooded),
            Just(Ending::Superseded),
            Just(Ending::NotStarted),
        ]
    }

    proptest! {
        /// Whatever a harness prints, only one that says pass, breaks no limit and exits with zero passes.
        #[test]
        fn nothing_else_passes(lines in proptest::collection::vec("(correctness: (pass|fail|maybe))|([a-c]: (1|2|nan) limit=1)|.{0,20}", 0..8), ending in ending()) {
            let log = lines.join("\n");
            let report = Report::read(&log);
            let verdict = judged(&log, ending, true);
            let deserved = ending == Ending::Exited(0)
                && report.correctness() == Some(true)
                && report.gates().iter().all(|g| g.value <= g.limit);
            prop_assert_eq!(verdict.outcome == Outcome::Pass, deserved);
            prop_assert_eq!(verdict.outcome == Outcome::Void, ending == Ending::Superseded);
            prop_assert!(verdict.outcome == Outcome::Pass || verdict.objective.is_none());
        }
    }
}
