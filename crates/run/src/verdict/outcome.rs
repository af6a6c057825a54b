//! The outcome of a run, from what its harness printed and how the run ended.

use super::{Ending, Facts, Outcome, contradictions};
use lab_protocol::report::{Gate, Report, Severity, Stage, first_word, gate_is_share};
use lab_protocol::{Exit, FatalSignal, is_from_outside};
use lab_text::{figures, signal};

/// Whether the harness says that the kernel does not build. One of the user's own says so by
/// `build: failed` or by its exit code, and a verdict that it printed goes before both.
pub fn not_built(facts: &Facts) -> bool {
    let by_code = facts.ending == Ending::Exited(Exit::NotBuilt as i32);
    if !facts.external {
        return by_code;
    }
    let by_line = facts.report.build_failed() && matches!(facts.ending, Ending::Exited(_));
    facts.report.correctness().is_none() && (by_line || by_code && !had_no_process(facts))
}

/// How a shell and other programs say that Linux started no further process for them. A shell that
/// cannot fork exits with 2 or 254.
const NO_PROCESS: [&str; 2] = ["Cannot fork", "Resource temporarily unavailable"];

/// Whether a harness of the user's own ended because Linux started no further process for it.
fn had_no_process(facts: &Facts) -> bool {
    facts.external
        && NO_PROCESS
            .iter()
            .any(|words| facts.last_words.contains(words))
}

/// Why nothing was judged, if the kernel is not to blame for that. What a harness of the user's own
/// said about the kernel goes before.
fn not_judged(facts: &Facts) -> Option<String> {
    let report = facts.report;
    let at_fault = report.fault().is_some();
    let code = match facts.ending {
        // The lab's own line in the log says what failed and why.
        Ending::NotStarted => return Some(own_words(facts)),
        // The built-in harness limits builds and launches itself. What took too long is the
        // reference.
        Ending::TimedOut if !facts.external && report.stage() == Some(Stage::Reference) => {
            return Some("the reference did not end in time".to_owned());
        }
        Ending::Signalled(_) if says_wrong(report) => return None,
        Ending::Signalled(number)
            if let Some(signal) = FatalSignal::of(number).filter(|it| it.is_from_outside()) =>
        {
            let (ended, cause) = (by_signal(facts, number), signal.cause);
            return Some(format!("{ended}: {cause}; judge again"));
        }
        // Its kernel runs in a process of its own.
        Ending::Signalled(number) if !facts.external => return Some(by_signal(facts, number)),
        Ending::Exited(code) => code,
        _ => return None,
    };
    if report.correctness().is_some() {
        return None;
    }
    let stopped = report.value("stopped");
    if let Some(reason) = stopped.filter(|_| at_fault) {
        return Some(reason.to_owned());
    }
    let worker = stopped.filter(|why| !facts.external && is_from_outside(why));
    if let Some(reason) = worker.filter(|_| !says_wrong(report)) {
        return Some(format!("{reason}; judge again"));
    }
    let what = match code {
        _ if code == Exit::NOT_JUDGED as i32 || at_fault => "the harness judged nothing",
        // A panic, or a program that is not the judge: the built-in harness has no such code.
        _ if !facts.external
            && !says_wrong(report)
            && !(0..=Exit::Crashed as i32).contains(&code) =>
        {
            "the judge failed"
        }
        1.. if had_no_process(facts) => {
            "Linux started no further process for the harness: end other programs, or raise the limit (`ulimit -u`)"
        }
        // How Python ends after an exception. Nothing was said about the kernel, so the script
        // itself failed.
        1 if let Some(script) = facts.script.filter(|_| !says_anything(report)) => {
            &format!("{script} failed before its first result line")
        }
        // The lab's own line in the log says why it could not start a shell.
        127 if facts.external && !facts.last_words.starts_with("lab: ") => {
            "the harness command was not found"
        }
        126 | 127 if facts.external => "the harness command cannot be run",
        _ => return None,
    };
    Some(or_last_words(&format!("{what} (exit code {code})"), facts))
}

fn by_signal(facts: &Facts, number: i32) -> String {
    let who = if facts.external { "harness" } else { "judge" };
    format!("the {who} was ended by {}", signal::name(number))
}

/// Whether the harness has said that the kernel is wrong.
fn says_wrong(report: &Report) -> bool {
    report.correctness() == Some(false) || report.failing_gate().is_some()
}

/// Whether the harness printed a result line, or an error of a compiler.
fn says_anything(report: &Report) -> bool {
    let has_error = report
        .diagnostics()
        .iter()
        .any(|found| found.severity == Severity::Error);
    has_error || report.entries().next().is_some() || !report.workloads().is_empty()
}

