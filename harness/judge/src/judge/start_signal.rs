//! The signal that tells a judge on standby to judge.

use std::sync::mpsc::Receiver;

/// The signal to judge.
pub struct StartSignal {
    receiver: Receiver<()>,
    received: bool,
}

impl StartSignal {
    /// The signal that the sender of this channel gives.
    pub fn new(receiver: Receiver<()>) -> Self {
        StartSignal {
            receiver,
            received: false,
        }
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
}
