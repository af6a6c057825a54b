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

const TABLE: [FatalSignal; 13] = [
    signal(1, "SIGHUP", "hang-up", "ended with its terminal"),
    signal(2, "SIGINT", "interrupt", "ended from outside"),
    signal(
        4,
        "SIGILL",
        "illegal instruction",
        "__trap() or an illegal instruction",
    ),
    signal(5, "SIGTRAP", "trap", "__brkpt() or a debugger's trap"),
    signal(
        6,
        "SIGABRT",
        "abort",
        "a failed assertion, or the C++ runtime gave up",
    ),
    signal(
        7,
        "SIGBUS",
        "bus error",
        "a misaligned access, or an access to memory that does not exist",
    ),
    signal(
        8,
        "SIGFPE",
        "arithmetic error",
        "an integer division by zero",
    ),
    signal(
        9,
        "SIGKILL",
        "kill",
        "ended from outside, or the machine ran out of memory",
    ),
    signal(
        11,
        "SIGSEGV",
        "segmentation fault",
        "an access outside every buffer, or a stack overflow",
    ),
    signal(13, "SIGPIPE", "broken pipe", "nobody reads what it prints"),
    signal(15, "SIGTERM", "termination", "ended from outside"),
    signal(
        25,
        "SIGXFSZ",
        "file size limit",
        "it wrote a file larger than it may",
    ),
    signal(
        31,
        "SIGSYS",
        "bad system call",
        "it asked the operating system for what the sandbox forbids",
    ),
];

const fn signal(
    number: i32,
    name: &'static str,
    meaning: &'static str,
    cause: &'static str,
) -> FatalSignal {
    FatalSignal {
        number,
        name,
        meaning,
        cause,
    }
}

impl FatalSignal {
    /// Returns the signal with this number; `None` if it is not in the table.
    pub fn of(number: i32) -> Option<FatalSignal> {
        TABLE.into_iter().find(|signal| signal.number == number)
    }
}
