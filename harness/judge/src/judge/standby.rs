//! A judge on standby is started before its run. It does ahead what does not depend on the
//! candidate, then waits for a line on its stdin without using the cpu, and judges. Then it ends; a
//! judge of a sweep stands by for the next point, after a line [`EXIT`] with the exit code that it
//! would have ended with.
//!
//! Nothing reaches its stdout before the start signal, so the sender knows from the first byte that
//! the judge has received it. The judge ends at the end of stdin. If something fails before the
//! signal, the judge ends without a word: the run that it was meant for starts a fresh judge, which
//! fails in the same way and says why.

use super::start_signal::{StartSignal, listen};
use super::{run, write_verdict};
use crate::sink::SharedSink;
use lab_protocol::{ENOUGH, EXIT, Exit, JudgeRequest};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// Prepares, waits for the start signal, judges.
pub fn judge(
    request: &Arc<JudgeRequest>,
    stdin: impl BufRead + Send + 'static,
    sink: impl Write + Send + 'static,
) -> Exit {
    let sink = SharedSink::held(sink);
    let (sender, receiver) = channel();
    let is_enough = Arc::new(AtomicBool::new(false));
    let (to_release, to_set) = (sink.clone(), Arc::clone(&is_enough));
    let goes_on = request.is_swept;
    let listener = listen(stdin, move |line| {
        to_set.store(line == ENOUGH, Ordering::Relaxed);
        if line != ENOUGH {
            // If the reader of stdout is gone, the judge's own next line fails and ends the run.
            let _ = to_release.release();
            // The receiver is gone only if the judge ended already.
            let _ = sender.send(());
        }
        goes_on
    });
    if listener.is_err() {
        return Exit::Crashed;
    }
    let mut start = StartSignal::new(receiver, is_enough);
    let mut kept = None;
    loop {
        let verdict = run::run_on_standby(request, &sink, &mut start, &mut kept);
        if sink.discard() {
            return Exit::Crashed;
        }
        let exit = write_verdict(request, verdict, &mut sink.writer());
        if !kept.as_mut().is_some_and(run::Kept::forget_candidate) {
            return exit;
        }
        start.expect_next();
        let last = format!("{EXIT}: {}\n", exit as i32);
        if sink.hold_again(last.as_bytes()).is_err() {
            return Exit::Crashed;
        }
    }
}
