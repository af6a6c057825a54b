//! Descriptors that a process inherited, such as a file that a shell holds open.
#![allow(unsafe_code)]

/// Keeps every descriptor of this process but stdin, stdout and stderr from the programs that it
/// starts from now on. Descriptors that this program opens are kept from them anyway. Does nothing
/// where Linux is older than 5.11.
pub fn keep_descriptors() {
    // SAFETY: with this flag the call closes nothing: it sets a flag on descriptors, which takes
    // effect in other programs only.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}
