//! Failed held-out checks, so that a kernel that failed one cannot simply be tried again.
//!
//! One draw of inputs catches a kernel that is wrong for every other draw only every other time. So
//! after a failed check a keep has to pass [`AFTER_A_REFUSAL`] sealed runs. That holds for every
//! candidate of this kernel or problem until one has passed them: an author who edits a kernel until
//! it passes changes more than comments. For the very source that failed, comments and blanks aside,
//! it holds for good.
//!
//! The checks stand in the records of their runs. A record that cannot be read counts as a failed
//! check.

use jiff::Timestamp;
use lab_project::Project;
use lab_run::RunId;
use lab_run::inputs::Inputs;
use lab_run::record::{InputFile, Origin, Record};
use lab_run::verdict::Outcome;
use lab_store::{Fact, RunIndex, RunSummary};

/// Sealed runs that a keep has to pass after a failed check.
pub const AFTER_A_REFUSAL: u32 = 8;

/// One held-out check.
#[derive(Clone, Debug)]
struct Check {
    run: RunId,
    checked: Timestamp,
    passed: bool,
    /// Sealed runs that it passed.
    sealed_runs: u32,
    /// Repository-relative path of the kernel; `None` if it is not known, so any kernel may be meant.
    kernel: Option<String>,
    /// Hash of problem.toml; `None` without that file.
    problem: Option<String>,
    /// Hash of the kernel's tokens; `None` if it is not known.
    tokens: Option<String>,
}

impl Check {
    /// Anybody may say that a check was failed: a keep then asks for more. A pass counts only in a
    /// record of this user's lab.
    fn of(record: Record) -> Option<Check> {
        let is_own = record.origin == Origin::Own;
        let held_out = record.held_out?;
        let passed = held_out.outcome == Outcome::Pass;
        (!passed || is_own).then(|| Check {
            run: record.start.id,
            checked: held_out.checked,
            passed,
            sealed_runs: held_out.sealed_runs,
            kernel: Some(record.start.kernel),
            problem: problem(&record.inputs),
            tokens: held_out.tokens,
        })
    }

    /// The check of a run whose record cannot be read: it counts as failed, or damaging a record would
    /// undo a refusal. `summary` is what the index knows of the run.
    fn unreadable(run: RunId, summary: Option<&RunSummary>) -> Check {
        let held_out = summary.and_then(|run| run.held_out.as_deref());
        Check {
            run,
            checked: held_out.map_or(Timestamp::MIN, |held_out| held_out.checked),
            passed: false,
            sealed_runs: 0,
            kernel: summary.map(|run| run.kernel.clone()),
            problem: None,
            tokens: held_out.and_then(|held_out| held_out.tokens.clone()),
        }
    }

    /// Whether two checks are of the same kernel, or of kernels of the same problem.
    fn is_in_line_with(&self, other: &Check) -> bool {
        let same_kernel = match (&self.kernel, &other.kernel) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        same_kernel || (self.problem.is_some() && self.problem == other.problem)
    }

    /// Whether this check was passed after another one was failed. The clock may have been set back
    /// between the two, so the run must be a later one too.
    fn makes_good(&self, failed: &Check) -> bool {
        self.passed
            && self.sealed_runs >= AFTER_A_REFUSAL
            && self.checked > failed.checked
            && self.run > failed.run
            && self.is_in_line_with(failed)
    }
}

/// Sealed runs that a keep of these inputs has to pass.
pub fn sealed_runs(project: &Project, index: &RunIndex, inputs: &Inputs) -> u32 {
    let counts = |run: &&RunSummary| {
        run.held_out.as_ref().is_some_and(|held_out| {
            held_out.outcome != Outcome::Pass || held_out.sealed_runs >= AFTER_A_REFUSAL
        })
    };
    let checked = index.newest_with(|keys| keys.is(Fact::HasHeldOut));
    let known = checked
        .filter(counts)
        .filter_map(|run| match index.store().read(run.id) {
            Ok(record) => Check::of(record),
            Err(_) => Some(Check::unreadable(run.id, Some(run))),
        });
    let damaged = index.damaged().map(|run| Check::unreadable(run, None));
    let checks: Vec<Check> = known.chain(damaged).collect();
    let candidate = Check {
        run: RunId(0),
        checked: Timestamp::MAX,
        passed: false,
        sealed_runs: 0,
        kernel: Some(project.kernel_name.clone()),
        problem: problem(&inputs.files()),
        tokens: Some(inputs.tokens()),
    };
    if is_refused(&checks, &candidate) {
        AFTER_A_REFUSAL
    } else {
        1
    }
}

/// Whether an earlier failed check is to be made good by this candidate.
fn is_refused(checks: &[Check], candidate: &Check) -> bool {
    let mut failed = checks.iter().filter(|check| !check.passed);
    failed.any(|failed| {
        let same_source = failed.tokens.is_some() && failed.tokens == candidate.tokens;
        let is_made_good = || checks.iter().any(|check| check.makes_good(failed));
        same_source || (failed.is_in_line_with(candidate) && !is_made_good())
    })
}

fn problem(files: &[InputFile]) -> Option<String> {
    files
        .iter()
        .find(|file| file.path.rsplit('/').next() == Some("problem.toml"))?
        .hash
        .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(run: u64, second: i64, kernel: &str, tokens: &str, passed: u32) -> Check {
        let problem = kernel.trim_end_matches(char::is_numeric);
        Check {
            run: RunId(run),
            checked: Timestamp::from_second(second).unwrap_or_default(),
            passed: passed > 0,
            sealed_runs: passed,
            kernel: Some(kernel.into()),
            problem: Some(format!("problem of {problem}")),
            tokens: Some(tokens.into()),
        }
    }

    #[test]
    fn a_refusal_holds_for_its_kernel_until_eight_runs_are_passed_and_for_its_source_for_good() {
        let refused = check(2, 2, "a", "bad", 0);
        let asks = |checks: &[Check], kernel: &str, tokens: &str| {
            is_refused(checks, &check(0, 99, kernel, tokens, 0))
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
            (check(3, 3, "a", "x", 1), true),
            (check(3, 3, "a", "x", 7), true),
            (check(3, 3, "b", "x", 8), true),
            (check(1, 1, "a", "x", 8), true),
            (check(3, 3, "a", "x", 8), false),
            (check(3, 3, "a2", "x", 8), false),
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
            check(3, 3, "a", "x", 8),
            check(4, 4, "a", "y", 0),
        ];
        assert!(asks(&again, "a", "other"));
    }

    #[test]
    fn an_older_pass_makes_no_later_refusal_good_whatever_the_clock_says() {
        // Eight runs were passed while the clock was ahead; then it was set back, and a check was
        // failed.
        let mut checks = vec![check(1, 9, "a", "x", 8), check(2, 2, "a", "bad", 0)];
        let other = check(0, 99, "a", "other", 0);
        assert!(is_refused(&checks, &other));
        checks.push(check(3, 3, "a", "y", 8));
        assert!(!is_refused(&checks, &other));
    }
}
