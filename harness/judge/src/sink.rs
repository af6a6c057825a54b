//! A sink for result lines that several threads share, so that no line splits another one. It may
//! hold everything back until it is released.

use lab_protocol::report::{Clock, Writer};
use lab_system::threads::lock;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Hands out writers to one sink, for several threads. Its clones share the sink.
#[derive(Clone)]
pub struct SharedSink {
    sink: Arc<Mutex<Sink>>,
    /// The start of the run, from which every writer counts the seconds of a stage.
    pub clock: Clock,
}

struct Sink {
    /// What is held back; `None` where everything passes through.
    kept: Option<Vec<u8>>,
    /// What was written before [`SharedSink::end_head`].
    head: Vec<u8>,
    is_in_head: bool,
    to: Box<dyn Write + Send>,
}

impl SharedSink {
    /// A sink whose run starts now.
    pub fn new(to: impl Write + Send + 'static) -> Self {
        SharedSink::with(None, Box::new(to))
    }

    /// A sink that holds back everything that is written, for now.
    pub fn held(to: impl Write + Send + 'static) -> Self {
        SharedSink::with(Some(Vec::new()), Box::new(to))
    }

    fn with(kept: Option<Vec<u8>>, to: Box<dyn Write + Send>) -> Self {
        SharedSink {
            sink: Arc::new(Mutex::new(Sink {
                is_in_head: kept.is_some(),
                head: Vec::new(),
                kept,
                to,
            })),
            clock: Clock::start(),
        }
    }

    /// A writer whose lines reach the sink whole: [`Writer`] flushes at the end of each line.
    pub fn writer(&self) -> Writer {
        Writer::new(LineBuffer {
            line: Vec::new(),
            sink: self.sink.clone(),
        })
        .timed(self.clock.clone())
    }

    /// Writes what was held back. From now on everything passes through.
    pub fn release(&self) -> io::Result<()> {
        let mut sink = lock(&self.sink);
        let kept = sink.kept.take().unwrap_or_default();
        sink.put(&kept)
    }

    /// What was written so far begins each run of this judge.
    pub fn end_head(&self) {
        lock(&self.sink).is_in_head = false;
    }

    /// Writes the last line of a run, and holds back what follows: the head, and what the next run
    /// writes.
    pub fn hold_again(&self, last: &[u8]) -> io::Result<()> {
        let mut sink = lock(&self.sink);
        sink.put(last)?;
        sink.kept = Some(sink.head.clone());
        Ok(())
    }

    /// Drops what is held back and everything that follows. Returns false if the sink was released
    /// before.
    pub fn discard(&self) -> bool {
        let mut sink = lock(&self.sink);
        let held = sink.kept.is_some();
        if held {
            sink.to = Box::new(io::sink());
        }
        held
    }
}

impl Sink {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_in_head {
            self.head.extend_from_slice(bytes);
        }
        match &mut self.kept {
            Some(kept) => {
                kept.extend_from_slice(bytes);
                Ok(())
            }
            None => self.to.write_all(bytes).and_then(|()| self.to.flush()),
        }
    }
}

struct LineBuffer {
    line: Vec<u8>,
    sink: Arc<Mutex<Sink>>,
}

impl Write for LineBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.sink).put(&std::mem::take(&mut self.line))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn held_lines_come_first_when_the_sink_is_released() {
        let (mut reader, writer) = io::pipe().unwrap();
        let held = SharedSink::held(writer);
        let mut out = held.writer();
        out.line("stage", "build").unwrap();
        held.release().unwrap();
        out.line("correctness", "pass").unwrap();
        assert!(!held.discard(), "the sink was released");
        drop((out, held));
        assert_eq!(
            io::read_to_string(&mut reader).unwrap(),
            "stage: build\ncorrectness: pass\n"
        );
    }

    #[test]
    fn each_run_begins_with_the_head() {
        let (mut reader, writer) = io::pipe().unwrap();
        let held = SharedSink::held(writer);
        let mut out = held.writer();
        out.line("device", "Test GPU").unwrap();
        held.end_head();
        held.release().unwrap();
        out.line("correctness", "pass").unwrap();
        held.hold_again(b"exit: 0\n").unwrap();
        out.line("correctness", "fail").unwrap();
        held.release().unwrap();
        drop((out, held));
        assert_eq!(
            io::read_to_string(&mut reader).unwrap(),
            "device: Test GPU\ncorrectness: pass\nexit: 0\ndevice: Test GPU\ncorrectness: fail\n"
        );
    }

    #[test]
    fn discarded_lines_never_come() {
        let (mut reader, writer) = io::pipe().unwrap();
        let held = SharedSink::held(writer);
        let mut out = held.writer();
        out.line("stage", "build").unwrap();
        assert!(held.discard());
        held.release().unwrap();
        out.line("stopped", "too late").unwrap();
        drop((out, held));
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "");
    }
}
