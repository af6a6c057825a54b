//! How long the present stage of a run still takes.

use super::Report;
use std::time::Duration;

/// A part of a stage from which on it says how long the rest takes.
const ENOUGH: f64 = 0.12;

/// Seconds of a stage from which on the time left is worth a word.
const WORTH_A_WORD: f64 = 1.0;

/// The time that the stage still takes, about: from how long it took in the last run, and if that
/// time is over or unknown, from how far the stage is. `elapsed` is the time since the run's start.
/// `None` of a short stage, and where nothing can be said.
pub fn time_left(report: &Report, last: Option<&Report>, elapsed: Duration) -> Option<Duration> {
    let stage = report.stage()?;
    let here = elapsed.as_secs_f64() - report.stage_began(stage)?;
    let done = report.progress().filter(|(_, all)| *all > 0);
    let part = done.map_or(0.0, |(done, all)| done as f64 / all as f64);
    let by_last = last.and_then(|last| last.stage_took(stage));
    let by_progress = (part >= ENOUGH).then(|| here / part);
    let whole = by_last.filter(|whole| *whole > here).or(by_progress)?;
    let left = Duration::try_from_secs_f64(whole - here).ok()?;
    (whole >= WORTH_A_WORD && !left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::super::Stage;
    use super::*;

    fn seconds(report: &str, last: &str, elapsed: f64) -> Option<f64> {
        let last = (!last.is_empty()).then(|| Report::read(last));
        let elapsed = Duration::from_secs_f64(elapsed);
        let left = time_left(&Report::read(report), last.as_ref(), elapsed);
        left.map(|left| left.as_secs_f64().round())
    }

    const CHECKING: &str = "stage: build at=0\nstage: verify at=2.0\n";

    #[test]
    fn how_far_a_stage_is_says_how_long_it_takes() {
        let third = format!("{CHECKING}progress: 6/20\n");
        assert_eq!(seconds(&third, "", 5.0), Some(7.0));
        let nearly_nothing = format!("{CHECKING}progress: 1/20\n");
        assert_eq!(seconds(&nearly_nothing, "", 5.0), None);
        let long = format!("{CHECKING}progress: 1/4\n");
        assert_eq!(seconds(&long, "", 102.0), Some(300.0));
    }

    #[test]
    fn a_stage_that_comes_again_begins_anew() {
        let again = format!("{CHECKING}progress: 20/20\nstage: verify at=40.0\n");
        assert_eq!(seconds(&again, "", 45.0), None, "it has no progress yet");
        assert_eq!(
            seconds(&format!("{again}progress: 10/20\n"), "", 45.0),
            Some(5.0)
        );
        let many = format!("{}stage: done at=50\n", again.repeat(100));
        let took = Report::read(&many).stage_took(Stage::Verify);
        assert_eq!(took, Some(10.0));
    }

    #[test]
    fn the_last_run_says_how_long_the_stage_takes_until_that_time_is_over() {
        let last =
            "stage: build at=0\nstage: verify at=1.5\nstage: measure at=9.6\nstage: done at=10\n";
        assert_eq!(seconds(CHECKING, last, 5.0), Some(5.0));
        assert_eq!(
            seconds(CHECKING, last, 50.0),
            None,
            "longer than the last time"
        );
        let half = format!("{CHECKING}progress: 1/2\n");
        assert_eq!(seconds(&half, last, 5.0), Some(5.0));
        assert_eq!(seconds(&half, last, 12.0), Some(10.0));
        assert_eq!(seconds(CHECKING, "", 5.0), None);
        let measuring = format!("{CHECKING}progress: 20/20\nstage: measure at=4.0\n");
        assert_eq!(seconds(&measuring, last, 4.1), None, "a short stage");
        assert_eq!(
            seconds("stage: verify\n", last, 5.0),
            None,
            "a harness that tells no times"
        );
    }
}
