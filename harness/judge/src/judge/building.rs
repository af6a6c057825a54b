//! Builds one kernel after the other into the build cache, where the judges of a sweep find their
//! images.
//!
//! Each line on stdin is an order: the kernel's file is built as it is then. The device is opened
//! once, to learn for what is built, and closed again.

use super::session::Session;
use super::start_signal::listen;
use super::write_verdict;
use crate::outcome::{Result, Stop};
use crate::problem::BuildNeeds;
use crate::sink::SharedSink;
use lab_protocol::{Exit, JudgeRequest};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Builds until stdin ends. What goes wrong without a kernel being to blame ends it with a line
/// `stopped:`, like any judge.
pub fn main(
    request: &Arc<JudgeRequest>,
    stdin: impl BufRead + Send + 'static,
    sink: impl Write + Send + 'static,
) -> Exit {
    let sink = SharedSink::new(sink);
    let (sender, orders) = channel();
    if listen(stdin, move |_| sender.send(()).is_ok()).is_err() {
        return Exit::Crashed;
    }
    match build_all(request, &orders, &sink) {
        Ok(()) => Exit::Passed,
        Err(stop) => write_verdict(request, Err(stop), &mut sink.writer()),
    }
}

fn build_all(request: &Arc<JudgeRequest>, orders: &Receiver<()>, sink: &SharedSink) -> Result {
    let why_no_python = "nothing is built ahead for Python";
    let (mut session, problem) = Session::open_for_tool(request, sink, why_no_python)?;
    let needs = problem.build_needs(&session.device);
    session.builder.warm_up(&needs)?;
    while orders.recv().is_ok() {
        let is_built = build(&mut session, &needs)?;
        let word = if is_built { "yes" } else { "no" };
        session.out.line("built", word)?;
    }
    Ok(())
}

/// Builds the kernel and writes the compiler's messages. Returns whether it builds.
fn build(session: &mut Session, needs: &BuildNeeds) -> Result<bool> {
    let snapshot = session.snapshot()?;
    let built = session.builder.candidate(&snapshot, needs)?;
    match session.builder.write_build(built, &mut session.out) {
        Ok(_) => Ok(true),
        Err(Stop::Build(_)) => Ok(false),
        Err(stop) => Err(stop),
    }
}
