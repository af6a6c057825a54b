//! The compiler's options for instrumentation: of every build of device code, and what the race check
//! and `lab check` ask for.

use crate::api::Sanitizer;

/// What a GPU does otherwise than this processor is found by the functions in `lab_cpu/checked.h`.
pub const MACHINE: &[&str] = &[
    "-fsanitize=alignment,float-cast-overflow,shift-exponent",
    "-fno-sanitize-recover=alignment,float-cast-overflow,shift-exponent",
];

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
            // `lab_cpu/race_hooks.h` watches the memory of these two.
            "-fno-builtin-memcpy",
            "-fno-builtin-memset",
            // A kernel cannot tell that it is watched.
            "-U__SANITIZE_THREAD__",
            "-g",
            // Findings name lines. Where each variable lies takes an eighth of the compiler's time to find out.
            "-fno-var-tracking",
            // g++ warns that libtsan does not support fences. The lab's own runtime does.
            "-Wno-tsan",
            "-fno-hoist-adjacent-loads",
            "--param=tsan-distinguish-volatile=1",
        ],
        (Sanitizer::Thread, true) => &[
            "-fsanitize=thread",
            "-g",
            "-mllvm",
            "-tsan-distinguish-volatile=1",
        ],
    }
}
