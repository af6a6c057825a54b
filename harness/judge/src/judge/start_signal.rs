//! The signal that tells a judge on standby to judge, and the one that tells it that enough was
//! measured.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, TryRecvError};

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

    /// Expects the signal for the next kernel. Returns false if there will be none.
    pub fn expect_next(&mut self) -> bool {
        let next = self.receiver.try_recv();
        self.received = next.is_ok();
        next != Err(TryRecvError::Disconnected)
    }
}
