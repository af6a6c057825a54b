//! How long the present stage of a run still takes.

use super::{Report, Stage};
use std::time::Duration;
use strum::VariantArray;

/// What a judge was asked for. Each of them takes its own time for a stage of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Run,
    Check,
    /// The check on held-out inputs before a keep.
    HeldOut,
}

/// Seconds of a stage from which on the time left is worth a word. A shorter one was skipped, such as
/// a build that was found in the cache: it says nothing about the next one.
const WORTH_A_WORD: f64 = 1.0;

/// How long each stage took on each device, as the last run says in which it took its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageTimes(Vec<StageTime>);

#[derive(Clone, Debug, PartialEq)]
struct StageTime {
    of: (Asked, Stage),
    device: Option<String>,
    seconds: f64,
}

impl StageTimes {
    /// Takes what a report says.
    pub fn learn(&mut self, asked: Asked, report: &Report) {
        for stage in Stage::VARIANTS {
            self.learn_stage(asked, *stage, report);
        }
    }

    /// Takes what a report says of one stage.
    pub fn learn_stage(&mut self, asked: Asked, stage: Stage, report: &Report) {
        let Some(seconds) = report.stage_took(stage) else {
            return;
        };
        let of = (asked, stage);
        let is_same =
            |known: &StageTime| known.of == of && known.device.as_deref() == report.device();
        if seconds < WORTH_A_WORD && self.0.iter().any(is_same) {
            return;
        }
        self.0.retain(|known| !is_same(known));
        self.0.push(StageTime {
            of,
            device: report.device().map(str::to_owned),
            seconds,
        });
    }

    /// Seconds that the present stage of this report takes on its device.
    pub fn of(&self, asked: Asked, report: &Report) -> Option<f64> {
        let seconds = self.known(asked, report)?.seconds;
        (seconds >= WORTH_A_WORD).then_some(seconds)
    }

    /// Whether the present stage goes on for a while, and no earlier run is known that had it on this
    /// device: nothing tells how long it takes.
    pub fn is_first(&self, asked: Asked, report: &Report, elapsed: Duration) -> bool {
        let began = report.stage().and_then(|stage| report.stage_began(stage));
        let is_long = began.is_some_and(|began| elapsed.as_secs_f64() - began >= WORTH_A_WORD);
        is_long && self.known(asked, report).is_none()
    }

    /// A harness may name its device behind the first stages: until then the newest run counts.
    fn known(&self, asked: Asked, report: &Report) -> Option<&StageTime> {
        let of = (asked, report.stage()?);
        let is_here = |known: &&StageTime| {
            report
                .device()
                .is_none_or(|here| known.device.as_deref() == Some(here))
        };
        let mut known = self.0.iter().rev().filter(|known| known.of == of);
        known.find(is_here)
    }
}

/// A part of a stage from which on it says how long the rest takes.
const ENOUGH: f64 = 0.12;

/// The time that the stage still takes, about: from the seconds that it took before, and if that
/// time is over or unknown, from how far the stage is. `elapsed` is the time since the run's start.
/// `None` of a short stage, and where nothing can be said.
pub fn time_left(report: &Report, before: Option<f64>, elapsed: Duration) -> Option<Duration> {
    let stage = report.stage()?;
    let here = elapsed.as_secs_f64() - report.stage_began(stage)?;
    let done = report.progress().filter(|(_, all)| *all > 0);
    let part = done.map_or(0.0, |(done, all)| done as f64 / all as f64);
    let by_progress = (part >= ENOUGH).then(|| here / part);
    let whole = before.filter(|whole| *whole > here).or(by_progress)?;
    let left = Duration::try_from_secs_f64(whole - here).ok()?;
    (whole >= WORTH_A_WORD && !left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(report: &str, last: &str, elapsed: f64) -> Option<f64> {
        let mut times = StageTimes::default();
        times.learn(Asked::Run, &Report::read(last));
        let report = Report::read(report);
        let before = times.of(Asked::Run, &report);
        let left = time_left(&report, before, Duration::from_secs_f64(elapsed));
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
    fn a_stage_beside_the_build_lasts_until_both_are_done() {
        let beside = "stage: build at=0\nstage: reference at=7.5\nstage: build at=0\nstage: verify at=19.5\n";
        let waiting = "stage: build at=0\nstage: reference at=7.5\n";
        assert_eq!(seconds(waiting, beside, 15.5), Some(4.0));
        assert_eq!(seconds("stage: build at=0\n", beside, 15.5), Some(4.0));
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

    #[test]
    fn each_device_and_each_kind_of_run_has_its_own_times() {
        let report = |device: &str, end: f64| {
            Report::read(&format!(
                "stage: build at=0\ndevice: {device}\nstage: verify at={end}\nstage: done at=99\n"
            ))
        };
        let building =
            |device: &str| Report::read(&format!("stage: build at=0\ndevice: {device}\n"));
        let mut times = StageTimes::default();
        times.learn(Asked::Run, &report("cpu", 7.0));
        times.learn(Asked::Run, &report("NVIDIA H200", 3.0));
        times.learn(Asked::HeldOut, &report("cpu", 5.0));
        assert_eq!(times.of(Asked::Run, &building("cpu")), Some(7.0));
        assert_eq!(times.of(Asked::Run, &building("NVIDIA H200")), Some(3.0));
        assert_eq!(times.of(Asked::HeldOut, &building("cpu")), Some(5.0));
        assert_eq!(times.of(Asked::Check, &building("cpu")), None);
        let first = |device: &str, seconds| {
            let elapsed = Duration::from_secs(seconds);
            times.is_first(Asked::Run, &building(device), elapsed)
        };
        assert!(first("a new card", 2) && !first("a new card", 0) && !first("cpu", 2));
        let unnamed = Report::read("stage: build at=0\n");
        assert_eq!(times.of(Asked::Run, &unnamed), Some(3.0));
        assert!(!times.is_first(Asked::Run, &unnamed, Duration::from_secs(2)));
        times.learn(Asked::Run, &report("cpu", 0.1));
        let cached = times.of(Asked::Run, &building("cpu"));
        assert_eq!(cached, Some(7.0), "a build from the cache says nothing");
    }
}
