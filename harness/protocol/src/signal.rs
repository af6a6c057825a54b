//! The names of the signals that end a process.

/// A signal that ends a process, and what it usually means.
///
/// ```
/// use lab_protocol::FatalSignal;
///
/// let signal = FatalSignal::of(11).unwrap();
/// assert_eq!((signal.name, signal.meaning), ("SIGSEGV", "segmentation fault"));
/// assert_eq!(FatalSignal::of(64), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatalSignal {
    /// The number on Linux.
    pub number: i32,
    /// As in `SIGSEGV`.
    pub name: &'static str,
    /// In words, as in `segmentation fault`.
    pub meaning: &'static str,
    /// What usually caused it in a process that runs a kernel.
    pub cause: &'static str,
}

/// Signals that come from outside, or from a machine without memory: hang-up, interrupt, kill and
/// termination.
const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15];

/// Whether a reason says that a signal from outside ended a process: the kernel, or the reference,
/// is not to blame for what its worker did not do after that.
///
/// ```
/// use lab_protocol::is_from_outside;
///
/// assert!(is_from_outside("the kernel crashed: its process was ended by SIGKILL (kill)"));
/// assert!(is_from_outside("the harness was ended by signal 15 (termination)"));
/// assert!(!is_from_outside("the kernel crashed: its process was ended by SIGSEGV"));
/// ```
pub fn is_from_outside(why: &str) -> bool {
    // The judge names a signal, and the lab counts it.
    let signals = FROM_OUTSIDE.into_iter().filter_map(FatalSignal::of);
    let mut said = signals.flat_map(
        |FatalSignal {
             number,
             name,
             meaning,
             ..
         }| {
            [
                format!("was ended by {name}"),
                format!("was ended by signal {number} ({meaning})"),
            ]
        },
    );
    said.any(|said| why.contains(&said))
}

impl FatalSignal {
    /// Whether it comes from outside, or from a machine without memory.
    pub fn is_from_outside(self) -> bool {
        FROM_OUTSIDE.contains(&self.number)
    }

    /// Returns the signal with this number; `None` of any other number.
    pub fn of(number: i32) -> Option<FatalSignal> {
        let (name, meaning, cause) = match number {
            1 => ("SIGHUP", "hang-up", "ended with its terminal"),
            2 => ("SIGINT", "interrupt", "ended from outside"),
            4 => (
                "SIGILL",
                "illegal instruction",
                "__trap() or an illegal instruction",
            ),
            5 => ("SIGTRAP", "trap", "__brkpt() or a debugger's trap"),
            6 => (
                "SIGABRT",
                "abort",
                "a failed assertion, or the C++ runtime gave up",
            ),
            7 => (
                "SIGBUS",
                "bus error",
                "a misaligned access, or an access to memory that does not exist",
            ),
            8 => ("SIGFPE", "arithmetic error", "an integer division by zero"),
            9 => (
                "SIGKILL",
                "kill",
                "ended from outside, or the machine ran out of memory",
            ),
            11 => (
                "SIGSEGV",
                "segmentation fault",
                "an access outside every buffer, or a stack overflow",
            ),
            13 => ("SIGPIPE", "broken pipe", "nobody reads what it prints"),
            15 => ("SIGTERM", "termination", "ended from outside"),
            25 => (
                "SIGXFSZ",
                "file size limit",
                "it wrote a file larger than it may",
            ),
            31 => (
                "SIGSYS",
                "bad system call",
                "it asked the operating system for what the sandbox forbids",
            ),
            _ => return None,
        };
        Some(FatalSignal {
            number,
            name,
            meaning,
            cause,
        })
    }
}
