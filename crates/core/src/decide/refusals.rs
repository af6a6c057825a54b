//! What held-out checks came to, so that a kernel that failed one cannot simply be tried again.
//!
//! One draw of inputs catches a kernel that is wrong for every other draw only every other time. So
//! once a check was failed, a keep has to pass [`AFTER_A_REFUSAL`] sealed runs. That holds for
//! every candidate of this kernel or problem until one has passed them: who edits a kernel until it
//! passes changes more than comments. It holds for the very source that failed, comments and blanks
//! aside, for good.
//!
//! The events stand in `.lab/refusals.jsonl` and in the records of their runs: deleting one of the
//! two forgets nothing.

use crate::inputs::Inputs;
use crate::project::Project;
use crate::run::RunId;
use crate::run::experiment::Status;
use crate::run::record::{HeldOut, InputFile, Origin, Record};
use crate::run::verdict::Outcome;
use crate::store::signature::{self, Purpose};
use crate::store::{Fact, RunIndex};
use anyhow::{Context, Result};
use jiff::Timestamp;
use lab_system::root::Access;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::PathBuf;

/// Sealed runs that a keep has to pass after a failed check.
pub const AFTER_A_REFUSAL: u32 = 8;

/// The outcome of one held-out check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Event {
    run: RunId,
    checked: Timestamp,
    /// Whether the kernel passed.
    passed: bool,
    /// Sealed runs that it passed.
    sealed_runs: u32,
    /// Repository-relative path of the kernel.
    kernel: String,
    /// Hash of problem.toml; `None` if there is none, or if it is not known.
    problem: Option<String>,
    /// Hash of the kernel's tokens; `None` if it is not known.
    tokens: Option<String>,
    /// What the events are ordered by. The clock may have been set back between two of them, so the
    /// order of the lines in the file counts: the time of an event is never before that of the line
    /// above.
    #[serde(skip)]
    at: (Timestamp, usize),
}

/// Refuses a keep where the list of refusals cannot be read: what the check comes to could not be
/// noted there either.
pub(super) fn require_list(project: &Project) -> Result<()> {
    read(project).map(drop)
}

/// Sealed runs that a keep of these inputs has to pass. A list that cannot be read may hold a
/// refusal.
pub(super) fn sealed_runs(project: &Project, index: &RunIndex, inputs: &Inputs) -> u32 {
    let Ok(mut events) = read(project) else {
        return AFTER_A_REFUSAL;
    };
    let is_known = |event: &Event, known: &[Event]| {
        known
            .iter()
            .any(|known| (known.run, known.checked) == (event.run, event.checked))
    };
    let of_records: Vec<Event> = of_records(index)
        .into_iter()
        .filter(|e| !is_known(e, &events))
        .collect();
    events.extend(of_records);
    let candidate = Event {
        run: RunId(0),
        checked: Timestamp::MAX,
        passed: false,
        sealed_runs: 0,
        kernel: project.kernel_name.clone(),
        problem: problem(&inputs.files()),
        tokens: Some(inputs.tokens()),
        at: (Timestamp::MAX, 0),
    };
    if is_refused(&events, &candidate) {
        AFTER_A_REFUSAL
    } else {
        1
    }
}

/// Whether an earlier failed check is to be made good by this candidate.
fn is_refused(events: &[Event], candidate: &Event) -> bool {
    let made_good = |refusal: &Event| {
        let passed = events
            .iter()
            .filter(|e| e.passed && e.sealed_runs >= AFTER_A_REFUSAL);
        passed
            .into_iter()
            .any(|e| e.at > refusal.at && is_of_one_line(e, refusal))
    };
    let refusals = events.iter().filter(|event| !event.passed);
    refusals.into_iter().any(|refusal| {
        let same_source = refusal.tokens.is_some() && refusal.tokens == candidate.tokens;
        same_source || (is_of_one_line(refusal, candidate) && !made_good(refusal))
    })
}

/// Whether two checks are of the same kernel, or of kernels of the same problem.
fn is_of_one_line(a: &Event, b: &Event) -> bool {
    a.kernel == b.kernel || (a.problem.is_some() && a.problem == b.problem)
}

/// Notes what a check came to. A pass of fewer sealed runs than a refusal asks for changes nothing.
pub(super) fn note(project: &Project, record: &Record, held_out: &HeldOut) -> Result<()> {
    let (passed, sealed_runs) = (
        held_out.outcome == Outcome::Pass,
        held_out.sealed_runs.unwrap_or(1),
    );
    if passed && sealed_runs < AFTER_A_REFUSAL {
        return Ok(());
    }
    let event = Event {
        run: record.start.id,
        checked: held_out.checked,
        passed,
        sealed_runs,
        kernel: record.start.kernel.clone(),
        problem: problem(&record.inputs),
        tokens: held_out.tokens.clone(),
        at: (held_out.checked, 0),
    };
    let (path, line) = (
        path(project),
        signature::signed_line(Purpose::Refusal, &event)?,
    );
    let append = || {
        let mut file = project.files().wait_for_lock(&path, Access::ReadAppend)?;
        // A line that was only half written must not swallow this one.
        file.write_all(format!("\n{line}\n").as_bytes())?;
        file.sync_data()
    };
    append().with_context(|| format!("cannot write {}", path.display()))
}

fn problem(files: &[InputFile]) -> Option<String> {
    files
        .iter()
        .find(|file| file.path.rsplit('/').next() == Some("problem.toml"))?
        .hash
        .clone()
}

