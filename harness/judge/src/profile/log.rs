//! What ncu says of a failure, from its log file.

use super::permission;

/// Why ncu read no counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The driver refuses the counters. The text says what to do.
    Refused(String),
    /// ncu cannot profile on this machine. The text is ncu's own.
    Unusable(String),
}

/// The marks of errors that the user of the machine can end.
const REFUSED: [&str; 2] = [
    "ERR_NVGPUCTRPERM",
    "permission to access NVIDIA GPU Performance Counters",
];

/// The first error of a log; `None` if there is none.
pub fn failure(log: &str) -> Option<Failure> {
    let mut errors = log
        .lines()
        .filter_map(|line| line.trim().strip_prefix("==ERROR== "))
        .map(str::trim);
    let refused = errors
        .clone()
        .find(|error| REFUSED.iter().any(|mark| error.contains(mark)));
    if refused.is_some() {
        return Some(Failure::Refused(permission::refused()));
    }
    errors
        .next()
        .map(|first| Failure::Unusable(first.to_owned()))
}

/// Whether ncu found no kernel with the names that it was given.
pub fn profiled_nothing(log: &str) -> bool {
    log.contains("No kernels were profiled")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn refused_counters_are_told_from_other_errors() {
        let refused = "==PROF== Connected to process 7 (/x/lab)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to \
                       access NVIDIA GPU Performance Counters on the target device 0.\n";
        assert!(matches!(failure(refused), Some(Failure::Refused(_))));
        let locked = "==ERROR== Failed to open/create lock directory /tmp/nvidia/nsight_compute.\n\n==ERROR== InterprocessLockFailed\n";
        assert!(
            matches!(failure(locked), Some(Failure::Unusable(why)) if why.starts_with("Failed to open"))
        );
        assert_eq!(failure("==PROF== Connected\n==WARNING== Note\n"), None);
        assert!(profiled_nothing("==WARNING== No kernels were profiled.\n"));
    }
}
