//! Names of signals in messages.

use lab_protocol::FatalSignal;

/// The signal's number with its meaning, where it has one.
///
/// ```
/// use lab_text::signal::name;
/// assert_eq!(name(11), "signal 11 (segmentation fault)");
/// assert_eq!(name(40), "signal 40");
/// ```
pub fn name(signal: i32) -> String {
    FatalSignal::of(signal).map_or_else(
        || format!("signal {signal}"),
        |known| format!("signal {signal} ({})", known.meaning),
    )
}
