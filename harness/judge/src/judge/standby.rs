//! A judge on standby is started before its run. It does ahead what does not depend on the
//! candidate, then waits for a line on its stdin without using the cpu, and judges once.
//!
//! Nothing reaches its stdout before the start signal, so the sender knows from the first byte that
//! the judge has received it. The judge ends at the end of stdin. If something fails before the
//! signal, the judge ends without a word: the run that it was meant for starts a fresh judge, which
//! fails in the same way and says why.

use super::start_signal::StartSignal;
use super::{run, write_verdict};
use crate::process::private_folder;
use crate::sink::SharedSink;
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use lab_system::lifetime;
use lab_system::threads;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// Prepares, waits for the start signal, judges.
pub fn judge(
    request: &Arc<JudgeRequest>,
    stdin: impl BufRead + Send + 'static,
    sink: impl Write + Send + 'static,
) -> Exit {
    let sink = SharedSink::held(sink);
    let (sender, receiver) = channel();
    let to_release = sink.clone();
    let listener = threads::start("start-signal", move || listen(stdin, &to_release, &sender));
    if listener.is_err() {
        return Exit::Crashed;
    }
    let mut start = StartSignal::new(receiver);
    let verdict = run::run(request, &sink, Some(&mut start));
    if sink.discard() {
        return Exit::Crashed;
    }
    write_verdict(request, verdict, &mut sink.writer())
}

/// Reads the start signal. Runs on its own thread, so that the end of stdin ends a judge that is
/// still preparing.
fn listen(mut stdin: impl BufRead, held: &SharedSink, sender: &Sender<()>) {
    let mut line = String::new();
    match stdin.read_line(&mut line) {
        Ok(length) if length > 0 => {
            // If the reader of stdout is gone, the judge's own next line fails and ends the run.
            let _ = held.release();
            // The receiver is gone only if the judge ended already.
            let _ = sender.send(());
        }
        Ok(_) | Err(_) => lifetime::kill_children_and_exit(private_folder::remove_own),
    }
}