fn path(project: &Project) -> PathBuf {
    project.lab_dir.join("refusals.jsonl")
}

/// Most bytes of the file. A larger one was not written by a lab.
const READ_LIMIT: u64 = 16 << 20;

/// The error is of a file that is there and cannot be read: it may hold a refusal.
fn read(project: &Project) -> Result<Vec<Event>> {
    let path = path(project);
    let text = match project.files().read(&path, READ_LIMIT) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let text = String::from_utf8_lossy(&text);
    let event = |line: &str| {
        let (event, origin) = signature::read::<Event>(Purpose::Refusal, line.as_bytes()).ok()?;
        believed(event, origin)
    };
    Ok(ordered(text.lines().filter_map(event).collect()))
}

/// The events of the file, in its order.
fn ordered(mut events: Vec<Event>) -> Vec<Event> {
    let mut latest = Timestamp::MIN;
    for (line, event) in events.iter_mut().enumerate() {
        latest = latest.max(event.checked);
        event.at = (latest, line + 1);
    }
    events
}

/// Anybody may say that a check was failed: a keep then asks for more. That one was passed is
/// believed of this user's lab only.
fn believed(event: Event, origin: Origin) -> Option<Event> {
    (!event.passed || origin == Origin::Own).then_some(event)
}

/// The same events as the records tell them. An older lab did not ask for further sealed runs:
/// there a later keep counts.
fn of_records(index: &RunIndex) -> Vec<Event> {
    let mut events = Vec::new();
    for summary in index.newest_with(|keys| keys.is(Fact::HasHeldOut)) {
        let Some(held_out) = &summary.held_out else {
            continue;
        };
        let is_kept = summary
            .decision
            .as_ref()
            .is_some_and(|d| d.status == Status::Keep && d.commit.is_some());
        let passed = held_out.outcome == Outcome::Pass;
        let older = if passed && is_kept {
            AFTER_A_REFUSAL
        } else {
            1
        };
        let sealed_runs = held_out.sealed_runs.unwrap_or(older);
        // A pass of fewer runs counts for nothing. Of another the record is read: nobody signed the
        // summary.
        let counts = !passed || sealed_runs >= AFTER_A_REFUSAL;
        let origin = || {
            index
                .store()
                .read(summary.id)
                .map_or(Origin::Unsigned, |record| record.origin)
        };
        if !counts || (passed && origin() != Origin::Own) {
            continue;
        }
        events.push(Event {
            run: summary.id,
            checked: held_out.checked,
            passed,
            sealed_runs,
            kernel: summary.kernel.clone(),
            problem: None,
            tokens: held_out.tokens.clone(),
            at: (held_out.checked, 0),
        });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(second: i64, kernel: &str, tokens: &str, passed: bool, sealed_runs: u32) -> Event {
        Event {
            run: RunId(1),
            checked: Timestamp::from_second(second).unwrap_or_default(),
            passed,
            sealed_runs,
            kernel: kernel.into(),
            problem: Some(format!(
                "problem of {}",
                kernel.trim_end_matches(char::is_numeric)
            )),
            tokens: Some(tokens.into()),
            at: (Timestamp::from_second(second).unwrap_or_default(), 0),
        }
    }

    #[test]
    fn a_refusal_holds_for_its_kernel_until_eight_runs_are_passed_and_for_its_source_for_good() {
        let refused = event(1, "a", "bad", false, 0);
        let asks = |events: &[Event], kernel: &str, tokens: &str| {
            is_refused(events, &event(99, kernel, tokens, false, 0))
        };
        assert!(!asks(&[], "a", "bad"));
        let once = std::slice::from_ref(&refused);
        assert!(asks(once, "a", "bad"), "the same bytes");
        assert!(
            asks(once, "a", "other"),
            "another source of the same kernel"
        );
        assert!(
            asks(once, "a2", "other"),
            "another kernel of the same problem"
        );
        assert!(!asks(once, "b", "other"));
        assert!(asks(once, "b", "bad"), "the same source elsewhere");
        // One run is not enough, and neither is one of another kernel or from before.
        for (passed, still) in [
            (event(2, "a", "x", true, 1), true),
            (event(2, "a", "x", true, 7), true),
            (event(2, "b", "x", true, 8), true),
            (event(0, "a", "x", true, 8), true),
            (event(2, "a", "x", true, 8), false),
            (event(2, "a2", "x", true, 8), false),
        ] {
            let events = [refused.clone(), passed.clone()];
            assert_eq!(asks(&events, "a", "other"), still, "{passed:?}");
            assert!(
                asks(&events, "a", "bad"),
                "the source that failed needs eight again: {passed:?}"
            );
        }
        let again = [
            refused.clone(),
            event(2, "a", "x", true, 8),
            event(3, "a", "y", false, 2),
        ];
        assert!(asks(&again, "a", "other"));
    }

    #[test]
    fn an_older_pass_makes_no_later_refusal_good_whatever_the_clock_says() {
        // Eight runs were passed while the clock was ahead; then it was set back, and a check was
        // failed.
        let mut events = vec![event(9, "a", "x", true, 8), event(2, "a", "bad", false, 0)];
        let other = event(99, "a", "other", false, 0);
        assert!(is_refused(&ordered(events.clone()), &other));
        events.push(event(3, "a", "y", true, 8));
        assert!(!is_refused(&ordered(events), &other));
    }
}
