//! Decides when a save is complete: after a quiet moment, but no later than a ceiling. Editors save
//! in two to four events. A file that was closed after writing, or renamed to its name, is
//! complete: then a much shorter quiet moment is enough. The clock is an argument.

use std::time::{Duration, Instant};

/// The quiet moment after a file was closed: enough for the next file of a checkout, and for a mode
/// that is set last.
const CLOSED: Duration = Duration::from_millis(5);

/// Collects the events of one save.
#[derive(Clone, Debug)]
pub struct Debounce {
    quiet: Duration,
    ceiling: Duration,
    /// Times of the first and the last event of the save.
    waiting: Option<(Instant, Instant)>,
    /// No event since a file was closed.
    closed: bool,
}

impl Debounce {
    pub fn new(quiet: Duration, ceiling: Duration) -> Self {
        Debounce {
            quiet,
            ceiling,
            waiting: None,
            closed: false,
        }
    }

    /// A file changed at `now`.
    pub fn event(&mut self, now: Instant) {
        let first = self.waiting.map_or(now, |(first, _)| first);
        self.waiting = Some((first, now));
        self.closed = false;
    }

    /// The last event closed its file.
    pub fn closed(&mut self) {
        self.closed = true;
    }

    /// When the save is complete if no more events come; `None` without a save.
    pub fn due(&self) -> Option<Instant> {
        let quiet = if self.closed {
            self.quiet.min(CLOSED)
        } else {
            self.quiet
        };
        self.waiting
            .map(|(first, last)| (last + quiet).min(first + self.ceiling))
    }

    /// Whether the save is complete at `now`. True once for each save.
    pub fn take(&mut self, now: Instant) -> bool {
        let due = self.due().is_some_and(|due| now >= due);
        if due {
            self.waiting = None;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUIET: u64 = 50;
    const CEILING: u64 = 500;

    fn saves(events: &[u64]) -> Vec<u64> {
        saves_closed(events, &[])
    }

    /// The milliseconds at which saves are complete, for events at these milliseconds. At some of
    /// them the file is closed.
    fn saves_closed(events: &[u64], closed: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut debounce =
            Debounce::new(Duration::from_millis(QUIET), Duration::from_millis(CEILING));
        let end = events.last().map_or(0, |last| last + 2 * CEILING);
        let mut taken = Vec::new();
        for ms in 0..end {
            if debounce.take(at(ms)) {
                taken.push(ms);
            }
            for _ in events.iter().filter(|e| **e == ms) {
                debounce.event(at(ms));
            }
            if closed.contains(&ms) {
                debounce.closed();
            }
        }
        taken
    }

    #[test]
    fn one_event_is_a_save_after_the_quiet_moment() {
        assert_eq!(saves(&[10]), [60]);
    }

    #[test]
    fn a_save_in_several_events_is_one() {
        assert_eq!(saves(&[10, 11, 30, 70]), [120]);
    }

    #[test]
    fn two_saves_are_two() {
        assert_eq!(saves(&[10, 200]), [60, 250]);
    }

    #[test]
    fn events_without_a_pause_are_a_save_at_the_ceiling() {
        let events: Vec<u64> = (0..1200).step_by(20).collect();
        assert_eq!(saves(&events)[0], 500);
    }

    #[test]
    fn a_closed_file_is_a_save_at_once_unless_more_events_come() {
        assert_eq!(saves_closed(&[10, 12], &[12]), [17]);
        // Written, closed, and its mode set.
        assert_eq!(saves_closed(&[10, 12], &[10]), [62]);
        // Two files of a checkout.
        assert_eq!(saves_closed(&[10, 14], &[10, 14]), [19]);
        assert!(saves_closed(&[], &[10]).is_empty());
    }

    #[test]
    fn without_an_event_there_is_no_save() {
        let debounce = Debounce::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(debounce.due(), None);
        assert!(saves(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn every_event_is_part_of_one_save_in_time(mut events in prop::collection::vec(0..3000u64, 1..40)) {
            events.sort_unstable();
            let taken = saves(&events);
            for event in &events {
                let next = taken.iter().find(|t| *t > event);
                prop_assert!(next.is_some_and(|t| *t <= event + CEILING), "{event}: {taken:?}");
            }
            prop_assert!(taken.len() <= events.len());
            prop_assert!(taken.windows(2).all(|w| w[0] < w[1]));
        }
    }
}
