//! The lab's own part of a turn: its time without the command, without what harness and check
//! before a keep take, and without waits. Whatever happens between two turns belongs to the later
//! one, such as packing git's objects.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The newest turns that the median is of.
const TURNS: usize = 1_000;

/// The lab's own part of the turns of the process that works, or that worked last. In milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnPart {
    /// How many of the newest turns these figures are of.
    pub turns: usize,
    pub median_ms: f64,
    pub longest_ms: f64,
}

/// A clock that stops while others work.
pub(super) struct OwnTime {
    since: Instant,
    /// Time since then in which others worked, or the loop waited.
    away: Duration,
    newest: VecDeque<f64>,
}

impl OwnTime {
    pub fn new() -> OwnTime {
        OwnTime {
            since: Instant::now(),
            away: Duration::ZERO,
            newest: VecDeque::new(),
        }
    }

    /// Takes a time out of the present turn.
    pub fn leave_out(&mut self, time: Duration) {
        self.away += time;
    }

    /// Calls `wait` and takes its time out of the present turn.
    pub fn without<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let came = wait();
        self.leave_out(began.elapsed());
        came
    }

    /// Ends the present turn, and begins the next one. Returns the milliseconds of the one that
    /// ended.
    pub fn end_turn(&mut self) -> f64 {
        let now = Instant::now();
        let own = (now - self.since).saturating_sub(self.away);
        (self.since, self.away) = (now, Duration::ZERO);
        let own_ms = (own.as_secs_f64() * 1e4).round() / 10.0;
        if self.newest.len() == TURNS {
            self.newest.pop_front();
        }
        self.newest.push_back(own_ms);
        own_ms
    }

    /// The figures of the turns that ended. `None` before the first.
    pub fn part(&self) -> Option<OwnPart> {
        let mut sorted: Vec<f64> = self.newest.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let (median, longest) = (*sorted.get(sorted.len() / 2)?, *sorted.last()?);
        Some(OwnPart {
            turns: sorted.len(),
            median_ms: median,
            longest_ms: longest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_no_own_part_and_the_oldest_turns_are_forgotten() {
        let mut time = OwnTime::new();
        assert_eq!(time.part(), None);
        time.leave_out(Duration::from_secs(3600));
        assert_eq!(time.end_turn(), 0.0);
        time.since -= Duration::from_millis(250);
        let ms = time.without(|| 7);
        assert_eq!(ms, 7);
        assert!(time.end_turn() >= 250.0);
        let part = time.part();
        assert!(part.is_some_and(|part| part.turns == 2 && part.longest_ms >= 250.0));
        (0..TURNS).for_each(|_| {
            time.leave_out(Duration::from_secs(1));
            time.end_turn();
        });
        assert_eq!(
            time.part(),
            Some(OwnPart {
                turns: TURNS,
                median_ms: 0.0,
                longest_ms: 0.0
            })
        );
    }
}
