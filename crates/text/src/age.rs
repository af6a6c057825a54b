//! How long ago something was, and how long something takes.

use jiff::Timestamp;
use std::time::Duration;

/// The time since `then` in one unit, rounded down.
///
/// ```
/// use jiff::Timestamp;
/// use lab_text::age::since;
///
/// let at = |seconds| Timestamp::from_second(seconds).unwrap();
/// let ages = [30, 150, 7_300, 200_000].map(|now| since(at(0), at(now)));
/// assert_eq!(ages, ["just now", "2 min ago", "2 h ago", "2 d ago"]);
/// ```
pub fn since(then: Timestamp, now: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()) {
        // A clock that was set back tells nothing better.
        ..60 => "just now".to_owned(),
        seconds @ ..3_600 => format!("{} min ago", seconds / 60),
        seconds @ ..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// A length of time for people: `45 s`, `2 min 10 s`, `1 h 5 min`.
///
/// ```
/// use lab_text::age::in_words;
/// use std::time::Duration;
/// assert_eq!([0.4, 45.2, 130.0, 3900.0].map(|s| in_words(Duration::from_secs_f64(s))), ["1 s", "46 s", "2 min 10 s", "1 h 5 min"]);
/// ```
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    match seconds.max(1) {
        s @ ..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}
