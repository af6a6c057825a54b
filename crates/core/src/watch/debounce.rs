//! When a save is taken up: after a quiet moment, but no later than a ceiling. Editors save in two
//! to four events. A file that was written and closed, or renamed to its name, is whole: after that a much
//! shorter moment will do. Pure: the clock is an argument.

use std::time::{Duration, Instant};

/// The quiet after a file was closed: enough for the next file of a checkout, and for a mode that is set last.
const CLOSED: Duration = Duration::from_millis(5);

#[derive(Clone, Debug)]
pub struct Debounce {
    quiet: Duration,
    ceiling: Duration,
    /// First and last event that was not taken up yet.
    waiting: Option<(Instant, Instant)>,
    /// Nothing happened since a file was closed.
    closed: bool,
}

impl Debounce {
    pub fn new(quiet: Duration, ceiling: Duration) -> Self {
        Debounce { quiet, ceiling, waiting: None, closed: false }
    }

    /// Something happened.
    pub fn event(&mut self, now: Instant) {
        let first = self.waiting.map_or(now, |(first, _)| first);
        self.waiting = Some((first, now));
        self.closed = false;
    }

    /// What happened last was that the file was closed.
    pub fn closed(&mut self) {
        self.closed = true;
    }

    /// When it is to be taken up; `None` where nothing waits.
    pub fn due(&self) -> Option<Instant> {
        let quiet = if self.closed { self.quiet.min(CLOSED) } else { self.quiet };
        self.waiting.map(|(first, last)| (last + quiet).min(first + self.ceiling))
    }

    /// True once what waited is due; it is taken up with that.
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

    fn taken_up(events: &[u64]) -> Vec<u64> {
        taken_up_closed(events, &[])
    }

    /// When events at these milliseconds are taken up, looking every millisecond; at some of them the file was
    /// closed.
    fn taken_up_closed(events: &[u64], closed: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut debounce = Debounce::new(Duration::from_millis(QUIET), Duration::from_millis(CEILING));
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
    fn one_event_is_taken_up_after_the_quiet() {
        assert_eq!(taken_up(&[10]), [60]);
    }

    #[test]
    fn a_save_in_several_events_is_one() {
        assert_eq!(taken_up(&[10, 11, 30, 70]), [120]);
    }

    #[test]
    fn two_saves_are_two() {
        assert_eq!(taken_up(&[10, 200]), [60, 250]);
    }

    #[test]
    fn one_who_never_pauses_is_heard_at_the_ceiling() {
        let events: Vec<u64> = (0..1200).step_by(20).collect();
        assert_eq!(taken_up(&events)[0], 500);
    }

    #[test]
    fn a_closed_file_is_taken_up_at_once_unless_more_happens() {
        assert_eq!(taken_up_closed(&[10, 12], &[12]), [17]);
        // Written, closed, and its mode set.
        assert_eq!(taken_up_closed(&[10, 12], &[10]), [62]);
        // Two files of a checkout.
        assert_eq!(taken_up_closed(&[10, 14], &[10, 14]), [19]);
        assert!(taken_up_closed(&[], &[10]).is_empty());
    }

    #[test]
    fn nothing_waits_for_nothing() {
        let debounce = Debounce::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(debounce.due(), None);
        assert!(taken_up(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn every_event_is_taken_up_in_time_and_never_twice(mut events in prop::collection::vec(0..3000u64, 1..40)) {
            events.sort_unstable();
            let taken = taken_up(&events);
            for event in &events {
                let next = taken.iter().find(|t| *t > event);
                prop_assert!(next.is_some_and(|t| *t <= event + CEILING), "{event}: {taken:?}");
            }
            prop_assert!(taken.len() <= events.len());
            prop_assert!(taken.windows(2).all(|w| w[0] < w[1]));
        }
    }
}
