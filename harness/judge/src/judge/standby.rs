//! A judge on standby: started ahead of its run, it does what does not depend on the candidate and
//! then waits, using no cpu, for a line on its stdin. It judges once, like every judge.
//!
//! Nothing reaches its stdout before the order, so whoever gave one knows by the first byte that it
//! was heard. At the end of stdin without an order it ends. What fails while nobody waits is not
//! told either: the process ends, and the run that it was meant for starts a judge that tells.

use super::{JudgeOptions, conclude, run};
use crate::process::lifetime;
use crate::sink::{HeldSink, SharedSink};
use lab_protocol::Exit;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Warms up, waits for the order, judges.
pub fn judge(
    options: &JudgeOptions,
    stdin: impl Read + Send + 'static,
    sink: impl Write + Send + 'static,
) -> Exit {
    let held = HeldSink::new(sink);
    let shared = SharedSink::new(held.clone());
    let (heard, here) = channel();
    let to_release = held.clone();
    let listening =
        std::thread::Builder::new().name("order".into()).spawn(move || listen(stdin, &to_release, &heard));
    if listening.is_err() {
        return Exit::Crashed;
    }
    let mut order = StartSignal { heard: here, here: false };
    let verdict = run(options, &shared, Some(&mut order));
    if held.discard() {
        return Exit::Crashed;
    }
    conclude(options, verdict, &mut shared.writer())
}

/// On a thread of its own, so that the end of stdin ends a judge that is still warming up.
fn listen(stdin: impl Read, held: &HeldSink, heard: &Sender<()>) {
    let mut line = String::new();
    match BufReader::new(stdin).read_line(&mut line) {
        Ok(length) if length > 0 => {
            // Where nobody reads, the judge's own next line finds out.
            let _ = held.release();
            let _ = heard.send(());
        }
        Ok(_) | Err(_) => lifetime::end_children_and_exit(),
    }
}

/// The order to judge, which may have come already.
pub struct StartSignal {
    heard: Receiver<()>,
    here: bool,
}

impl StartSignal {
    pub fn is_here(&mut self) -> bool {
        self.here |= self.heard.try_recv().is_ok();
        self.here
    }

    /// Returns when it is here; at the end of stdin the process ends instead.
    pub fn wait(&mut self) {
        if !self.here {
            self.here = self.heard.recv().is_ok();
        }
    }
}
