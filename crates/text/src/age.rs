//! How long ago something was.

use jiff::Timestamp;

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
