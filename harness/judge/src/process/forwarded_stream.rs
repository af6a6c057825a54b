//! One of a child's two output streams, and how far it was forwarded.

use super::output::OutputStream;
use lab_system::threads::lock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::ioctl_fionread;
use std::io::PipeReader;
use std::sync::{Arc, Mutex, MutexGuard};

/// A stream that a thread forwards. The lock is held while bytes are read and handed over, and not
/// while waiting for bytes.
#[derive(Clone)]
pub struct ForwardedStream {
    pipe: Arc<PipeReader>,
    reading: Arc<Mutex<OutputStream>>,
}

impl ForwardedStream {
    /// Nothing was read of this pipe yet.
    pub fn new(pipe: PipeReader) -> Self {
        ForwardedStream {
            pipe: Arc::new(pipe),
            reading: Arc::new(Mutex::new(OutputStream::default())),
        }
    }

    /// Hands over each line until the end of the stream. Returns false if the child printed too
    /// much, so that the rest was not read.
    pub fn forward(&self, forward: impl Fn(&str)) -> bool {
        let mut line = |text: &str| forward(text);
        let mut more = true;
        while more {
            // An error of `poll` shows in the read that follows.
            let _ = poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], None);
            more = self.reading().read(&*self.pipe, &mut line);
        }
        let mut reading = self.reading();
        reading.finish(&mut line);
        !reading.flooded()
    }

    /// Returns whether everything that the child has printed so far was handed over.
    pub fn all_forwarded(&self) -> bool {
        let reading = self.reading();
        reading.at_rest() && ioctl_fionread(&*self.pipe).is_ok_and(|unread| unread == 0)
    }

    fn reading(&self) -> MutexGuard<'_, OutputStream> {
        lock(&self.reading)
    }
}
