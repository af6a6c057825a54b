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

use cases::Case;
use lab_judge::{compiler, worker};
use lab_protocol::Target;
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// The folders with kernels.
const KINDS: [&str; 4] = ["honest", "wrong", "cheating", "harmful"];

fn main() -> ExitCode {
    if support::plays("compiler_process") {
        return compiler::main();
    }
    if support::plays("worker_process") {
        return worker::main();
    }
    let arguments = Arguments::from_args();
    let trials = KINDS
        .into_iter()
        .flat_map(cases::cases)
        .map(trial)
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The test of a kernel. It is reported as ignored, with the reason, if the kernel cannot be judged
/// here.
fn trial(case: Case) -> Trial {
    match case.not_judged_on(Target::Cpu) {
        Some(why) => Trial::test(format!("{} (ignored: {why})", case.name), || Ok(()))
            .with_ignored_flag(true),
        None => Trial::test(case.name.clone(), move || {
            Ok(cases::judge(&case, Target::Cpu)?)
        }),
    }
}
