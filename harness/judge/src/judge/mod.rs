//! The judge process, `lab harness`: takes a copy of kernel.cu, has it built by the compiler
//! process and run by the worker process, compares what it wrote with what is expected, and times
//! it. Only the judge writes result lines.
//!
//! | file | what it does |
//! |---|---|
//! | `run` | one run from the first line to the verdict |
//! | `building` | builds for the build cache, one kernel after the other
//! | `session` | setting up: what stays the same for everything that one judge does |
//! | `candidate` | building or loading the candidate while the incumbent runs |
//! | `sealed_check` | further sealed inputs before a keep |
//! | `race_check` | the race detector beside a run on the cpu device |
//! | `keep_tools` | NVIDIA's tools for races and barriers, before a keep on a GPU |
//! | `checking` | `lab check`: the kernel under each tool |
//! | `profiling` | `lab profile`: one launch of the kernel under ncu |
//! | `probing` | `lab probe`: what the device can do |
//! | `standby` | a judge that is started before its run |
//! | `start_signal` | lines on stdin, and the signals that a judge on standby gets |
//! | `incumbent` | the kernel in HEAD, ready to be timed beside the candidate |
//! | `measuring` | the timed launches and the verdict on speed |
//! | `peers` | other implementations of the problem, timed beside the candidate |
//! | `discipline` | the timed launches of `lab bench`: a fixed number, of the candidate alone |
//! | `kernel_builder` | what the compiler process is asked to build |
//! | `kernel_snapshot` | the copy of kernel.cu that is judged |
//! | `launch_lines` | the lines about launches |
//! | `confinement` | the sandbox of the children |
//! | `processes` | starting the children, the cache folder |

mod building;
mod candidate;
mod checking;
mod confinement;
mod discipline;
mod incumbent;
mod keep_tools;
mod kernel_builder;
mod kernel_snapshot;
mod launch_lines;
mod measuring;
mod peers;
pub mod probing;
mod processes;
mod profiling;
mod race_check;
mod run;
mod sealed_check;
mod session;
mod standby;
mod start_signal;
mod steps;

use crate::outcome::{Result, Stop};
use crate::process::private_folder;
use crate::sink::SharedSink;
use itertools::Itertools;
use lab_protocol::report::{Stage, Writer};
use lab_protocol::{Exit, JudgeKind, JudgeRequest, Language, console};
use lab_system::{descendants, lifetime};
use processes::python_line;
pub use processes::remove_unused;
pub use profiling::counters_are_readable;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// Runs the judge process, with run.log's lines on stdout.
///
/// It dies with the process that started it, and ends its children when a signal ends it. On
/// standby it waits for its start signal on `stdin`.
pub fn main(request: JudgeRequest, stdin: impl BufRead + Send + 'static) -> Exit {
    // This process will have the expected values.
    lab_device::sandbox::hide_memory();
    let signals = lifetime::kill_children_on_signals(private_folder::remove_own)
        .and_then(|()| descendants::adopt_orphans())
        .and_then(|()| lifetime::die_with_parent(rustix::process::Signal::TERM));
    if let Err(error) = signals {
        console::complain(
            "lab harness",
            &format!("the signal handlers cannot be set up: {error}"),
        );
        return Exit::NOT_JUDGED;
    }
    if matches!(request.kind, JudgeKind::Build) {
        building::main(&Arc::new(request), stdin, console::stdout())
    } else if request.on_standby {
        standby::judge(&Arc::new(request), stdin, console::stdout())
    } else {
        judge(request, console::stdout())
    }
}

