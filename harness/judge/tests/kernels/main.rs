//! The kernels in this folder, each judged by the whole judge on the cpu device, with its
//! processes, because some kernels end theirs. README.md lists the folders.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod cases;
mod expected;
#[allow(dead_code, unused_imports)]
#[path = "../judge/support.rs"]
mod support;
#[path = "../../../device/tests/support/trials.rs"]
mod trials;

use lab_protocol::Target;
use std::process::ExitCode;

/// The folders with kernels.
const KINDS: [&str; 4] = ["honest", "wrong", "cheating", "harmful"];

/// The classes of the corpus, which takes minutes: scripts/corpus runs it.
const CORPUS: [&str; 7] = [
    "corpus/language",
    "corpus/alignment",
    "corpus/unwritten",
    "corpus/races",
    "corpus/branches",
    "corpus/values",
    "corpus/honest",
];

fn main() -> ExitCode {
    let arguments = trials::arguments();
    let trial = |case: cases::Case| {
        let missing = case.not_judged_on(Target::Cpu);
        trials::trial(&case.name.clone(), missing, move || {
            Ok(cases::judge(&case, Target::Cpu)?)
        })
    };
    let usual = KINDS.into_iter().flat_map(cases::cases).map(trial);
    let corpus = CORPUS.into_iter().flat_map(cases::cases);
    let corpus = corpus.map(|case| trial(case).with_ignored_flag(true));
    let trials = usual.chain(corpus).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
