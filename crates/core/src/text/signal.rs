//! Names of signals in messages.

/// The signal's number with its name in plain words, where it has one.
///
/// ```
/// use lab_core::text::signal::name;
/// assert_eq!(name(11), "signal 11 (segmentation fault)");
/// assert_eq!(name(40), "signal 40");
/// ```
pub fn name(signal: i32) -> String {
    use signal_hook::consts::{
        SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGKILL, SIGPIPE, SIGSEGV, SIGTERM,
    };
    let words = match signal {
        SIGHUP => "hang-up",
        SIGINT => "interrupt",
        SIGILL => "illegal instruction",
        SIGABRT => "abort",
        SIGBUS => "bus error",
        SIGFPE => "arithmetic error",
        SIGKILL => "kill",
        SIGSEGV => "segmentation fault",
        SIGPIPE => "broken pipe",
        SIGTERM => "termination",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({words})")
}