/// The line that the lab itself wrote into the log.
fn own_words(facts: &Facts) -> String {
    facts
        .last_words
        .strip_prefix("lab: ")
        .unwrap_or(facts.last_words)
        .to_owned()
}

/// Returns the outcome of a run and its reason. The rules have the protocol's order.
pub fn outcome(facts: &Facts) -> (Outcome, String) {
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
            return crash(format!(
                "it ran longer than time_limit_s = {}",
                facts.time_limit_s
            ));
        }
        Ending::Flooded => {
            return crash(format!(
                "too much output: more than output_limit_mib = {}",
                facts.output_limit_mib
            ));
        }
        Ending::Signalled(signal) => {
            return crash(by_signal(facts, signal));
        }
        // The lab's own line in the log says what failed and why.
        Ending::NotStarted | Ending::Unknown => return crash(own_words(facts)),
        Ending::Exited(_) | Ending::Superseded => {}
    }
    if not_built(facts) {
        return crash(
            first_error(report).unwrap_or_else(|| or_last_words("it does not build", facts)),
        );
    }
    let code = match facts.ending {
        Ending::Exited(code) => code,
        _ => 0,
    };
    let contradiction = facts
        .external
        .then(|| contradictions::found(report, facts.objective, facts.same_within));
    if let Some(why) = contradiction.flatten() {
        return (Outcome::NotJudged, why);
    }
    match (report.correctness(), report.failing_gate()) {
        (None, _) => {
            let who = facts
                .script
                .map_or_else(String::new, |script| format!("{script} printed "));
            crash(or_last_words(
                &format!("{who}no correctness: line (exit code {code})"),
                facts,
            ))
        }
        (Some(_), Some(gate)) => (
            Outcome::Fail,
            different_cells(report, &gate).unwrap_or_else(|| gate_in_words(&gate)),
        ),
        (Some(false), None) => {
            let printed = report.value("correctness").unwrap_or("fail");
            let what = match first_word(printed) {
                "fail" => "correctness: fail".to_owned(),
                _ => format!("'correctness: {printed}' is neither pass nor fail"),
            };
            (Outcome::Fail, or_last_words(&what, facts))
        }
        (Some(true), None) if code != 0 => {
            crash(format!("correctness: pass, but exit code {code}"))
        }
        (Some(true), None) => (Outcome::Pass, String::new()),
    }
}

/// A gate that fails: `max_error is 0.2, its limit 0.1`.
pub fn gate_in_words(gate: &Gate) -> String {
    let (scale, unit) = match gate_is_share(&gate.name, &[gate.value, gate.limit]) {
        true => (100.0, " %"),
        false => (1.0, ""),
    };
    let (value, limit) = figures::pair(scale * gate.value, scale * gate.limit);
    format!("{} is {value}{unit}, its limit {limit}{unit}", gate.name)
}

/// `at_error: at[3] is 0, expected 5 (2 of 40 cells differ)`: of values without a tolerance the
/// size of the error says nothing. `None` of any other gate.
fn different_cells(report: &Report, gate: &Gate) -> Option<String> {
    let tensor = gate
        .name
        .strip_suffix("_error")
        .filter(|_| gate.value.is_infinite())?;
    let (first, _) = report.value("first_failure")?.split_once("; ")?;
    let is_about = first
        .strip_prefix(tensor)
        .is_some_and(|rest| rest.starts_with('['));
    is_about.then(|| format!("{}: {first}", gate.name))
}

fn first_error(report: &Report) -> Option<String> {
    let error = report
        .diagnostics()
        .iter()
        .find(|d| d.severity == Severity::Error)?;
    Some(format!("{}:{}: {}", error.file, error.line, error.message))
}

/// Characters of a harness's own reason that a verdict shows at most.
const REASON_LIMIT: usize = 300;

/// The reason with a detail: the judge's own reason, else the first error of a compiler, else the
/// last line of output.
fn or_last_words(what: &str, facts: &Facts) -> String {
    if let Some(reason) = facts.report.value("stopped").filter(|_| !facts.external) {
        return reason.to_owned();
    }
    let first = first_error(facts.report);
    let detail = first.as_deref().unwrap_or(facts.last_words);
    let cut = detail
        .char_indices()
        .nth(REASON_LIMIT)
        .map(|(at, _)| &detail[..at]);
    match cut {
        None if detail.is_empty() => what.to_owned(),
        None => format!("{what}: {detail}"),
        Some(start) => format!("{what}: {start}… (the whole line is in run.log)"),
    }
}
