//! What the lab tells a judge on stdin: the signal that tells a judge on standby to judge, and the
//! one that tells it that enough was measured.

use crate::process::private_folder;
use lab_system::{lifetime, threads};
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

/// Calls `act` for each line of stdin, until it returns false. Runs on its own thread, so that the
/// end of stdin ends a judge that is at work: the lab has ended.
pub fn listen(
    stdin: impl BufRead + Send + 'static,
    mut act: impl FnMut(&str) -> bool + Send + 'static,
) -> io::Result<()> {
    let listener = threads::start("stdin", move || {
        for line in stdin.lines().map_while(io::Result::ok) {
            if !act(&line) {
                return;
            }
        }
        lifetime::kill_children_and_exit(private_folder::remove_own);
    });
    listener.map(drop)
}

/// The signal to judge.
pub struct StartSignal {
    receiver: Receiver<()>,
    received: bool,
    is_enough: Arc<AtomicBool>,
}

impl StartSignal {
    /// The signal that the sender of this channel gives. `is_enough` is set when nothing more need
    /// be measured of the kernel.
    pub fn new(receiver: Receiver<()>, is_enough: Arc<AtomicBool>) -> Self {
        StartSignal {
            receiver,
            received: false,
            is_enough,
        }
    }

    /// Whether nothing more need be measured.
    pub fn is_enough(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_enough)
    }

    /// Returns whether the signal has arrived.
    pub fn received(&mut self) -> bool {
        self.received |= self.receiver.try_recv().is_ok();
        self.received
    }

    /// Returns when the signal has arrived. At the end of stdin the process ends instead.
    pub fn wait(&mut self) {
        if !self.received {
            self.received = self.receiver.recv().is_ok();
        }
    }

    /// Expects the signal for the next kernel.
    pub fn expect_next(&mut self) {
        self.received = false;
    }
}
