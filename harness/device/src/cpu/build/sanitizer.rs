//! The compiler's options for the instrumentation that `lab check` asks for.

use crate::api::Sanitizer;

/// Returns the compiler's options. With all of them the kernel goes on after a finding.
pub fn flags(sanitizer: Sanitizer, clang: bool) -> &'static [&'static str] {
    match (sanitizer, clang) {
        (Sanitizer::Address, _) => &[
            "-fsanitize=address",
            "-fsanitize-recover=address",
            "-g",
            "-fno-omit-frame-pointer",
        ],
        (Sanitizer::Thread, false) => &[
            "-fsanitize=thread",
            // Compiles in two thirds of the time of -O2. The detector, which each access calls, takes most of
            // the launch's time.
            "-O1",
            // A kernel cannot tell that it is watched.
            "-U__SANITIZE_THREAD__",
            "-DLAB_CPU_RACES",
            "-g",
            // g++ warns that libtsan does not support fences. The lab's own runtime does.
            "-Wno-tsan",
            "-fno-hoist-adjacent-loads",
            "--param=tsan-distinguish-volatile=1",
        ],
        (Sanitizer::Thread, true) => &[
            "-fsanitize=thread",
            "-DLAB_CPU_RACES",
            "-g",
            "-mllvm",
            "-tsan-distinguish-volatile=1",
        ],
    }
}
