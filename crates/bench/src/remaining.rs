//! How long a bench still takes.

use lab_protocol::report::{Report, Stage};
use std::time::Duration;

/// Where a bench is.
#[derive(Clone, Debug, Default)]
pub struct Position {
    /// Runs that have ended, and runs that there are to be.
    pub done: u32,
    pub wanted: u32,
    /// Seconds that each of the ended runs took.
    pub took: Vec<f64>,
    /// Seconds since the run in progress began.
    pub elapsed: f64,
    /// Part of the run in progress that is done, from 0 to 1.
    pub part: f64,
}

/// The share of each stage in a run, about: building, reference, checks, timing. Only for a first
/// run, of which nothing is known.
const SHARES: [(Stage, f64); 4] = [
    (Stage::Build, 0.1),
    (Stage::Reference, 0.05),
    (Stage::Verify, 0.15),
    (Stage::Measure, 0.7),
];

/// The part of a run that is done, from its result lines.
pub fn part_done(report: &Report) -> f64 {
    let Some(stage) = report.stage() else {
        return 0.0;
    };
    let before: f64 = SHARES
        .iter()
        .filter(|(earlier, _)| *earlier < stage)
        .map(|(_, share)| share)
        .sum();
    let share = SHARES
        .iter()
        .find(|(of, _)| *of == stage)
        .map_or(0.0, |(_, share)| *share);
    let progress = report.progress().filter(|(_, all)| *all > 0);
    let part = progress.map_or(0.0, |(done, all)| {
        (done as f64 / all as f64).clamp(0.0, 1.0)
    });
    (before + share * part).min(1.0)
}

impl Position {
    /// The part of the whole bench that is done, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        let done = f64::from(self.done) + self.part.clamp(0.0, 1.0);
        if self.wanted == 0 {
            1.0
        } else {
            (done / f64::from(self.wanted)).min(1.0)
        }
    }

    /// The time that is left, from the runs that have ended or, in the first one, from how far that
    /// is. `None` where nothing can be said yet.
    pub fn left(&self) -> Option<Duration> {
        /// A part from which on it says something.
        const ENOUGH: f64 = 0.12;
        let runs_left = f64::from(self.wanted.saturating_sub(self.done));
        let each = if self.took.is_empty() {
            (self.part >= ENOUGH).then(|| self.elapsed / self.part)?
        } else {
            self.took.iter().sum::<f64>() / self.took.len() as f64
        };
        // A run that takes longer than those before it is not done yet.
        let present = (each - self.elapsed)
            .max(each * (1.0 - self.part).max(0.0) * 0.5)
            .max(0.0);
        Duration::try_from_secs_f64((runs_left - 1.0).max(0.0) * each + present).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_run_grows_with_its_stages_and_their_progress() {
        let part = |log: &str| part_done(&Report::read(log));
        assert_eq!(part(""), 0.0);
        let steps = [
            "stage: build\n",
            "stage: verify\n",
            "stage: verify\nprogress: 27/54\n",
            "stage: measure\nprogress: 1/500\n",
            "stage: measure\nprogress: 500/500\n",
        ];
        let parts = steps.map(part);
        assert!(parts.windows(2).all(|pair| pair[0] < pair[1]), "{parts:?}");
        assert!((parts[4] - 1.0).abs() < 1e-9);
        assert_eq!(part("stage: done\n"), 1.0);
    }

    #[test]
    fn ended_runs_tell_how_long_the_others_take() {
        let position = Position {
            done: 2,
            wanted: 6,
            took: vec![50.0, 70.0],
            elapsed: 20.0,
            part: 0.3,
        };
        assert_eq!(position.left(), Some(Duration::from_secs(40 + 3 * 60)));
        assert!((position.fraction() - 2.3 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn in_the_first_run_its_own_progress_tells_and_before_that_nothing_does() {
        let position = |part| Position {
            done: 0,
            wanted: 2,
            took: Vec::new(),
            elapsed: 10.0,
            part,
        };
        assert_eq!(position(0.05).left(), None);
        assert_eq!(position(0.5).left(), Some(Duration::from_secs(10 + 20)));
    }
}
