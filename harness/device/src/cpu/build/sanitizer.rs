//! The instrumentation that `lab check` asks for, by the options that compilers know it by.

/// The option in a [`BuildRequest`](crate::BuildRequest) that asks for AddressSanitizer.
pub const ADDRESS_SANITIZER: &str = "-fsanitize=address";
/// The option in a [`BuildRequest`](crate::BuildRequest) that asks for the lab's race detector, which uses
/// ThreadSanitizer's instrumentation.
pub const THREAD_SANITIZER: &str = "-fsanitize=thread";

/// How a module is instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    Address,
    /// ThreadSanitizer's instrumentation, with the lab's own runtime instead of `libtsan`.
    Thread,
}

impl Sanitizer {
    /// The instrumentation that the options ask for.
    pub fn of(options: &[String]) -> Option<Sanitizer> {
        options.iter().find_map(|option| match option.as_str() {
            ADDRESS_SANITIZER => Some(Sanitizer::Address),
            THREAD_SANITIZER => Some(Sanitizer::Thread),
            _ => None,
        })
    }

    /// The compiler's options. With all of them the kernel goes on after a finding.
    pub fn flags(self, clang: bool) -> &'static [&'static str] {
        match (self, clang) {
            (Sanitizer::Address, _) => {
                &[ADDRESS_SANITIZER, "-fsanitize-recover=address", "-g", "-fno-omit-frame-pointer"]
            }
            (Sanitizer::Thread, false) => &[
                THREAD_SANITIZER,
                // A kernel cannot tell that it is watched.
                "-U__SANITIZE_THREAD__",
                "-DLAB_CPU_RACES",
                "-g",
                // g++ warns that libtsan does not support fences. The lab's own runtime does.
                "-Wno-tsan",
                "-fno-hoist-adjacent-loads",
                "--param=tsan-distinguish-volatile=1",
            ],
            (Sanitizer::Thread, true) => {
                &[THREAD_SANITIZER, "-DLAB_CPU_RACES", "-g", "-mllvm", "-tsan-distinguish-volatile=1"]
            }
        }
    }
}