/// Does what the request says, and writes run.log's lines to `sink`.
///
/// Every failure becomes a line `stopped:` and an exit code; see [`Exit`].
pub fn judge(request: JudgeRequest, sink: impl Write + Send + 'static) -> Exit {
    let (sink, request) = (SharedSink::new(sink), Arc::new(request));
    let out = &mut sink.writer();
    let verdict = match &request.kind {
        JudgeKind::Profile(profile) => match profiling::profile(&request, profile, &sink) {
            // A profile is no verdict.
            Ok(()) if out.stage(Stage::Done).is_ok() => return Exit::Passed,
            Ok(()) => return Exit::Crashed,
            Err(stop) => Err(stop),
        },
        JudgeKind::Check { tools, sanitizer } => {
            checking::check(&request, tools, sanitizer.as_deref(), &sink)
        }
        JudgeKind::Run | JudgeKind::SealedCheck { .. } | JudgeKind::Bench(_) => {
            run::run(&request, &sink)
        }
        // It reads its orders from stdin: [`building::main`].
        JudgeKind::Build => Err(Stop::Lab("a build needs orders on stdin".into())),
    };
    write_verdict(&request, verdict, out)
}

/// Writes the last lines of a run and returns its exit code.
fn write_verdict(request: &JudgeRequest, verdict: Result, out: &mut Writer) -> Exit {
    // A source that cannot be read was refused already; then there is no launch that failed.
    let source = || std::fs::read_to_string(request.kernel()).unwrap_or_default();
    let verdict = verdict.map_err(|stop| crate::source_place::with_line(stop, &source()));
    let written = match &verdict {
        Ok(()) => out.line("correctness", "pass"),
        Err(Stop::Wrong) => out.line("correctness", "fail"),
        Err(stop) => {
            let reason = with_place(
                request,
                stop,
                request.as_shown(&of_the_kernel(request, stop)),
            );
            write_fault(out, stop).and_then(|()| write_stopped(out, &reason))
        }
    };
    if written.and_then(|()| out.stage(Stage::Done)).is_err() {
        // The reader of stdout is gone. The exit code is all that is left to say.
        return Exit::Crashed;
    }
    match verdict {
        Ok(()) => Exit::Passed,
        Err(Stop::Wrong) => Exit::Wrong,
        Err(Stop::Problem(_) | Stop::Lab(_)) => Exit::NOT_JUDGED,
        Err(Stop::Build(_)) => Exit::NotBuilt,
        Err(Stop::Crash(_)) => Exit::Crashed,
    }
}

/// Writes what is to blame if the kernel is not: `fault: problem` or `fault: lab`.
fn write_fault(out: &mut Writer, stop: &Stop) -> io::Result<()> {
    match stop {
        Stop::Problem(_) => out.line("fault", "problem"),
        Stop::Lab(_) => out.line("fault", "lab"),
        Stop::Wrong | Stop::Build(_) | Stop::Crash(_) => Ok(()),
    }
}

/// A fault that belongs to a line of the source, in the form of a compiler's message, so that an
/// editor and the screen find the line. Any other text stays as it is.
fn with_place(request: &JudgeRequest, stop: &Stop, text: String) -> String {
    let (Stop::Build(_) | Stop::Crash(_)) = stop else {
        return text;
    };
    let place = text
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(": "));
    match place.and_then(|(line, what)| Some((line.parse::<u32>().ok()?, what))) {
        Some((line, what)) => format!("{}:{line}: error: {what}", request.shown_as()),
        None => text,
    }
}

/// The text of a stop with the path that is shown for a source in Python, whose copy has its usual
/// name.
fn of_the_kernel(request: &JudgeRequest, stop: &Stop) -> String {
    let text = stop.to_string();
    match stop {
        Stop::Build(_) | Stop::Crash(_) if request.language() == Language::Python => {
            let shown = request.shown_as();
            text.lines()
                .map(|line| python_line(line, &shown))
                .join("\n")
        }
        _ => text,
    }
}

/// Writes the first line of `reason` as `stopped:`, and what follows as log text.
fn write_stopped(out: &mut Writer, reason: &str) -> io::Result<()> {
    let (first, rest) = reason.split_once('\n').unwrap_or((reason, ""));
    out.line("stopped", first.trim_end_matches(':'))?;
    if rest.is_empty() {
        Ok(())
    } else {
        out.text(rest)
    }
}
